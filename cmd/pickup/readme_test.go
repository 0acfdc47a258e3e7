package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestReadme holds the README, and the comment on this package, to what there
// is: every command, flag and module has its line, and variables
// are called as their flags are.
func TestReadme(t *testing.T) {
	readme, comment := manual(t, "README.md"), manual(t, "cmd/pickup/doc.go")
	lacks := func(what, pattern string) {
		if !regexp.MustCompile(pattern).MatchString(readme) {
			t.Errorf("the README lacks %s", what)
		}
	}
	k, err := kong.New(new(grammar))
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range k.Model.Children {
		name := "pickup " + strings.Replace(command.Name, "serve", "[serve]", 1)
		lacks(name, `(?m)^`+regexp.QuoteMeta(name)+`( |$)`)
		if !strings.Contains(comment, "\n//\t"+name) {
			t.Errorf("the comment on the package lacks %s", name)
		}
		for _, flag := range command.Flags {
			lacks("--"+flag.Name, "`[^`]*--"+flag.Name+"[ =`]")
			// The README has the rule for limits and no line for each.
			if v := flag.Tag.Get("variable"); v != "" && v != "PICKUP_"+strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_")) {
				t.Errorf("--%s has the variable %q", flag.Name, v)
			}
		}
	}
	required, _, _ := strings.Cut(manual(t, "go.mod"), "\n)")
	for _, module := range regexp.MustCompile(`(?m)^\t(\S+) v`).FindAllStringSubmatch(required, -1) {
		lacks(module[1], regexp.QuoteMeta(module[1])+`\b`)
	}
}

// TestDocumentsLead checks that the links in documents lead to files that exist.
func TestDocumentsLead(t *testing.T) {
	exists := func(patterns ...string) bool {
		for _, p := range patterns {
			if found, err := filepath.Glob(filepath.Join("../..", p)); err == nil && len(found) > 0 {
				return true
			}
		}
		return false
	}
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	for _, name := range []string{
		"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/quickstart/README.md", "examples/compose/README.md", "examples/systemd/README.md",
		"server/testdata/README.md", "server/testdata/compat/README.md", "filestore/document/testdata/golden/README.md",
	} {
		for _, l := range link.FindAllStringSubmatch(manual(t, name), -1) {
			if !exists(filepath.Join(filepath.Dir(name), l[1])) {
				t.Errorf("%s has a link to %s, which is not there", name, l[1])
			}
		}
	}
}

func manual(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
