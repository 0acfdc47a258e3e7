package server_test

import (
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/schema"
	"pickup/internal/storage/storetest"
	"pickup/server"
)

// TestRequestsHideSecrets sends a secret in many ways. None of them is in what the
// server keeps of the requests, nor in its log.
func TestRequestsHideSecrets(t *testing.T) {
	const (
		secret = "hunter2"
		rules  = `{"properties": {"posts": {"type": "array", "items": {"properties": {"password": {"enum": ["x"]},
			"pin_code": {"pattern": "^x"}, "token": {"x-unique": true}, "login": {"enum": ["x"]}}}}}}`
		patches = "application/json-patch+json"
	)
	long := strings.Repeat(" ", 16<<10)
	checked, err := schema.Compile("db.schema.json", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, method, target, mediaType, body string }{
		{name: "parameter", target: "/posts?password=hunter2"},
		{name: "operator", target: "/posts?password:like=hunter2&token:gt=hunter2&password:odd=hunter2"},
		{name: "semicolon", target: "/posts?a=1;password=hunter2"},
		{name: "condition", target: `/posts?_where={"password":{"lt":["hunter2"]}}`},
		{name: "condition in a list", target: `/posts?_where={"or":[{"password":"hunter2"}]}`},
		{name: "condition with a list", target: `/posts?_where={"password":["hunter2"]}`},
		{name: "URL in a parameter", target: "/posts?next=%2Flogin%3Ftoken%3Dhunter2"},
		{name: "object", method: "POST", target: "/posts", body: `{"login": {"password": "hunter2"}}`},
		{name: "test of an object", method: "PATCH", target: "/posts/1", mediaType: patches, body: `[{"op":"test","path":"","value":{}}]`},
		{name: "escaped condition", target: `/posts?_where=%7B%22p\u0061ssword%22:%22hunter2%22%7D`},
		{name: "condition that does not parse", target: `/posts?_where={"password":hunter2}`},
		{name: "condition with a missing colon", target: `/posts?_where={"password""hunter2"}`},
		{name: "condition twice", target: `/posts?_where={"a":1}&_where={"password":"hunter2"}`},
		{name: "JSON in a parameter", target: `/posts?filter={"password":"hunter2"}`},
		{name: "condition of a QUERY", method: "QUERY", target: "/posts", body: `{"password":{"in":"hunter2"}}`},
		{name: "condition of a QUERY that does not parse", method: "QUERY", target: "/posts", body: `{"password": hunter2}`},
		{name: "word", method: "POST", target: "/posts", body: `{"password": hunter2}`},
		{name: "second word", method: "POST", target: "/posts", body: `{"password": null hunter2}`},
		{name: "missing colon", method: "POST", target: "/posts", body: `{"password": {"hunter2"}}`},
		{name: "duplicate name", method: "POST", target: "/posts", body: `{"tokens": {"hunter2": 1, "hunter2": 2}}`},
		{name: "rule", method: "POST", target: "/posts", body: `{"password": "hunter2", "pin_code": "hunter2", "token": "hunter2"}`},
		{name: "rule of the second", method: "POST", target: "/posts", body: `[{}, {"password": "hunter2"}]`},
		{name: "name", method: "POST", target: "/posts", body: `{"tokens": {"hunter2": 1}}`},
		{name: "patch", method: "PATCH", target: "/posts/1", mediaType: patches, body: `[{"op":"add","path":"/password","value":"hunter2"}]`},
		{name: "spelled otherwise", method: "PATCH", target: "/posts/1", mediaType: "Application/JSON-Patch+JSON",
			body: `[{"op":"add","path":"/token","value":"hunter2"}]`},
		{name: "escaped path", method: "PATCH", target: "/posts/1", mediaType: patches, body: `[{"op":"add","path":"/\u0070in_\u0063ode","value":"hunter2"}]`},
		{name: "path after the limit", method: "PATCH", target: "/posts/1", mediaType: patches,
			body: `[{"op":"add","value":"hunter2",` + long + `"path":"/token"}]`},
		{name: "test", method: "PATCH", target: "/posts/1", mediaType: patches, body: `[{"op":"test","path":"/token","value":"hunter3"}]`},
		{name: "test of a record", method: "PATCH", target: "/posts/1", mediaType: patches, body: `[{"op":"test","path":"","value":{"token":"a"}}]`},
		{name: "transaction", method: "POST", target: "/_/transaction",
			body: `[{"op":"update","collection":"posts","id":1,"record":{"password":"hunter2"},"if":{"token":"hunter2"}}]`},
		{name: "patch of another type", method: "PATCH", target: "/posts/1", mediaType: "application/json",
			body: `[{"op":"add","path":"/token","value":"hunter2"}]`},
		{name: "nested value", method: "PUT", target: "/posts/1/token", body: `"hunter2"`},
		{name: "read of a nested value", target: "/posts/1/token"},
		{name: "below a secret", method: "PATCH", target: "/posts/1/auth", body: `{"a":"hunter2"}`},
		{name: "rule of a nested value", method: "PUT", target: "/posts/2/password", body: `"hunter2"`},
		{name: "nested value in a transaction", method: "POST", target: "/_/transaction",
			body: `[{"op":"set","collection":"posts","id":2,"path":["tok\u0065n"],"value":"hunter2"}]`},
		{name: "rule of a nested value in a transaction", method: "POST", target: "/_/transaction",
			body: `[{"op":"set","collection":"posts","id":2,"path":["password"],"value":"hunter2"}]`},
		{name: "secret as a whole", method: "POST", target: "/_/transaction", body: `[{"op":"set","collection":"token","value":"hunter2"}]`},
		{name: "form", method: "POST", target: "/posts", mediaType: "application/x-www-form-urlencoded", body: "password=hunter2"},
		{name: "unique", method: "POST", target: "/posts", body: `{"id": 1, "token": "hunter2"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			const contents = `{"posts": [{"id": 1, "token": "hunter2", "auth": {"a": "b"}}, {"id": 2, "token": "a", "password": "x"}]}`
			db, err := database.Open(t.Context(), storetest.NewMemStore(jsontext.Value(contents)), database.Options{Schema: checked})
			if err != nil {
				t.Fatal(err)
			}
			var log strings.Builder
			handler := server.Handler(db, server.Options{Requests: true, AccessLog: slog.New(slog.NewTextHandler(&log, nil)), AccessDetails: true})
			send := func(method, target, mediaType, body string) *httptest.ResponseRecorder {
				target, query, _ := strings.Cut(target, "?")
				r := httptest.NewRequest(method, target, strings.NewReader(body))
				r.URL.RawQuery = query
				r.Header.Set("Content-Type", mediaType)
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				return w
			}
			method, mediaType := test.method, test.mediaType
			if method == "" {
				method = "GET"
			}
			if mediaType == "" {
				mediaType = "application/json"
			}
			sent := send(method, test.target, mediaType, test.body)
			kept := fmt.Sprint(send("GET", "/_/requests", "", "").Body, send("GET", "/_/requests/1", "", "").Body)
			if !strings.Contains(kept, `"id":"1"`) {
				t.Fatal(kept)
			}
			for _, text := range []string{kept, log.String()} {
				if strings.Contains(text, secret) {
					t.Errorf("the secret is kept:\n%sThe answer was %s", text, sent.Body)
				}
			}
		})
	}
}

// TestRequestsTogether records, lists, reads and forgets requests at the same time.
func TestRequestsTogether(t *testing.T) {
	_, handler := open(t, `{"posts": [{"id": 1, "token": "hunter2"}]}`, server.Options{Requests: true})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 50 {
				r := httptest.NewRequest("GET", []string{"/posts/1?token=hunter2", "/posts/2", "/_/requests", fmt.Sprint("/_/requests/", n)}[(i+n)%4], nil)
				if i == 0 && n%10 == 0 {
					r = httptest.NewRequest("DELETE", "/_/requests", nil)
				}
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				if strings.HasPrefix(r.URL.Path, "/_/") && strings.Contains(w.Body.String(), "hunter2") || w.Code >= 500 {
					t.Errorf("%s %s: %d %s", r.Method, r.URL, w.Code, w.Body)
				}
			}
		})
	}
	all.Wait()
}
