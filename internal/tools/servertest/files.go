package servertest

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Root returns the directory of the repository.
var Root = sync.OnceValue(func() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			panic("the tests do not run in the repository")
		}
		dir = filepath.Dir(dir)
	}
})

// Documents returns the files that match patterns, by their paths from the root
// of the repository. Every pattern must match something.
func Documents(t *testing.T, patterns ...string) []string {
	t.Helper()
	var names []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(Root(), pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no file matches %s (%v)", pattern, err)
		}
		for _, path := range found {
			names = append(names, filepath.ToSlash(strings.TrimPrefix(path, Root()+string(filepath.Separator))))
		}
	}
	return names
}

// Manual returns the text of a file of the repository.
func Manual(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Root(), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Read returns the content of a file.
func Read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// SampleDir returns a new folder with the sample database and its schema.
func SampleDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"db.json", "db.schema.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(Manual(t, name)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Block returns the first fenced block of a document with the given name.
func Block(text, name string) string {
	_, block, _ := strings.Cut(text, "```"+name+"\n")
	block, _, _ = strings.Cut(block, "```")
	return block
}
