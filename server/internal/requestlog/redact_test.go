package requestlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/secret"
	"pickup/server/internal/problem"
)

// TestRedact has bodies with and without secrets, also where the limit cuts them.
func TestRedact(t *testing.T) {
	long := strings.Repeat("x", maxBody)
	for _, c := range []struct {
		name, body, want string
		patch            bool
	}{
		{name: "nothing", body: ` {"a": [1.50, "b"], "n": null} `, want: ` {"a": [1.50, "b"], "n": null} `},
		{name: "names", body: `{"PassWord":"p","a":{"x-auth":[{"b":1}],"c":2},"KEY" : 1}`, want: `{"PassWord":"…","a":{"x-auth":"…","c":2},"KEY":"…"}`},
		{name: "escaped", body: `{"\u0070assword": "p", "a": 1}`, want: `{"\u0070assword":"…", "a": 1}`},
		{name: "value", body: `{"a": "password", "b": ["token", {"c": 1}]}`, want: `{"a": "password", "b": ["token", {"c": 1}]}`},
		{name: "twice", body: `{"a": 1, "a": {"token": 1, "token": 2}}`, want: `{"a": 1, "a": {"token":"…", "token":"…"}}`},
		{name: "form", body: `user=ruth&password=p`},
		{name: "two values", body: `{} {}`},
		{name: "unfinished", body: `{"a": {"token": `},
		{name: "not JSON", body: `{"token": p}`},
		{
			name: "patch", patch: true,
			body: `[{"path":"/token","value":"t"},{"path":"/a","value":{"b":1}}]`,
			want: `[{"path":"/token","value":"…"},{"path":"/a","value":"…"}]`,
		},
		{name: "patch without", body: `[{"path":"/a","value":1}]`, want: `[{"path":"/a","value":1}]`, patch: true},
		{name: "cut in text", body: `{"token":"t","a":"` + long, want: (`{"token":"…","a":"` + long)[:maxBody+2]},
		{name: "cut in secret", body: `{"a":1,"token":"` + long, want: `{"a":1,"token":"…"`},
		{name: "cut in list of secrets", body: `{"a":1,"tokens":["` + long, want: `{"a":1,"tokens":"…"`},
		{name: "cut and not JSON", body: `{a:"` + long},
	} {
		var e Excerpt
		for _, part := range []string{c.body[:len(c.body)/2], c.body[len(c.body)/2:]} {
			if n, err := e.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		if e.redact(c.patch); string(e.text) != c.want {
			t.Errorf("%s: %.60q (%d bytes), and not %.60q (%d bytes)", c.name, e.text, len(e.text), c.want, len(c.want))
		}
	}
}

// TestMentions has texts of JSON with and without the name of a secret.
func TestMentions(t *testing.T) {
	for text, want := range map[string]bool{`{"a":"\npin"}`: true, `{"a":"\\token"}`: true, `{"\u0061":1}`: true, `{"a":"\n","author":"\t"}`: false} {
		if Mentions(text) != want {
			t.Errorf("%s: not %v", text, want)
		}
	}
}

func TestRedactQuery(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{query: "", want: ""},
		{query: "a=1&b", want: "a=1&b"},
		{query: "access_token=x&a=1&%74oken=y&apiKey:eq=z", want: "access_token=…&a=1&%74oken=…&apiKey:eq=…"},
		{query: "_where=%7B%22token%22%3A%221%22%7D", want: "_where=%7B%22token%22%3A%22%E2%80%A6%22%7D"},
		{query: "_where={\"a\":1}", want: "_where={\"a\":1}"},
		{query: "_where=token", want: "_where="},
		{query: "%zz=1", want: "%zz=…"},
		{query: "_code=503", want: "_code=503"},
		{query: "author=typicode&authorId=3&passenger=Ivy", want: "author=typicode&authorId=3&passenger=Ivy"},
		{query: "authCode=y&zipCode=1&country_code=2", want: "authCode=…&zipCode=1&country_code=2"},
		{query: "authorId=3&next=%2Fposts%3Fauthor%3Da&pin=1", want: "authorId=3&next=%2Fposts%3Fauthor%3Da&pin=…"},
	} {
		if got := RedactQuery(c.query); got != c.want {
			t.Errorf("%q: %q, and not %q", c.query, got, c.want)
		}
	}
}

// TestRedactProblem hides sentences about values that may be secret, wherever the
// name is.
func TestRedactProblem(t *testing.T) {
	at := func(s string) *string { return &s }
	p := &problem.Problem{Detail: "d", Errors: []problem.Fault{
		{Pointer: at("/title"), Detail: "a"}, {Pointer: at("/user/password"), Detail: "b", Suggestion: "s"},
		{Pointer: at("/0/value"), Member: "/apiKey", Detail: "c"},
	}}
	got := p.Excerpt()
	RedactProblem(got, false)
	if got.Detail != "d" || got.Errors[0].Detail != "a" || got.Errors[1].Detail != secret.Hidden || got.Errors[1].Suggestion != "" || got.Errors[2].Detail != secret.Hidden {
		t.Errorf("%+v", got)
	}
	if p.Errors[1].Detail != "b" {
		t.Error("the answer itself was changed")
	}
	got = problem.BadParameter("token:eq", "x is wrong")
	if RedactProblem(got, false); got.Detail != secret.Hidden || got.Errors[0].Detail != secret.Hidden {
		t.Errorf("%+v", got)
	}
}

