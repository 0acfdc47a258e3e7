package document

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// TestJSON5Conformance checks testdata/json5.txt: the cases of github.com/json5/json5-tests, and
// some more, with texts written anew from spec.json5.org. A case is a name, whether to parse or to
// refuse a text, the text as a Go string, and the value or the error.
func TestJSON5Conformance(t *testing.T) {
	const file = "testdata/json5.txt"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n\n") {
		lines := strings.Split(block, "\n")
		verdict, quoted, _ := strings.Cut(strings.TrimSpace(lines[1]), " ")
		text, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatalf("%s: %v", lines[0], err)
		}
		got, is := "", "parse"
		d, err := ParseMember("x", "x.json5", []byte(text), nil, nil)
		if broken, ok := errors.AsType[*storage.BrokenError](err); ok {
			got, is = fmt.Sprintf("%d:%d: %s", broken.Line, broken.Column, broken.Reason), "refuse"
		} else if v := d.Value("x"); err != nil || !v.IsValid() {
			t.Fatalf("%s: %s %v", lines[0], v, err)
		} else {
			got = string(rawjson.Compact(v))
		}
		if is != verdict {
			t.Errorf("%s: %s", lines[0], got)
		}
		got = strings.Join(append(lines[:2:2], "\t"+got), "\n")
		if got != block && !*update {
			t.Errorf("got\n%s\nwant\n%s", got, block)
		}
		out.WriteString(got + "\n\n")
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.TrimSuffix(out.String(), "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A speller writes texts with comments in JSON5.
type speller struct {
	style
	number func(token string) string
	gap    func(gap []byte) []byte
	next   func(s *style) // is called before each token
}

// text returns a text with comments in JSON5.
func (s speller) text(text []byte) (out []byte) {
	for i := 0; ; {
		next := rawjson.SkipGap(text, i)
		out = append(out, s.gap(text[i:next])...)
		if next == len(text) {
			return out
		}
		i = rawjson.SkipToken(text, next)
		s.next(&s.style)
		token := text[next:i]
		after := rawjson.SkipGap(text, i)
		switch {
		case token[0] == '"' && after < len(text) && text[after] == ':':
			token = s.quoteName(token)
		case token[0] == '"':
			token = s.spell(token, nothing)
		case '0' <= token[0] && token[0] <= '9':
			token = []byte(s.number(string(token)))
		}
		out = append(out, token...)
	}
}

// anySpeller returns a speller with random quotes, numbers and white space.
func anySpeller(r *rand.Rand) speller {
	quotes := []byte{'"', '\'', bare}
	mixed := r.IntN(3) == 0
	return speller{
		style: style{json5: true, quote: quotes[r.IntN(2)], names: quotes[r.IntN(3)]},
		number: func(token string) string {
			return []string{token, "+" + token, "0x1F", ".5", "5.", "Infinity", "-NaN"}[r.IntN(7)]
		},
		gap: func(gap []byte) []byte {
			if r.IntN(20) > 0 || len(commentsIn(gap)) > 0 {
				return gap
			}
			return append(bytes.Clone(gap), []string{"\u00a0", "\u2028", "\v", "\ufeff", "\r"}[r.IntN(5)]...)
		},
		next: func(s *style) {
			if mixed {
				s.quote, s.names = quotes[r.IntN(2)], quotes[r.IntN(3)]
			}
		},
	}
}

// TestJSON5Changes applies random changes to texts in JSON5, as FuzzApply does to texts with comments.
func TestJSON5Changes(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	rounds := 3
	if os.Getenv("PICKUP_LONG") != "" {
		rounds = 300
	}
	for i := range rounds * len(files) {
		data, err := os.ReadFile(files[i%len(files)])
		if err != nil {
			t.Fatal(err)
		}
		if parseGolden(data).files[0].Name != "db.json" {
			continue
		}
		r := rand.New(rand.NewPCG(uint64(i), 5))
		text := anySpeller(r).text(goldenInput(data))
		d, err := Parse("db.json5", text, nil)
		if err != nil {
			t.Fatalf("%s: %v\n%s", files[i%len(files)], err, text)
		}
		if !bytes.Equal(d.Bytes(), text) {
			t.Fatalf("wrote %q", d.Bytes())
		}
		m := modelOf(d.Contents())
		for range 12 {
			next, c := changeAtRandom(t, r, d, m)
			if again, err := next.Apply([]storage.Change{c}); err != nil || again != next && c.ID != "" {
				t.Fatalf("the same change again changed the file: %v", err)
			}
			d = next
		}
	}
}

// TestJSON5Merge merges edits of JSON5, as TestMergeAny does of texts with comments.
func TestJSON5Merge(t *testing.T) {
	for i := range mergeRounds() / 2 {
		base, ours, theirs := randomMerge(t, uint64(i), false)
		s := speller{
			style: style{json5: true, quote: "\"'"[i%2], names: "\"'_"[i%3]},
			number: func(token string) string {
				switch token[len(token)-1] {
				case '1', '2':
					return "+" + token
				case '3':
					return "Infinity"
				case '4':
					return "NaN"
				}
				return token
			},
			gap:  func(gap []byte) []byte { return gap },
			next: func(*style) {},
		}
		var sides [3]*Document
		for k, text := range []string{base, ours, theirs} {
			var err error
			sides[k], err = Parse("db.json5", s.text([]byte(text)), nil)
			if err != nil {
				t.Fatalf("%v\n%s", err, s.text([]byte(text)))
			}
		}
		m, err := Merge(sides[0], sides[1], sides[2])
		if err == nil {
			err = checkMerge(sides[0], sides[1], sides[2], m)
		}
		if err == nil {
			err = checkSame(sides[0], sides[1], sides[2], m)
		}
		if err != nil {
			t.Fatalf("seed %d: %v\nBASE %s\nOURS %s\nTHEIRS %s\nMERGED %s", i, err,
				sides[0].Bytes(), sides[1].Bytes(), sides[2].Bytes(), m.Ours.Bytes())
		}
		if len(m.Conflicts) > 0 {
			checkChoices(t, "db.json5", m.Marked(7))
		}
	}
}
