package query

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// everything is a Names without aliases.
type everything struct{}

func (everything) Has(string) bool             { return true }
func (everything) Alias(string) (string, bool) { return "", false }

// sameSearch checks that q finds texts in v if and only if all occur, folded, in a value.
func sameSearch(t *testing.T, v string, texts ...string) {
	t.Helper()
	var parameters []Parameter
	want := true
	for _, text := range texts {
		parameters = append(parameters, Parameter{Name: "q", Value: text})
		want = want && bytes.Contains(appendValues(nil, []byte(v)), AppendFolded(nil, []byte(text)))
	}
	q, err := Parse("c", everything{}, parameters)
	if err != nil {
		t.Fatal(err)
	}
	if got := q.Match(jsontext.Value(v)); got != want {
		t.Errorf("q = %q in %s: %t, want %t", texts, v, got, want)
	}
}

// A search that looks at the stored JSON first finds what one in the decoded values does.
func TestSearchStoredText(t *testing.T) {
	for _, c := range []struct {
		v, text string
		want    bool
	}{
		{`{"title":"School run"}`, "sCHOOL R", true},
		{`{"title":"School run"}`, "title", false}, // a name
		{`{"title":"title"}`, "title", true},
		{`{"a":{"b":["x",{"c":"Deep"}]}}`, "deep", true},
		{`{"a":"x","b":"y"}`, `x","b`, false},
		{`{"a":"x\",\"b"}`, `x","b`, true},
		{`{"a":"\u0064entist"}`, "dentist", true},
		{`{"a":"a\/b"}`, "a/b", true},
		{`{"a":"line\nbreak"}`, "line\nbreak", true},
		{"{\"a\":\"\u212Aelvin\"}", "kelvin", true}, // the Kelvin sign
		{"{\"a\":\"me\u017Fs\"}", "MESS", true},     // the long s
		{`{"a":"mess kit"}`, "me\u017Fs \u212Ait", true},
		{`{"a":"ÉCOLE"}`, "école", true},
		{`{"a":"ÉCOLE"}`, "ecole", false},
		{`{"a":1.5E3}`, "5e3", true},
		{`{"a":1500}`, "1.5e3", false}, // as it is spelled
		{`{"a":true,"b":null}`, "TRUE", true},
		{`{"a":true,"b":null}`, "null", false},
		{`{ "a" : [ 1, 2 ] }`, "1, 2", false},
		{`"z"`, "z", true},
		{`"zz"`, "zzz", false},
	} {
		q, err := Parse("c", everything{}, []Parameter{{Name: "q", Value: c.text}})
		if err != nil {
			t.Fatal(err)
		}
		if got := q.Match(jsontext.Value(c.v)); got != c.want {
			t.Errorf("q = %q in %s: %t, want %t", c.text, c.v, got, c.want)
		}
		sameSearch(t, c.v, c.text)
	}
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "A", "k", "K", "s", "S", "z", "Z", "ſ", "\u212A", "é", "É", "x", "ß", "1", "e", ".", " ", "-", ",", ":", "/", "{", "😀"}
	quoted := append(pieces, `\u0061`, `\u004B`, `\u212a`, `\"`, `\\`, `\n`, `\/`, `\ud83d\ude00`)
	some := func(of []string, n int) string {
		var b strings.Builder
		for range r.IntN(n) {
			b.WriteString(of[r.IntN(len(of))])
		}
		return b.String()
	}
	for range 20_000 {
		v := `{"` + some(pieces, 4) + `": "` + some(quoted, 30) + `" , "n":[` + []string{"1", "1.5e1", "-1E1", "true", "null"}[r.IntN(5)] + `,"` + some(quoted, 8) + `"]}`
		texts := []string{some(pieces, 4) + "a"}
		if r.IntN(2) == 0 {
			decoded := string(appendValues(nil, []byte(v)))
			from := r.IntN(len(decoded))
			texts = append(texts, strings.ToValidUTF8(decoded[from:from+r.IntN(len(decoded)-from)], "")+"a", "1")
		}
		sameSearch(t, v, texts[r.IntN(len(texts)):]...)
	}
}

func FuzzSearchStoredText(f *testing.F) {
	f.Add(`{"a":"School \u0072un"}`, "run")
	f.Add("{\"a\":\"me\u017Fs\"}", "mess")
	f.Fuzz(func(t *testing.T, v, text string) {
		if text != "" && len(text) < 1000 && jsontext.Value(v).IsValid() {
			sameSearch(t, v, text)
		}
	})
}