// FuzzRedact redacts arbitrary requests twice. What is kept of the body is JSON, no
// member whose name is that of a secret has a value, nor has such a parameter, and the
// second time changes nothing.
func FuzzRedact(f *testing.F) {
	f.Add("token=a&b=1", "application/json", `{"a":{"password":"b"}}`, false, "/a/token", `{"key":1}`)
	f.Add("_where=%7B%22key%22%3A1%7D", "application/json-patch+json", `[{"op":"add","path":"/key","value":1}]`, true, "", "")
	f.Add("%zz=%zz&c=key:1", "", "{\"\\u0061\":1,", true, "~", "\xff")
	f.Fuzz(func(t *testing.T, query, mediaType, body string, cut bool, pointer, detail string) {
		e := (&Request{
			Query: query, Type: mediaType, Body: Excerpt{text: []byte(body), cut: cut}, Answer: Excerpt{text: []byte(body), cut: cut},
			Problem: &problem.Problem{Detail: detail, Line: len(pointer), Errors: []problem.Fault{{Pointer: &pointer, Detail: detail}, {Parameter: &pointer}, {Detail: detail}}},
		}).redact(make(responses))
		for _, text := range [][]byte{e.Body.text, e.Answer.text} {
			checkHidden(t, text, cut)
		}
		for part := range strings.SplitSeq(e.Query, "&") {
			name, value, _ := strings.Cut(part, "=")
			if plain, err := url.QueryUnescape(name); err == nil && secret.IsName(plain) && plain != "_code" && value != "" && value != secret.Hidden {
				t.Errorf("kept is %s", part)
			}
		}
		once := fmt.Sprint(e.Query, string(e.Body.text), string(e.Answer.text), e.Problem)
		if e = e.redact(make(responses)); fmt.Sprint(e.Query, string(e.Body.text), string(e.Answer.text), e.Problem) != once {
			t.Errorf("%q, and the second time %q %s %s", once, e.Query, e.Body.text, e.Answer.text)
		}
	})
}

// checkHidden checks that a text is JSON, or the beginning of it if it is cut, whose
// members with the name of a secret have no value.
func checkHidden(t *testing.T, text []byte, cut bool) {
	t.Helper()
	dec := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	for {
		token, err := dec.ReadToken()
		if err == io.EOF || cut && errors.Is(err, io.ErrUnexpectedEOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		container, n := dec.StackIndex(dec.StackDepth())
		if container != '{' || n%2 == 0 || token.Kind() != '"' || !secret.IsName(token.String()) {
			continue
		}
		if value, err := dec.ReadValue(); string(value) != `"`+secret.Hidden+`"` && !(cut && err != nil && len(value) == 0) {
			t.Fatalf("%s has the value %s (%v)", token, value, err)
		}
	}
}

// Equal answers are redacted once; one that is cut off is another than a whole one.
func TestEqualAnswersAreRedactedOnce(t *testing.T) {
	known := make(responses)
	redact := func(text string, cut bool) Excerpt { return known.redact(Excerpt{text: []byte(text), cut: cut}) }
	first, second := redact(`{"password":"x"}`, false), redact(`{"password":"x"}`, false)
	if string(first.text) != `{"password":"…"}` || &first.text[0] != &second.text[0] {
		t.Errorf("%s, then %s", first.text, second.text)
	}
	if whole, cut := redact(`{"a":1,`, false), redact(`{"a":1,`, true); whole.text != nil || string(cut.text) != `{"a":1,` {
		t.Errorf("whole %q, cut off %q", whole.text, cut.text)
	}
}

// Equal answers share an excerpt; others have their own, and what follows the first part
// does not change it.
func TestAnswersShareAnExcerpt(t *testing.T) {
	l := New(nil)
	keep := func(part string) (e Excerpt) {
		l.AppendPart(&e, []byte(part))
		return e
	}
	long := strings.Repeat("a", maxBody)
	for _, part := range []string{"{}", long, long + "b"} {
		first, second := keep(part), keep(part)
		if &first.text[0] != &second.text[0] || first.cut != (len(part) > maxBody) {
			t.Errorf("%.9s: the same answer has two excerpts", part)
		}
		l.AppendPart(&first, []byte("more"))
		if other := keep("[" + part); string(other.text) == string(second.text) || string(second.text) != part[:len(second.text)] {
			t.Errorf("%.9s: another answer, or a second part, has changed it", part)
		}
	}
}
