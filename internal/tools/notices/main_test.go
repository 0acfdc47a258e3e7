package main

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// TestComponents compares the modules with those that a binary says it contains, and
// looks for the packages that pages contain.
func TestComponents(t *testing.T) {
	defer func(all []string) { platforms = all }(platforms)
	platforms = []string{runtime.GOOS + "/" + runtime.GOARCH}
	all, err := components()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "pickup")
	cmd := exec.Command("go", "build", "-trimpath", "-tags", "nomsgpack,grpcnotrace", "-ldflags", "-s -w", "-o", binary, "pickup/cmd/pickup")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{"pickup ": true, "std " + strings.TrimPrefix(info.GoVersion, "go"): true}
	for _, m := range info.Deps {
		missing[m.Path+" "+m.Version] = true
	}
	for _, c := range all {
		if c.license == "" || len(c.texts) == 0 {
			t.Errorf("%s has the licence %q and %d texts", c.name, c.license, len(c.texts))
		}
		if c.kind == "npm" {
			continue
		}
		if !missing[c.name+" "+c.version] {
			t.Errorf("the binary does not contain %s %s", c.name, c.version)
		}
		delete(missing, c.name+" "+c.version)
	}
	for name := range missing {
		t.Errorf("the list lacks %s", name)
	}
	viewer, err := exec.Command("gzip", "-dc", "../../../server/docs/swagger-ui-bundle.js.gz").Output()
	if err != nil || !strings.Contains(string(viewer), `PACKAGE_VERSION:"`+viewerVersion+`"`) {
		t.Errorf("viewerVersion is %s, not the version of the bundle (%v)", viewerVersion, err)
	}
	text := string(notices(all))
	for _, want := range []string{
		"github.com/gin-gonic/gin v1", "Copyright 2009 The Go Authors", "swagger-ui-dist 5", "Copyright 2020-2021 SmartBear",
		"preact 11", "@codemirror/state 6", "The Prometheus Authors",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the notices lack %q", want)
		}
	}
	testBillOfMaterials(t, all)
}

// testBillOfMaterials looks up the parts of the program, and the fields that SPDX
// requires.
func testBillOfMaterials(t *testing.T, all []component) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	text, err := billOfMaterials(all, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		SPDXVersion, SPDXID, DataLicense, Name, DocumentNamespace string
		CreationInfo                                              struct {
			Created  string
			Creators []string
		}
		Packages []struct {
			Name, SPDXID, VersionInfo, DownloadLocation, LicenseDeclared string
			ExternalRefs                                                 []struct{ ReferenceLocator string }
		}
		Relationships []struct{ SPDXElementID, RelationshipType, RelatedSPDXElement string }
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if d.SPDXVersion != "SPDX-2.3" || d.SPDXID != "SPDXRef-DOCUMENT" || d.DataLicense != "CC0-1.0" || d.Name != "pickup-1.2.3" ||
		d.DocumentNamespace == "" || d.CreationInfo.Created != "2023-11-14T22:13:20Z" || len(d.CreationInfo.Creators) == 0 {
		t.Errorf("the document is %+v", d)
	}
	locators, ids := make(map[string]bool), map[string]bool{d.SPDXID: true}
	for _, p := range d.Packages {
		if ids[p.SPDXID] || !regexp.MustCompile(`^SPDXRef-[A-Za-z0-9.-]+$`).MatchString(p.SPDXID) {
			t.Errorf("the identifier %q is invalid or not unique", p.SPDXID)
		}
		if p.VersionInfo == "" || p.DownloadLocation == "" || p.LicenseDeclared == "" {
			t.Errorf("incomplete: %+v", p)
		}
		ids[p.SPDXID] = true
		for _, ref := range p.ExternalRefs {
			locators[ref.ReferenceLocator] = true
		}
	}
	described := 0
	for _, r := range d.Relationships {
		if !ids[r.SPDXElementID] || !ids[r.RelatedSPDXElement] {
			t.Errorf("a relationship names something else: %+v", r)
		}
		if r.RelationshipType == "DESCRIBES" {
			described++
		}
	}
	if described != 1 || len(d.Relationships) != len(d.Packages) {
		t.Errorf("%d packages, %d relationships, %d described", len(d.Packages), len(d.Relationships), described)
	}
	for _, want := range []string{"pkg:golang/pickup@1.2.3", "pkg:golang/std@1.", "pkg:golang/github.com/gin-gonic/gin@v1.", "pkg:npm/preact@", "pkg:npm/%40codemirror/state@"} {
		found := false
		for locator := range locators {
			found = found || strings.HasPrefix(locator, want)
		}
		if !found {
			t.Errorf("the bill lacks %s", want)
		}
	}
}

// TestNotices lists the licences of components of which two have one text, with other
// line ends.
func TestNotices(t *testing.T) {
	text := string(notices([]component{
		{name: "a", version: "v1", license: "MIT", texts: []string{"Do what\r\nyou like.\r\n", "By A."}},
		{name: "pickup", kind: "program", texts: []string{"Not here."}},
		{name: "b", version: "v2", license: "MIT", texts: []string{"Do what you\nlike.", "By B."}},
	}))
	line := strings.Repeat("=", 78)
	_, got, _ := strings.Cut(text, "\n")
	want := "\n" + line + "\na v1 (MIT)\n" + line + "\n\nDo what\nyou like.\n\nBy A.\n\n" +
		line + "\nb v2 (MIT)\n" + line + "\n\nThe text is that of a.\n\nBy B.\n"
	if got != want {
		t.Errorf("the notices are\n%s", text)
	}
}

func TestIdentify(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{name: "two in one file", want: "Apache-2.0 AND MIT", text: `
			Apache License
			Version 2.0, January 2004
			Permission is hereby granted, free of charge, to any person
			obtaining a copy`},
		{name: "two clauses", want: "BSD-2-Clause", text: "Redistributions in binary form must reproduce the above"},
		{name: "three clauses", want: "BSD-3-Clause", text: "Redistributions in binary form must reproduce ...\n Neither the name\n of Google"},
		{name: "unknown", text: "All rights reserved."},
	} {
		got, err := identify(test.text)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %q, %v", test.name, got, err)
		}
	}
}
