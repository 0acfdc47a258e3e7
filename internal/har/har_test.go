package har

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// got is a request and its answer of a test: "GET /v1/posts?page=1", 200, a body.
type got struct {
	request string
	status  int
	body    string
}

// recorded returns a HAR file.
func recorded(answers ...got) []byte {
	var entries []string
	for i, a := range answers {
		method, path, _ := strings.Cut(a.request, " ")
		if !strings.HasPrefix(path, "http") {
			path = "https://api.example.com" + path
		}
		entries = append(entries, fmt.Sprintf(`{"startedDateTime":"2026-01-01T00:00:%02dZ","request":{"method":%q,"url":%q,"headers":[{"name":"Cookie","value":"leaked"}]},
			"response":{"status":%d,"content":{"mimeType":"application/json","text":%s}}}`, i, method, path, a.status, rawjson.AppendQuote(nil, a.body)))
	}
	return []byte(`{"log":{"version":"1.2","entries":[` + strings.Join(entries, ",") + `]}}`)
}

// TestRead has recordings, with what they become.
func TestRead(t *testing.T) {
	for _, test := range []struct {
		name    string
		answers []got
		o       Options
		want    string
	}{
		{
			name: "pages merge, and records have more fields",
			answers: []got{
				{"GET /v1/posts/1", 200, `{"id":1,"a":1,"text":"x"}`}, {"GET /v1/posts?page=1", 200, `[{"id":1,"a":1},{"id":2}]`}, {"GET /v1/posts?page=2", 200, `[{"id":3}]`},
			},
			want: `posts {"id":1,"a":1,"text":"x"} posts {"id":2} posts {"id":3} /v1/posts?page=:page=/v1/posts?_page=:page&_limit=2`,
		},
		{
			name:    "children of a record",
			answers: []got{{"GET /api/posts/1/comments", 200, `[{"id":7}]`}, {"GET /api/posts", 200, `[{"id":1}]`}, {"GET /api/posts/9/comments", 200, `[{"id":8}]`}},
			want:    `posts {"id":1} comments {"postId":1,"id":7} fixed /posts/9/comments 200 [{"id":8}]`,
		},
		{
			name:    "objects, errors and other answers",
			answers: []got{{"GET /me", 200, `{"accessToken":"a","name":"Ada"}`}, {"GET /posts/99", 404, `{"no":1}`}, {"GET /n?q=1&token=a", 200, `3`}, {"GET /db", 200, `{}`}},
			want:    `me object {"accessToken":"…","name":"Ada"} fixed /n?q=1 200 3 fixed /db 200 {} fixed /posts/99 404 {"no":1}`,
		},
		{
			name: "secrets in URLs",
			answers: []got{
				{"GET /a;jsessionid=leaked", 200, `3`}, {"GET /b/x%3Bsid%3Dleaked", 200, `3`}, {"GET /c?a=1;token=leaked", 200, `3`}, {"GET /d?to=%2Fx%3Ftoken%3Dleaked&b=1", 200, `3`},
				{"GET /e", 200, `{"to":"/x?token=leaked"}`}, {"GET /tokens", 200, `["leaked"]`}, {"GET /sessions", 200, `[]`},
			},
			want: `e object {"to":"/x?token=…"} sessions object [] fixed /d?b=1 200 3 fixed /c 200 3 fixed /tokens 200 "…"`,
		},
		{
			name: "secrets in paths",
			answers: []got{
				{"GET /reset-password/leaked", 200, `3`}, {"GET /token/leaked/x", 200, `3`}, {"GET /reset%2Dpassword/leaked", 200, `3`},
				{"GET /reset-password", 200, `[{"name":"password","value":"leaked"},{"name":"csrf","value":"leaked"}]`},
			},
			want: `fixed /reset-password 200 [{"name":"password","value":"…"},{"name":"csrf","value":"…"}]`,
		},
		{
			name:    "names that are too long, or refused",
			o:       Options{Refuses: func(name string) bool { return name == "con" }},
			answers: []got{{"GET /" + strings.Repeat("x", 201), 200, `[{"id":1}]`}, {"GET /" + strings.Repeat("y", 201) + "/1", 200, `{"id":1}`}, {"GET /con", 200, `[{"id":1}]`}, {"GET /a", 200, `[{"id":1}]`}},
			want:    `a {"id":1} fixed /con 200 [{"id":1}]`,
		},
		{
			name:    "an extension of the browser",
			answers: []got{{"GET http-extension://x/a", 200, `[{"id":1}]`}, {"GET https:///a", 200, `[{"id":1}]`}, {"GET http-extension://x/b", 200, `[{"id":1}]`}, {"GET /c", 200, `[{"id":1}]`}},
			want:    `c {"id":1}`,
		},
		{
			name:    "the later answer",
			answers: []got{{"GET /posts", 401, `{}`}, {"GET /posts", 200, `[{"id":1,"a":1}]`}, {"GET /posts", 200, `[{"id":"1","a":2}]`}},
			want:    `posts {"id":"1","a":2}`,
		},
		{
			name:    "left out",
			answers: []got{{"POST /posts", 201, `{"id":1}`}, {"GET /x", 304, ``}, {"GET /y", 500, `{}`}, {"GET /z", 200, ``}, {"GET http://b.example/z", 200, `[{"id":1}]`}, {"POST /graphql", 200, `{}`}, {"GET /_/status", 200, `{}`}, {"GET /b", 200, `{`}},
		},
		{
			name:    "an envelope",
			answers: []got{{"GET /posts", 200, `{"data":[{"id":1}],"next":"abc"}`}, {"GET /posts/1", 200, `{"data":{"id":1,"x":2}}`}},
			want:    `fixed /posts 200 {"data":[{"id":1}],"next":"abc"} fixed /posts/1 200 {"data":{"id":1,"x":2}}`,
		},
		{
			name: "the same as --answer-list says", o: Options{List: "data", Record: "data"},
			answers: []got{{"GET /posts?cursor=a", 200, `{"data":[{"id":1}],"next":"abc"}`}, {"GET /posts/1", 200, `{"data":{"id":1,"x":2}}`}},
			want:    `posts {"id":1,"x":2}`,
		},
		{
			name:    "lists without ids, twice the same id, and empty ones",
			answers: []got{{"GET /a", 200, `["x"]`}, {"GET /b", 200, `[{"id":1},{"id":1}]`}, {"GET /c", 200, `[]`}},
			want:    `c object [] fixed /a 200 ["x"] fixed /b 200 [{"id":1},{"id":1}]`,
		},
		{
			name:    "embedded records",
			answers: []got{{"GET /a?_embed=b", 200, `[{"id":1,"b":[]}]`}, {"GET /a", 200, `[{"id":1}]`}},
			want:    `a {"id":1}`,
		},
	} {
		test.o.IDMember = "id"
		r, err := Read(recorded(test.answers...), test.o)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, i := range r.Items {
			all = append(all, i.Field+map[bool]string{true: " object"}[i.Whole]+" "+string(i.Value))
		}
		for _, a := range r.Fixed {
			if a.Query != "" {
				a.Path += "?" + a.Query
			}
			all = append(all, fmt.Sprintf("fixed %s %d %s", a.Path, a.Code, a.Body))
		}
		for _, x := range r.Routes {
			all = append(all, x.From+"="+x.To)
		}
		if got := strings.Join(all, " "); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, got, test.want)
		}
		checkReport(t, r, len(test.answers))
	}
}

