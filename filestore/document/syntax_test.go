package document

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"pickup/internal/storage"
)

// TestBroken checks that the parser and the explanations agree about every case
// of internal/jsonsyntax, cut anywhere.
func TestBroken(t *testing.T) {
	data, err := os.ReadFile("../../internal/jsonsyntax/testdata/cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		text, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil {
			continue
		}
		n++
		for i := range len(text) {
			for _, cut := range []string{text, text[:i], text[i:], text[:i] + text[i+1:]} {
				_, err := Parse("db.json", []byte(cut), nil)
				if _, reason, _ := grammar.Explain([]byte(cut)); (reason == "") != (err == nil) {
					t.Errorf("%q: the parser says %v, the explanation is %q", cut, err, reason)
				}
			}
		}
	}
	if n < 80 {
		t.Errorf("%d cases", n)
	}
}

func TestBrokenError(t *testing.T) {
	_, err := Parse("db.json", []byte("\ufeff{\r\n  \"日程\": [1 2]}"), nil)
	var b *storage.BrokenError
	if !errors.As(err, &b) || !errors.Is(err, storage.ErrBroken) {
		t.Fatalf("%#v", err)
	}
	if want := "db.json:2:11: missing comma after this value"; err.Error() != want {
		t.Errorf("got %s, want %s", err, want)
	}
}
