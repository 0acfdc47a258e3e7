package document

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"pickup/internal/storage"
)

var update = flag.Bool("update", false, "write what the golden tests get into their files, to be read by a person")

// TestGolden checks the changes of testdata/golden. Its README describes the format.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.txtar")
	if err != nil || len(files) < 40 {
		t.Fatal(len(files), "files", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) { golden(t, name) })
	}
}

func golden(t *testing.T, name string) {
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	g := parseGolden(data)
	input := g.encode(g.files[0].Data)
	file := g.files[0].Name
	only := strings.TrimSuffix(file, filepath.Ext(file))
	if only == "db" {
		only = ""
	}
	d, err := ParseMember(only, file, input, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(g.names) == 0 {
		t.Fatal("no changes")
	}
	out := g.archive
	out.Files = g.files[:1:1]
	for _, name := range g.names {
		next := d
		for _, c := range g.changes[name] {
			before := next
			if next, err = before.Apply([]storage.Change{c}); err != nil {
				t.Fatal(err)
			}
			checkDocument(t, next)
			checkChange(t, before, next, c)
			if again, err := next.Apply([]storage.Change{c}); err != nil || again != next && c.ID != "" {
				t.Errorf("%s: the same change again changed the file: %v", name, err)
			}
		}
		got := next.Bytes()
		if text := g.decode(got); !bytes.Equal(g.encode(text), got) {
			t.Errorf("%s: line breaks or ends are not in the file's style: %q", name, got)
		}
		out.Files = append(out.Files, txtar.File{Name: name, Data: g.decode(got)})
		if want := g.file(name); !*update && !bytes.Equal(got, g.encode(want)) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
	if *update {
		if err := os.WriteFile(name, txtar.Format(&out), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// A goldenFile is a file of testdata/golden.
type goldenFile struct {
	archive txtar.Archive
	files   []txtar.File
	names   []string // of the changes, in their order
	changes map[string][]storage.Change
	as      string
}

func parseGolden(data []byte) *goldenFile {
	a := txtar.Parse(data)
	g := &goldenFile{archive: *a, files: a.Files, changes: make(map[string][]storage.Change)}
	for line := range strings.Lines(string(a.Comment)) {
		name, rest, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || strings.Contains(name, " ") {
			continue
		}
		if name == "as" {
			g.as = rest
			continue
		}
		collection, rest, _ := strings.Cut(rest, " ")
		id, value, _ := strings.Cut(rest, " ")
		c := storage.Change{Collection: collection}
		if next, ok := strings.CutPrefix(id, "-"); ok {
			c.Next = next
		} else {
			c.ID = id
		}
		if value != "" {
			c.Value = []byte(value)
		}
		if g.changes[name] == nil {
			g.names = append(g.names, name)
		}
		g.changes[name] = append(g.changes[name], c)
	}
	return g
}

func (g *goldenFile) file(name string) []byte {
	for _, f := range g.files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// encode returns the bytes that the text of a golden file describes.
func (g *goldenFile) encode(text []byte) []byte {
	text = bytes.Clone(text)
	if strings.Contains(g.as, "open") {
		text = bytes.TrimSuffix(text, []byte("\n"))
	}
	if strings.Contains(g.as, "crlf") {
		text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	}
	if strings.Contains(g.as, "bom") {
		text = concat(byteOrderMark, text)
	}
	return text
}

// decode is the inverse of encode.
func (g *goldenFile) decode(b []byte) []byte {
	if strings.Contains(g.as, "bom") {
		b = bytes.TrimPrefix(b, byteOrderMark)
	}
	if strings.Contains(g.as, "crlf") {
		b = bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
	}
	if strings.Contains(g.as, "open") {
		b = concat(b, []byte("\n"))
	}
	return b
}

// goldenInput returns the input of a golden test.
func goldenInput(data []byte) []byte {
	g := parseGolden(data)
	return g.encode(g.files[0].Data)
}
