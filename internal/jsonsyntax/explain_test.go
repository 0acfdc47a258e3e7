package jsonsyntax

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

var update = flag.Bool("update", false, "write the explanations into testdata/cases.txt, to be read by a person")

var grammars = []Grammar{
	{Noun: "file", Root: "an object of collections", Comments: true, MaxDepth: 10_000},
	{Noun: "body", MaxDepth: 256},
}

// TestExplain checks testdata/cases.txt. A case is a name, a text as a Go
// string, and its explanations as a file and as a body.
func TestExplain(t *testing.T) {
	const file = "testdata/cases.txt"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n\n") {
		lines := strings.Split(block, "\n")
		text, err := strconv.Unquote(strings.TrimSpace(lines[1]))
		if err != nil {
			t.Fatalf("%s: %v", lines[0], err)
		}
		got := slices.Clone(lines[:2])
		for _, g := range grammars {
			got = append(got, "\t"+g.Noun+" "+explained(g, text))
		}
		if !slices.Equal(got, lines) && !*update {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), block)
		}
		out.WriteString(strings.Join(got, "\n") + "\n\n")
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.TrimSuffix(out.String(), "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func explained(g Grammar, text string) string {
	offset, reason, _ := g.Explain([]byte(text))
	if reason == "" {
		return "is valid"
	}
	line, column := rawjson.LineColumn([]byte(text), offset)
	return fmt.Sprintf("%d:%d: %s", line, column, reason)
}

// TestUnquoted puts a word at each position of the texts of testdata/cases.txt. The reason
// without quotations never contains the word.
func TestUnquoted(t *testing.T) {
	data, err := os.ReadFile("testdata/cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	const word = "hunter2"
	quoted := 0
	for line := range strings.Lines(string(data)) {
		text, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil || len(text) > 1000 {
			continue
		}
		for i := range len(text) + 1 {
			for _, g := range grammars {
				_, reason, unquoted := g.Explain([]byte(text[:i] + word + text[i:]))
				if strings.Contains(reason, word) {
					quoted++
				}
				if strings.Contains(unquoted, word) || (reason == "") != (unquoted == "") {
					t.Errorf("%q: %s", reason, unquoted)
				}
			}
		}
	}
	if quoted == 0 {
		t.Error("no reason quotes the word")
	}
}

func TestMaxDepth(t *testing.T) {
	for _, g := range grammars {
		deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
		if got := explained(g, deep(g.MaxDepth)); got != "is valid" {
			t.Errorf("%d levels: %s", g.MaxDepth, got)
		}
		want := fmt.Sprintf("1:%d: the %s is nested deeper than %d levels", 5*g.MaxDepth+1, g.Noun, g.MaxDepth)
		if got := explained(g, deep(g.MaxDepth+1)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// FuzzExplain checks that the grammar of bodies refuses the same texts as jsontext, up to the
// limit of depth.
func FuzzExplain(f *testing.F) {
	data, err := os.ReadFile("testdata/cases.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if text, err := strconv.Unquote(strings.TrimSpace(line)); err == nil {
			for i := range len(text) {
				f.Add([]byte(text[:i]))
				f.Add([]byte(text[i:]))
				f.Add([]byte(text[:i] + text[i+1:]))
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		g := Grammar{Noun: "body", MaxDepth: 10_000}
		offset, reason, _ := g.Explain(text)
		if valid := jsontext.Value(text).IsValid(); valid != (reason == "") {
			t.Fatalf("%q: valid is %v, and the reason %q", text, valid, reason)
		}
		if offset < 0 || offset > len(text) {
			t.Fatalf("%q: offset %d", text, offset)
		}
	})
}
