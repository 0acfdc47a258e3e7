package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"pickup/internal/tools/servertest"
)

// TestReadme checks that the README and docs/ describe every command and flag, that
// each module has a reason, that the package comment lists every command, and that variables are
// named like their flags.
func TestReadme(t *testing.T) {
	comment := servertest.Manual(t, "cmd/pickup/doc.go")
	var pages strings.Builder
	for _, name := range append(servertest.Documents(t, "docs/*.md"), "README.md", "internal/tools/notices/README.md") {
		pages.WriteString(servertest.Manual(t, name))
	}
	lacks := func(what, pattern string) {
		t.Helper()
		if !regexp.MustCompile(pattern).MatchString(pages.String()) {
			t.Errorf("no document has %s", what)
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
	required, _, _ := strings.Cut(servertest.Manual(t, "go.mod"), "\n)")
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
