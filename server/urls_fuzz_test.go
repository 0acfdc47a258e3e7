package server_test

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"pickup/internal/database"
	"pickup/internal/storage/storetest"
	"pickup/server"
)

const fuzzed = `{"posts":[
	{"id":1,"title":"One","views":100,"tags":["a","b"],"author":{"name":"Ann"},"_limt":1},
	{"id":"2","title":"two","views":1e2,"tags":[],"author":null,"a.b":"x","x_gte":3},
	{"id":3,"views":"100","ok":true,"deep":[{"a":[{"b":null}]}]},
	{"title":"no id"},"no record",null,[1,2]],
	"comments":[{"id":1,"postId":1},{"id":2,"postId":"2"},{"id":3,"postId":null}],
	"profile":{"name":"x","postId":1},"n":7}`

// FuzzURL requests any URL: the status is 200, 304, 400, 404 or 414, the answer does
// not take long, and JSON is valid.
func FuzzURL(f *testing.F) {
	for _, target := range []string{
		"/posts?title=One", "/posts?views_gte=1e2&_sort=-views,title&_page=1&_per_page=2", "/posts?_where={\"or\":[{\"views\":{\"gt\":1}}]}",
		"/posts/1?_embed=comments.post&_fields=comments.post.id", "/comments?_expand=post",
		"/posts/1/comments?q=1&_limit=1", "/posts?tags[0]=a&deep[0].a[0].b:exists=false",
		"/posts?id:in=1,2&title_like=(o|t)+", "/posts?_start=-2&_end=-1", "/profile?_expand=post",
		"/db?x", "/?_page=-1", "/posts?a.b=x&x_gte=3&_limt=1", "/_/readyz", "/posts/%2F?%zz", "/posts?_order=desc&_sort=",
	} {
		f.Add(target, true)
	}
	db, err := database.Open(f.Context(), storetest.NewMemStore([]byte(fuzzed)), database.Options{})
	if err != nil {
		f.Fatal(err)
	}
	handler := server.Handler(db, server.Options{})
	f.Fuzz(func(t *testing.T, target string, table bool) {
		u, err := url.ParseRequestURI(target)
		if err != nil || !strings.HasPrefix(target, "/") {
			return // net/http would reject it
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.URL, r.RequestURI = u, target
		if table {
			r.Header.Set("Accept", "text/csv")
		}
		w := httptest.NewRecorder()
		start := time.Now()
		handler.ServeHTTP(w, r)
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("%q took %v", target, d)
		}
		switch w.Code {
		case 200, 304, 400, 404, 414:
		default:
			t.Errorf("%q: %d %s", target, w.Code, w.Body)
		}
		if strings.Contains(w.Header().Get("Content-Type"), "json") && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%q: no JSON: %s", target, w.Body)
		}
		for _, links := range w.Header()["Link"] {
			if strings.ContainsAny(links, "\r\n") {
				t.Errorf("%q: the header Link is %q", target, links)
			}
		}
	})
}