// checkReport checks that the report has each request once.
func checkReport(t *testing.T, r *Recording, requests int) {
	t.Helper()
	sum := 0
	for _, n := range r.outcomes {
		sum += n
	}
	if sum != requests {
		t.Errorf("%d requests, and the report has %d: %q", requests, sum, r.Report)
	}
}

// FuzzRead reads arbitrary files: what comes of them is JSON, each record has an id of its
// own, and nothing in it is secret.
func FuzzRead(f *testing.F) {
	f.Add(recorded(got{"GET /posts?page=1", 200, `[{"id":1,"password":"leaked"}]`}, got{"GET /posts/1/x", 200, `[]`}, got{"GET /me", 200, `{"a":{}}`}))
	f.Add(recorded(got{"GET /v1/%zz?token=leaked", 404, `"*"`}, got{"GET /api/a/b/c?a=1&b=2", 200, `{"data":[{"id":2}]}`}))
	f.Add([]byte(`{"log":{"entries":[null,{}]}}`))
	f.Add([]byte("\ufeff{\"log\":{\"entries\":[{\"request\":{\"method\":\"GET\",\"url\":\"//x\"}}]}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Read(text, Options{IDMember: "id", List: "data"})
		if err != nil {
			return
		}
		seen := make(map[string]bool)
		for _, i := range r.Items {
			id, ok := storage.ID(i.Value, "id")
			if !i.Value.IsValid() || !i.Whole && (!ok || seen[i.Field+"\x00"+id]) {
				t.Errorf("%s: %s", i.Field, i.Value)
			}
			seen[i.Field+"\x00"+id] = true
		}
		rules, err := json.Marshal(r.Fixed)
		if err != nil || strings.Contains(string(rules), `"password":"leaked"`) {
			t.Errorf("%v in %s", err, rules)
		}
		var h struct{ Log struct{ Entries []any } }
		if json.Unmarshal([]byte(strings.TrimPrefix(string(text), "\ufeff")), &h) == nil {
			checkReport(t, r, len(h.Log.Entries))
		}
	})
}
