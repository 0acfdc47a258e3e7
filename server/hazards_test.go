package server_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"pickup"
	"pickup/server"
)

// serve returns the URL of a server for a database.
func serve(t testing.TB, contents string) string {
	db, err := pickup.Open(t.Context(), pickup.NewMemStore([]byte(contents)), pickup.Options{})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server.Handler(db, server.Options{}))
	t.Cleanup(web.Close)
	return web.URL
}

// ask sends a request; headers and body come in turn as name, value.
func ask(t testing.TB, method, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, strings.TrimSuffix(string(text), "\n")
}

// TestHazards is what brings json-server to its knees, or makes it answer
// something else than was asked.
func TestHazards(t *testing.T) {
	long := strings.Repeat("a", 200_000) + "!"
	at := serve(t, `{
		"posts": [{"id":"1","title":"One","author":null},{"id":2,"title":"Two","author":{"name":"Bob"}},{"id":"x"}],
		"comments": [{"id":1,"postId":null},{"id":2,"postId":"2"},{"id":3,"postId":77},{"id":4}],
		"long": [{"id":1,"text":"`+long+`"}]}`)
	for _, c := range []struct{ method, path, want string }{
		{"GET", "/long?_fields=id&text_like=" + url.QueryEscape("(a+)+$"), `200 []`},
		{"GET", "/long?_fields=id&text_like=" + url.QueryEscape("(a+)+!$"), `200 [{"id":1}]`},
		{"GET", "/posts?title_like=" + url.QueryEscape("(a?){500}b"), `400`},
		{"GET", "/posts?title_like=" + url.QueryEscape(strings.Repeat("a", 257)), `400`},
		{"GET", "/posts?id=1&_fields=title", `200 [{"title":"One"}]`},
		{"GET", "/posts?id=2&_fields=title", `200 [{"title":"Two"}]`},
		{"GET", "/posts?author.name=Bob&_fields=id", `200 [{"id":2}]`},
		{"GET", "/posts?author.name_ne=Ann&_fields=id", `200 [{"id":2}]`},
		{"GET", "/posts?nothing.name=Bob", `200 []`},
		{"GET", "/comments?_expand=post&_fields=id,post.id", `200 [{"id":1},{"id":2,"post":{"id":2}},{"id":3},{"id":4}]`},
		{"GET", "/posts?_embed=comments&_fields=comments.id", `200 [{"comments":[]},{"comments":[{"id":2}]},{"comments":[]}]`},
		{"HEAD", "/posts/1", `200 `},
		{"GET", "/posts/1?_fields=id", `200 [{"id":"1"}]`},
		{"DELETE", "/posts/2?_dependent=comments", `200 {"id":2,"title":"Two","author":{"name":"Bob"}}`},
		{"GET", "/comments?_fields=id", `200 [{"id":1},{"id":3},{"id":4}]`},
		{"GET", "/__proto__", `404`},
		{"GET", "/posts?constructor=1", `200 []`},
	} {
		start := time.Now()
		response, text := ask(t, c.method, at+c.path, "")
		got := fmt.Sprint(response.StatusCode)
		if response.StatusCode == 200 {
			got += " " + text
		}
		if want := strings.Replace(c.want, `[{"id":"1"}]`, `{"id":"1"}`, 1); got != want {
			t.Errorf("%s %s: %.200s and not %s", c.method, c.path, got, want)
		}
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("%s %s took %v", c.method, c.path, d)
		}
	}
}

// TestTags follows the tags of answers that are made of more than one record.
func TestTags(t *testing.T) {
	const contents = `{"posts":[{"id":1,"title":"One"}],"comments":[{"id":1,"postId":1}],"authors":[{"id":1}]}`
	at := serve(t, contents)
	paths := []string{"/posts", "/posts?_fields=title", "/posts/1", "/posts?_embed=comments", "/posts/1?_embed=comments", "/db", "/posts/1/comments", "/comments", "/authors", "/"}
	tags := func() map[string]string {
		list := make(map[string]string)
		seen := make(map[string]string)
		for _, p := range paths {
			response, _ := ask(t, "GET", at+p, "")
			tag := response.Header.Get("ETag")
			if other := seen[tag]; tag == "" || strings.HasPrefix(tag, "W/") || other != "" {
				t.Errorf("%s has the tag %q, as has %q", p, tag, other)
			}
			seen[tag], list[p] = p, tag
			again, body := ask(t, "GET", at+p, "", "If-None-Match", tag)
			if again.StatusCode != 304 || body != "" || again.Header.Get("ETag") != tag {
				t.Errorf("%s with its tag: %d %s", p, again.StatusCode, body)
			}
		}
		return list
	}
	before := tags()
	if response, _ := ask(t, "PATCH", at+"/comments/1", `{"body":"x"}`); response.StatusCode != 200 {
		t.Fatal(response.Status)
	}
	after := tags()
	for _, p := range paths {
		changes := strings.Contains(p, "comments") || p == "/db"
		if p == "/" {
			continue // it tells counts; whatever changes, it may
		}
		if (before[p] != after[p]) != changes {
			t.Errorf("%s had %s and has %s", p, before[p], after[p])
		}
	}
	for _, p := range []string{"/posts", "/db"} {
		response, _ := ask(t, "GET", at+p, "", "If-None-Match", before["/db"])
		if response.StatusCode != 200 {
			t.Errorf("%s with an older tag: %s", p, response.Status)
		}
	}
	// No tag of a list means the same thing in another process, or for other
	// contents.
	other := serve(t, strings.Replace(contents, "One", "Two", 1))
	response, _ := ask(t, "GET", other+"/posts", "", "If-None-Match", after["/posts"])
	if response.StatusCode != 200 {
		t.Error("two databases have the same tag")
	}
}
