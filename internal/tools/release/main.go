// Command release makes what GoReleaser does not: before it the documents of the
// packages, in build/, and after it the npm packages, in dist/.
//
//	OWNER=NAME URL=ADDRESS go run ./internal/tools/release documents VERSION
//	OWNER=NAME URL=ADDRESS go run ./internal/tools/release npm
//	OWNER=NAME URL=ADDRESS go run ./internal/tools/release publish
//	go run ./internal/tools/release module ADDRESS DIR
package main

import (
	"fmt"
	"log"
	"os"
	"regexp"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("release: ")
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(args []string) error {
	if len(args) == 3 && args[0] == "module" {
		r := release{root: "."}
		return r.rename(args[1], args[2])
	}
	r := release{root: ".", owner: os.Getenv("OWNER"), url: os.Getenv("URL")}
	for _, v := range []struct{ name, value, pattern, what string }{
		{name: "OWNER", value: r.owner, pattern: `[a-z0-9][a-z0-9._-]*`, what: "the scope of npm packages, in lower case"},
		{name: "URL", value: r.url, pattern: `https?://[^\s"]*[^\s"/]`, what: "an address without a slash at the end"},
	} {
		if !regexp.MustCompile(`^` + v.pattern + `$`).MatchString(v.value) {
			return fmt.Errorf("%s=%q: it has to be %s", v.name, v.value, v.what)
		}
	}
	switch {
	case len(args) == 2 && args[0] == "documents":
		r.version = args[1]
		return r.documents()
	case len(args) == 1 && args[0] == "npm":
		return r.npm()
	case len(args) == 1 && args[0] == "publish":
		return r.publish(os.Stdout)
	}
	return fmt.Errorf("want documents VERSION, npm, publish or module ADDRESS DIR, got %q", args)
}

// A release is made in the repository at root.
type release struct {
	root       string
	owner, url string
	version    string // semantic version without a v
}
