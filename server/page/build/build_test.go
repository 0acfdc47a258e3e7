package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The budgets of what a browser loads, in bytes after compression.
const (
	maxFirst = 56_000 // before it shows anything
	maxAll   = 190_000
)

// TestBuilt bundles the page and compares it with the files that are committed. It
// checks their sizes, and that they name no other host and need no eval.
func TestBuilt(t *testing.T) {
	files, err := bundle("..")
	if err != nil {
		t.Fatalf("%v\n(make setup installs the packages)", err)
	}
	kept, err := os.ReadDir("../dist")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range kept {
		if files[file.Name()] == nil {
			t.Errorf("dist/%s is not part of the page: run make page", file.Name())
		}
	}
	first, all := 0, 0
	for name, text := range files {
		committed, err := os.ReadFile(filepath.Join("../dist", name))
		if err != nil || !bytes.Equal(committed, text) {
			t.Errorf("dist/%s is not what src gives: run make page (%v)", name, err)
		}
		if name == "LICENSES.txt" || name == "docs.css" { // which the description of the API loads
			continue
		}
		size := len(compress(t, text))
		t.Logf("%-12s %7d bytes, %6d compressed", name, len(text), size)
		all += size
		if name != "editor.js" && name != "tools.js" && name != "csv.js" {
			first += size
		}
		for _, bad := range []string{"https://", "eval(", "new Function", " style=\""} {
			if name != "editor.js" && bytes.Contains(text, []byte(bad)) {
				t.Errorf("dist/%s contains %q", name, bad)
			}
		}
		rest := string(text)
		for _, namespace := range []string{"2000/svg", "1999/xhtml", "1998/Math/MathML"} {
			rest = strings.ReplaceAll(rest, "http://www.w3.org/"+namespace, "")
		}
		if strings.Contains(rest, "http://") {
			t.Errorf("dist/%s names another host", name)
		}
	}
	if first > maxFirst || all > maxAll {
		t.Errorf("a browser loads %d bytes first and %d in all, want at most %d and %d", first, all, maxFirst, maxAll)
	}
	t.Logf("first %d, all %d bytes compressed", first, all)
}

func compress(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var imported = regexp.MustCompile(`(?:from |import\()"(\.[^"]+)"`)

// TestImports reads the imports of the page's modules, those of types, too: no module
// may import itself by way of others.
func TestImports(t *testing.T) {
	imports := make(map[string][]string)
	err := filepath.WalkDir("../src", func(path string, _ fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || ext != ".ts" && ext != ".tsx" {
			return err
		}
		text, err := os.ReadFile(path)
		imports[path] = nil
		for _, match := range imported.FindAllSubmatch(text, -1) {
			imports[path] = append(imports[path], filepath.Join(filepath.Dir(path), string(match[1])))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	var visit func(module string, path []string)
	visit = func(module string, path []string) {
		if i := slices.Index(path, module); i >= 0 {
			t.Errorf("imports in a circle: %s", strings.Join(append(path[i:], module), " → "))
		}
		if seen[module] {
			return
		}
		seen[module] = true
		for _, next := range imports[module] {
			visit(next, append(path, module))
		}
	}
	for module := range imports {
		visit(module, nil)
	}
	if n := len(imports["../src/page.tsx"]); n < 5 {
		t.Errorf("page.tsx has %d imports", n)
	}
}

// TestTypes checks the types of the page.
func TestTypes(t *testing.T) {
	tsc := exec.Command("node_modules/.bin/tsc", "--project", ".")
	tsc.Dir = ".."
	if out, err := tsc.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestWatch saves a file of the page while a browser waits for it.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	save := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "src", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "src", "record"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "src", "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"page.tsx", "tools.tsx", "record/editor.ts", "data/csv.ts", "theme.ts", "page.css", "docs.css", "index.html", "icon.svg"} {
		save(name, "")
	}
	save("page.tsx", `console.log("before")`)
	d, stop, err := watch(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	server := httptest.NewServer(d.handler(http.NotFoundHandler()))
	defer server.Close()
	open := func(path string) io.ReadCloser {
		t.Helper()
		answer, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { answer.Body.Close() })
		return answer.Body
	}
	has := func(path, want string) {
		t.Helper()
		if text, err := io.ReadAll(open(path)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s is %q (%v), want %q in it", path, text, err, want)
		}
	}
	has("/_/", "/_/page/reload")
	has("/_/page/page.js", "before")
	for _, step := range []struct{ text, path, want string }{
		{`console.log("after")`, "/_/page/page.js", "after"},
		{`console.log(`, "/_/", "src/page.tsx:1:12"},
		{`console.log("mended")`, "/_/page/page.js", "mended"},
	} {
		events := open("/_/page/reload")
		save("page.tsx", step.text)
		if text, err := io.ReadAll(events); string(text) != "data: bundled\n\n" || err != nil {
			t.Fatalf("the event is %q (%v)", text, err)
		}
		has(step.path, step.want)
	}
}
