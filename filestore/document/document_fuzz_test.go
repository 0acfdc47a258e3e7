package document

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// seeds adds the texts that the fuzzers begin with: small ones for each
// feature of the syntax, and the files of the golden corpus.
func seeds(f *testing.F, add func(text []byte)) {
	for _, s := range []string{
		`{}`, `{ }`, "{\n}\n", "\ufeff{}", `{"a":[]}`, `{"a":[{"id":1}]}`, "{\"a\":[\r\n  {\"id\":1},\r\n  {\"id\":2}\r\n]}\r\n",
		`{"a":[{"id":1},{"id":1},{"x":1},7,null,[1,2]]}`, `{"a":1,"a":2}`, `[1]`, `{"a":[1,]}`, `{"a":[,]}`, `{,}`,
		`{"a":{"b":1,},}`, "{// c\n\"a\"/*1*/:/*2*/[/*3*/{\"id\":1}/*4*/,/*5*/]/*6*/,/*7*/}//8",
		"{\n  \"a\": [\n    {\"id\": 1}, // one\n    // two\n    {\"id\": 2} // last\n  ]\n}\n",
		"{\n  \"a\": [\n    { \"id\": 1\n    , \"x\": 2\n    }\n  , { \"id\": 2\n    , \"x\": 3\n    }\n  ]\n}\n",
		"{\"a\": [\n  // none yet\n], \"b\": {\"x\": {}, \"y\": [ ]}}", `{"a":[{"id":"\u0000"},{"id":""},{"id":"é\n"}]}`, "{\"a\xff\":1}",
		"{\"a\":\"\\ud800\"}", `{"a":1}x`, `{"a":01}`, `{"a":tru}`, `{"a":/`, `{"a"/*`, "{'a':1}", "{a:1}", `{"a":1 "b":2}`,
	} {
		add([]byte(s))
	}
	files, _ := filepath.Glob("testdata/golden/*.txtar")
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if d := goldenInput(data); d != nil {
			add(d)
		}
	}
}

// FuzzParse checks that parsing never panics, agrees with hujson and jsontext about
// what is valid, and keeps every byte.
func FuzzParse(f *testing.F) {
	seeds(f, func(text []byte) { f.Add(text) })
	f.Fuzz(func(t *testing.T, data []byte) {
		kept := bytes.Clone(data)
		d, err := Parse("db.json", data, nil)
		if !bytes.Equal(data, kept) {
			t.Fatal("the text was changed")
		}
		if want, why := readable(data); want != (err == nil) {
			t.Fatalf("read: %v; others: %v %s", err, want, why)
		}
		if err != nil {
			var b *storage.BrokenError
			if !errors.As(err, &b) || b.File != "db.json" || b.Line < 1 || b.Column < 1 || b.Reason == "" ||
				b.Line > 1+bytes.Count(data, []byte("\n")) || b.Column > 1+len(data) || !utf8.ValidString(b.Reason) {
				t.Fatalf("%#v", err)
			}
			return
		}
		if !bytes.Equal(d.Bytes(), data) {
			t.Fatalf("wrote %q", d.Bytes())
		}
		checkDocument(t, d)
		for _, o := range d.Unreachable() {
			line, column, ok := rawjson.Locate(data, o.Pointer)
			if !ok || line != o.Line || column != o.Column {
				t.Fatalf("%+v is at %d:%d %v", o, line, column, ok)
			}
		}
	})
}

// readable reports whether hujson accepts the comments and commas, and jsontext
// the rest.
func readable(data []byte) (ok bool, why string) {
	data = bytes.TrimPrefix(data, byteOrderMark)
	// Unlike Parse, hujson requires a line break after the last line comment and
	// refuses those of Unicode within a comment.
	data = bytes.ReplaceAll(data, []byte("\u2028"), []byte("123"))
	data = bytes.ReplaceAll(data, []byte("\u2029"), []byte("123"))
	data = append(bytes.Clone(data), '\n')
	v, err := hujson.Parse(data)
	if err != nil {
		return false, err.Error()
	}
	v.Standardize()
	plain := jsontext.Value(v.Pack())
	if !plain.IsValid() {
		return false, "jsontext"
	}
	return plain.Kind() == '{', "an object"
}

// FuzzApply applies random changes to any file. The contents must follow a plain
// model, and only the bytes of changed records may differ.
func FuzzApply(f *testing.F) {
	seeds(f, func(text []byte) { f.Add(text, uint64(len(text))) })
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		d, err := Parse("db.json", data, nil)
		if err != nil {
			return
		}
		m := modelOf(d.Contents())
		r := rand.New(rand.NewPCG(seed, 1))
		for range 12 {
			d, _ = changeAtRandom(t, r, d, m)
		}
	})
}

// changeAtRandom makes a random change to a document and to the model, and compares them.
func changeAtRandom(t *testing.T, r *rand.Rand, d *Document, m *model) (next *Document, c storage.Change) {
	t.Helper()
	c = randomChange(r, m)
	next, err := d.Apply([]storage.Change{c})
	if err != nil {
		t.Fatalf("%q %q %s: %v", c.Collection, c.ID, c.Value, err)
	}
	m.apply(c)
	if diff := m.diff(modelOf(next.Contents()), true); diff != "" {
		t.Fatalf("%s\nchange %q %q %s\nbefore:\n%s\nafter:\n%s", diff, c.Collection, c.ID, c.Value, d.Bytes(), next.Bytes())
	}
	checkDocument(t, next)
	checkChange(t, d, next, c)
	return next, c
}
