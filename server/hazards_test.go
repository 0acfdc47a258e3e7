package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pickup/internal/database"
	"pickup/internal/storage/storetest"
	"pickup/server"
)

// serve returns the URL of a server for a database.
func serve(t testing.TB, contents string) string {
	db, err := database.Open(t.Context(), storetest.NewMemStore([]byte(contents)), database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server.Handler(db, server.Options{}))
	t.Cleanup(web.Close)
	return web.URL
}

// ask sends a request. The headers are names and values in turn.
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

// TestHazards sends requests that crash json-server or that it answers wrongly.
func TestHazards(t *testing.T) {
	long := strings.Repeat("a", 200_000) + "!"
	at := serve(t, `{
		"posts": [{"id":"1","title":"One","author":null},{"id":2,"title":"Two","author":{"name":"Bob"}},{"id":"x"}],
		"comments": [{"id":1,"postId":null},{"id":2,"postId":"2"},{"id":3,"postId":77},{"id":4}],
		"long": [{"id":1,"text":"`+long+`"}]}`)
	for _, c := range []struct{ method, path, want string }{
		{method: "GET", path: "/long?_fields=id&text_like=" + url.QueryEscape("(a+)+$"), want: `200 []`},
		{method: "GET", path: "/long?_fields=id&text_like=" + url.QueryEscape("(a+)+!$"), want: `200 [{"id":1}]`},
		{method: "GET", path: "/posts?title_like=" + url.QueryEscape("(a?){500}b"), want: `400`},
		{method: "GET", path: "/posts?title_like=" + url.QueryEscape(strings.Repeat("a", 257)), want: `400`},
		{method: "GET", path: "/posts?id=1&_fields=title", want: `200 [{"title":"One"}]`},
		{method: "GET", path: "/posts?id=2&_fields=title", want: `200 [{"title":"Two"}]`},
		{method: "GET", path: "/posts?author.name=Bob&_fields=id", want: `200 [{"id":2}]`},
		{method: "GET", path: "/posts?author.name_ne=Ann&_fields=id", want: `200 [{"id":2}]`},
		{method: "GET", path: "/posts?nothing.name=Bob", want: `200 []`},
		{method: "GET", path: "/comments?_expand=post&_fields=id,post.id", want: `200 [{"id":1},{"id":2,"post":{"id":2}},{"id":3},{"id":4}]`},
		{method: "GET", path: "/posts?_embed=comments&_fields=comments.id", want: `200 [{"comments":[]},{"comments":[{"id":2}]},{"comments":[]}]`},
		{method: "HEAD", path: "/posts/1", want: `200 `},
		{method: "GET", path: "/posts/1?_fields=id", want: `200 [{"id":"1"}]`},
		{method: "DELETE", path: "/posts/2?_dependent=comments", want: `200 {"id":2,"title":"Two","author":{"name":"Bob"}}`},
		{method: "GET", path: "/comments?_fields=id", want: `200 [{"id":1},{"id":3},{"id":4}]`},
		{method: "GET", path: "/__proto__", want: `404`},
		{method: "GET", path: "/posts?constructor=1", want: `200 []`},
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
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%s %s took %v", c.method, c.path, d)
		}
	}
}

// TestTags checks the tags of answers that are made from several records.
func TestTags(t *testing.T) {
	const contents = `{"posts":[{"id":1,"title":"One"}],"comments":[{"id":1,"postId":1}],"authors":[{"id":1}]}`
	at := serve(t, contents)
	paths := []string{"/posts", "/posts?_fields=title", "/posts/1", "/posts?_embed=comments", "/posts/1?_embed=comments",
		"/db", "/posts/1/comments", "/comments", "/authors", "/"}
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
			continue // it has the number of records
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
	// Another process has other tags for lists, and so have other contents.
	other := serve(t, strings.Replace(contents, "One", "Two", 1))
	response, _ := ask(t, "GET", other+"/posts", "", "If-None-Match", after["/posts"])
	if response.StatusCode != 200 {
		t.Error("two databases have the same tag")
	}
}

// TestLostUpdates increments a counter from many clients at once with If-Match: no
// increment is lost, and a client that is late gets 412.
func TestLostUpdates(t *testing.T) {
	at := serve(t, `{"counters":[{"id":1,"n":0}]}`)
	const clients, each = 8, 15
	var late atomic.Int32
	var wait sync.WaitGroup
	for range clients {
		wait.Go(func() {
			for done := 0; done < each; {
				response, body := ask(t, "GET", at+"/counters/1", "")
				var counter struct{ N int }
				if err := json.Unmarshal([]byte(body), &counter); err != nil {
					t.Error(err)
					return
				}
				response, body = ask(t, "PATCH", at+"/counters/1", fmt.Sprintf(`{"n":%d}`, counter.N+1), "If-Match", response.Header.Get("ETag"))
				switch response.StatusCode {
				case http.StatusOK:
					done++
				case http.StatusPreconditionFailed:
					late.Add(1)
				default:
					t.Errorf("%s %s", response.Status, body)
					return
				}
			}
		})
	}
	wait.Wait()
	if _, body := ask(t, "GET", at+"/counters/1", ""); body != fmt.Sprintf(`{"id":1,"n":%d}`, clients*each) {
		t.Errorf("%s after %d counts", body, clients*each)
	}
	if late.Load() == 0 {
		t.Error("nobody came late: nothing was tested")
	}
}

// TestCreateOnce lets many clients create the same record at once: one succeeds.
func TestCreateOnce(t *testing.T) {
	at := serve(t, `{"posts":[]}`)
	var created, refused atomic.Int32
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			response, _ := ask(t, "PUT", at+"/posts/a", `{"title":"x"}`, "If-None-Match", "*")
			switch response.StatusCode {
			case http.StatusCreated:
				created.Add(1)
			case http.StatusPreconditionFailed:
				refused.Add(1)
			}
		})
	}
	wait.Wait()
	if created.Load() != 1 || refused.Load() != 15 {
		t.Errorf("%d created, %d refused", created.Load(), refused.Load())
	}
}

// TestListPrecondition lets many clients create a record at once, if the list is
// unchanged: only one succeeds, although writes are committed in groups.
func TestListPrecondition(t *testing.T) {
	at := serve(t, `{"posts":[]}`)
	for _, path := range []string{"/posts", "/db"} {
		response, _ := ask(t, "GET", at+path, "")
		tag := response.Header.Get("ETag")
		var done atomic.Int32
		var wait sync.WaitGroup
		for range 16 {
			wait.Go(func() {
				to, body := path, `{}`
				if path == "/db" {
					to, body = "/_/transaction", `[{"op":"create","collection":"posts","record":{}}]`
				}
				response, text := ask(t, "POST", at+to, body, "If-Match", tag, "Content-Type", "application/json")
				switch response.StatusCode {
				case http.StatusCreated, http.StatusOK:
					done.Add(1)
				case http.StatusPreconditionFailed:
				default:
					t.Errorf("%s %s", response.Status, text)
				}
			})
		}
		wait.Wait()
		if done.Load() != 1 {
			t.Errorf("%s: %d writes with one tag", path, done.Load())
		}
	}
}
