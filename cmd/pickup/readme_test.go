package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestReadme checks that the README and docs/ describe every command, flag and
// module, that the package comment lists every command, and that variables are
// named like their flags.
func TestReadme(t *testing.T) {
	comment := manual(t, "cmd/pickup/doc.go")
	var pages strings.Builder
	for _, name := range append(documents(t, "docs/*.md"), "README.md") {
		pages.WriteString(manual(t, name))
	}
	lacks := func(what, pattern string) {
		t.Helper()
		if !regexp.MustCompile(pattern).MatchString(pages.String()) {
			t.Errorf("neither README.md nor docs/ has %s", what)
		}
	}
	k, err := kong.New(new(grammar))
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range k.Model.Children {
		name := "pickup " + strings.Replace(command.Name, "serve", "[serve]", 1)
		lacks(name, "\n"+regexp.QuoteMeta(name)+"[ \n]")
		if !strings.Contains(comment, "\n//\t"+name) {
			t.Errorf("the package comment lacks %s", name)
		}
		for _, flag := range command.Flags {
			lacks("--"+flag.Name, "--"+flag.Name+"[ =`]")
			// The docs state this rule instead of a variable for each limit.
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

// TestFirstScreen checks that the first screen of help fits a terminal, names every
// command, and no flag that does not exist.
func TestFirstScreen(t *testing.T) {
	k, err := kong.New(new(grammar), kong.ExplicitGroups(topics))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(firstScreen), "\n")
	if len(lines) > 40 {
		t.Errorf("it has %d lines", len(lines))
	}
	for _, line := range lines {
		if len(line) > 80 {
			t.Errorf("longer than 80 characters: %s", line)
		}
	}
	known := make(map[string]bool)
	for _, command := range k.Model.Children {
		if !strings.Contains(firstScreen, "\n  "+command.Name+" ") {
			t.Errorf("it lacks %s", command.Name)
		}
		for _, flag := range append(command.Flags, k.Model.Flags...) {
			known["--"+flag.Name] = true
			if command.Name == "serve" && flag.Group == nil && flag.Name != "help" && flag.Name != "config" {
				t.Errorf("--%s has no topic", flag.Name)
			}
		}
	}
	for _, flag := range regexp.MustCompile(`--[a-z][a-z-]+`).FindAllString(firstScreen, -1) {
		if !known[flag] {
			t.Errorf("there is no %s", flag)
		}
	}
}

// TestDocumentsLead checks that links in documents lead to files that exist,
// and to headings that they have.
func TestDocumentsLead(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]*)(?:#([^):]*))?\)`)
	for _, name := range documents(t, "*.md", "docs/*.md", "examples/*/README.md",
		"server/testdata/README.md", "server/testdata/compat/README.md", "filestore/document/testdata/golden/README.md") {
		for _, l := range link.FindAllStringSubmatch(manual(t, name), -1) {
			target := name
			if l[1] != "" {
				target = filepath.Join(filepath.Dir(name), l[1])
			}
			if _, err := os.Stat(filepath.Join("../..", target)); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, l[1])
			} else if l[2] != "" && !slices.Contains(anchors(manual(t, target)), l[2]) {
				t.Errorf("%s links to a heading %q that %s does not have", name, l[2], target)
			}
		}
	}
}

// anchors returns the anchors of a document's headings, as GitHub makes them.
func anchors(text string) []string {
	var names []string
	for _, h := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(strings.ToLower(h[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

// documents returns the files that match patterns, by their paths from the root
// of the repository. Every pattern must match something.
func documents(t *testing.T, patterns ...string) []string {
	t.Helper()
	var names []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no file matches %s (%v)", pattern, err)
		}
		for _, path := range found {
			names = append(names, strings.TrimPrefix(filepath.ToSlash(path), "../../"))
		}
	}
	return names
}

// manual returns the text of a file of the repository.
func manual(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
