// Command notices writes the licences of what the program contains: of its modules,
// of Go, and of the npm packages in the pages that it serves. With -spdx it writes a
// bill of materials (SPDX 2.3) instead.
//
//	go run ./internal/tools/notices [-o FILE] [-spdx VERSION]
//
// The list is the union of what the platforms of a release need. It runs anywhere in
// the repository.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
)

// platforms are those of a release.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

func main() {
	log.SetFlags(0)
	log.SetPrefix("notices: ")
	out := flag.String("o", "THIRD_PARTY_NOTICES", "file to write")
	version := flag.String("spdx", "", "write the bill of materials of this version")
	flag.Parse()
	if err := run(*out, *version); err != nil {
		log.Fatal(err)
	}
}

func run(out, version string) error {
	all, err := components()
	if err != nil {
		return err
	}
	text := notices(all)
	if version != "" {
		if text, err = billOfMaterials(all, version); err != nil {
			return err
		}
	}
	return os.WriteFile(out, text, 0o644)
}

// notices returns the licences of components, each under a heading. A text that
// several have is there once.
func notices(all []component) []byte {
	var b bytes.Buffer
	owners := make(map[string]string) // the first component that has a text
	line := strings.Repeat("=", 78)
	fmt.Fprintln(&b, "pickup contains this software, under these licences.")
	for _, c := range all {
		if c.kind == "program" {
			continue // its licence is a file of its own
		}
		fmt.Fprintf(&b, "\n%s\n%s %s (%s)\n%s\n", line, c.name, c.version, c.license, line)
		for _, text := range c.texts {
			words := strings.Join(strings.Fields(text), " ")
			if owner := owners[words]; owner != "" {
				fmt.Fprintf(&b, "\nThe text is that of %s.\n", owner)
				continue
			}
			owners[words] = c.name
			fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")))
		}
	}
	return b.Bytes()
}

// licensePhrases are words that only the text of one licence has. BSD licences
// differ by a clause.
var licensePhrases = []struct{ phrase, without, id string }{
	{phrase: "Apache License Version 2.0", id: "Apache-2.0"},
	{phrase: "Neither the name of", id: "BSD-3-Clause"},
	{phrase: "Redistributions in binary form must reproduce", without: "Neither the name of", id: "BSD-2-Clause"},
	{phrase: "Permission to use, copy, modify, and/or distribute this software", id: "ISC"},
	{phrase: "Permission is hereby granted, free of charge, to any person obtaining a copy", id: "MIT"},
	{phrase: "Mozilla Public License Version 2.0", id: "MPL-2.0"},
}

// identify returns the SPDX expression for the text of a licence. A text that it does
// not know is an error, because a person has to decide about it.
func identify(text string) (string, error) {
	text = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "License, ", "License ")
	var found []string
	for _, l := range licensePhrases {
		if strings.Contains(text, l.phrase) && (l.without == "" || !strings.Contains(text, l.without)) {
			found = append(found, l.id)
		}
	}
	if len(found) == 0 {
		return "", errors.New("identify the licence: none that is known; see licensePhrases")
	}
	return strings.Join(found, " AND "), nil
}

// A component is software that the program contains, or the program itself.
type component struct {
	kind    string // program, golang or npm
	name    string
	version string // for kind golang as in go.mod
	dir     string // where its licences are, unless texts has them
	license string // SPDX expression
	texts   []string
}
