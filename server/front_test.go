package server_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"pickup/internal/rewrite"
	"pickup/server"
)

// FuzzFront looks for a path outside of the service that reaches it: livez answers
// without credentials, and nothing else does.
func FuzzFront(f *testing.F) {
	for _, text := range []string{`{"/api/*": "/$1"}`, `{"/a/:x/:y": "/:x/:y"}`, `{"/*": "/$1"}`, `{"/a?x=:x": "/:x"}`, `{"/a/*/b": "/x$1"}`} {
		for _, path := range []string{"/api/_/livez", "/a/_/livez", "/x/_/livez", "/a/%5F/livez", "/a?x=_%2Flivez", "/_/s/a/x/_/livez", "//_/livez", "/_"} {
			f.Add("/x", text, path)
			f.Add("", text, path)
		}
	}
	f.Fuzz(func(t *testing.T, prefix, text, path string) {
		lines, fault := rewrite.Parse([]byte(text))
		table, _ := rewrite.New(lines)
		u, err := url.ParseRequestURI(path)
		if fault != nil || table == nil || err != nil || !strings.HasPrefix(path, "/") || prefix != "" && prefix != "/x" {
			return
		}
		_, web := open(t, `{"posts":[]}`, server.Options{
			Auth: single("anna", "secret"), Prefix: prefix, Routes: func() *rewrite.Table { return table },
		})
		w := httptest.NewRecorder()
		web.ServeHTTP(w, &http.Request{Method: "GET", URL: u, Header: make(http.Header), Host: "localhost"})
		if w.Code != http.StatusUnauthorized && !rewrite.IsService(u.EscapedPath()) {
			t.Errorf("prefix %q, routes %s: GET %s is %d %s", prefix, text, path, w.Code, w.Body)
		}
	})
}
