package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"pickup/internal/rawjson"
	"pickup/internal/tools/servertest"
)

// upstream has the answers of an API by path and query.
var upstream = map[string]string{
	"/v1/me":                           `{"name":"Ada","accessToken":"t0p"}`,
	"/v1/posts?page=1":                 `[{"id":1,"title":"One","by":1},{"id":2,"title":"Two","by":2}]`,
	"/v1/posts?page=2":                 `[{"id":3,"title":"Three","by":1}]`,
	"/v1/posts?page=3":                 `[]`,
	"/v1/posts?by=1&page=1":            `[{"id":1,"title":"One","by":1},{"id":3,"title":"Three","by":1}]`,
	"/v1/posts?order=desc&sort_by=id":  `[{"id":3,"title":"Three","by":1},{"id":2,"title":"Two","by":2},{"id":1,"title":"One","by":1}]`,
	"/v1/posts/1":                      `{"id":1,"title":"One","by":1,"text":"of one"}`,
	"/v1/posts/1/comments":             `[{"id":"a","text":"c"}]`,
	"/v1/posts/2/comments":             `[]`,
	"/v1/posts/99":                     `{"error":"no such post"}`,
	"/v1/tags":                         `["a","b"]`,
	"/v1/stats/all?of=posts&token=t0p": `{"posts":3}`,
	"/v1/users?cursor=x":               `{"data":[{"id":1,"name":"Ada"}],"next":null}`,
	"/v1/empty":                        `[]`,
}

// TestReplay records a front end in Chromium, imports the HAR file, and sends every GET
// again: only what the documents name differs.
func TestReplay(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := upstream[r.URL.RequestURI()]
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: "t0p"})
		if r.URL.Path == "/" {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<!DOCTYPE html><title>app</title>")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if !ok || r.URL.Path == "/v1/posts/99" {
			w.WriteHeader(http.StatusNotFound)
		}
		io.WriteString(w, body)
	}))
	defer api.Close()
	dir := t.TempDir()
	file := recordHAR(t, api.URL, "/", slices.Sorted(maps.Keys(upstream)), dir)
	if !strings.Contains(string(file), "t0p") {
		t.Fatal("the browser has recorded no secret")
	}

	report := importHAR(t, dir)
	for _, want := range []string{"16 requests, the API is " + api.URL + "/v1", "\nposts: 3 added", "hidden: 1 value of accessToken", "with a list in data"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
	for _, name := range []string{"db.json", "pickup.json"} {
		if text := servertest.Read(t, filepath.Join(dir, name)); bytes.Contains(text, []byte("t0p")) {
			t.Errorf("%s has a secret:\n%s", name, text)
		}
	}

	server, err := servertest.Launch("pickup", dir, openServerEnv)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	named := map[string]string{
		"/v1/me":                          `{"name":"Ada","accessToken":"…"}`,                                              // a secret
		"/v1/posts?page=1":                `[{"id":1,"title":"One","by":1,"text":"of one"},{"id":2,"title":"Two","by":2}]`, // a field that only the record had
		"/v1/posts/1/comments":            `[{"id":"a","postId":1,"text":"c"}]`,                                            // the reference to the parent
		"/v1/posts?by=1&page=1":           `[{"id":1,"title":"One","by":1,"text":"of one"},{"id":3,"title":"Three","by":1}]`,
		"/v1/posts?order=desc&sort_by=id": `[{"id":3,"title":"Three","by":1},{"id":2,"title":"Two","by":2},{"id":1,"title":"One","by":1,"text":"of one"}]`,
	}
	for uri, want := range upstream {
		resp, err := http.Get(server.URL + uri)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if named[uri] != "" {
			want = named[uri]
		}
		if code := map[bool]int{true: 404, false: 200}[uri == "/v1/posts/99"]; resp.StatusCode != code || !rawjson.Equal(rawjson.Compact(body), []byte(want)) {
			t.Errorf("%s: %d %s\nwant %d %s", uri, resp.StatusCode, body, code, want)
		}
	}
}

// importHAR imports app.har in dir, and returns the report.
func importHAR(t *testing.T, dir string) string {
	t.Helper()
	pickup, err := exec.LookPath("pickup")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(pickup, "import", "app.har")
	cmd.Dir = dir
	report, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, report)
	}
	return string(report)
}

// TestReplayJSONServer records json-server 0.17, with ids in id and in another field, and replaces
// it: every GET has the answer that it had.
func TestReplayJSONServer(t *testing.T) {
	t.Parallel()
	bin, err := filepath.Abs("../../../server/testdata/clients-json-server/node_modules/json-server/lib/cli/bin.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"id", "_id"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			upstream := t.TempDir()
			if err := os.WriteFile(filepath.Join(upstream, "db.json"), []byte(strings.ReplaceAll(`{
				"posts": [{"ID": 1, "title": "One", "by": "ada"}, {"ID": 2, "title": "Two", "by": "bob"}, {"ID": 3, "title": "Three", "by": "ada"}],
				"comments": [{"ID": "a", "text": "first", "postId": 1}, {"ID": "b", "text": "second", "postId": 3}],
				"profile": {"name": "Ada"}, "drafts": []
			}`, "ID", id)), 0o644); err != nil {
				t.Fatal(err)
			}
			port := servertest.FreePort(t)
			node := exec.Command("node", bin, "db.json", "--port", port, "--id", id)
			node.Dir = upstream
			if err := node.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { node.Process.Kill(); node.Wait() })
			api := "http://127.0.0.1:" + port
			if !servertest.Eventually(func() bool { resp, err := http.Get(api + "/profile"); return err == nil && resp.Body.Close() == nil }) {
				t.Fatal("json-server does not answer")
			}
			uris := []string{
				"/posts", "/posts?_page=1&_limit=2", "/posts?_page=2&_limit=2", "/posts?by=ada", "/posts?_sort=title&_order=desc", "/posts?q=tw",
				"/posts?title_like=^T", "/posts/1", "/posts/3", "/posts/99", "/posts/1/comments", "/posts/2/comments", "/comments?postId=3", "/comments", "/profile",
				"/drafts", "/comments?_expand=post",
			}
			if id == "id" { // with --id it embeds nothing
				uris = append(uris, "/posts?_embed=comments")
			}
			want := make(map[string]string)
			get := func(server, uri string) string {
				resp, err := http.Get(server + uri)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				body, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				return fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("X-Total-Count"), " ", string(rawjson.Compact(body)))
			}
			for _, uri := range uris {
				want[uri] = get(api, uri)
			}
			dir := t.TempDir()
			recordHAR(t, api, "/profile", uris, dir)
			report := importHAR(t, dir)
			if strings.Contains(report, "does not know the parameter") {
				t.Error(report)
			}
			settings := string(servertest.Read(t, filepath.Join(dir, "pickup.json")))
			if strings.Contains(settings, `"id-field": "_id"`) != (id == "_id") {
				t.Errorf("the settings are %s", settings)
			}
			server, err := servertest.Launch("pickup", dir, openServerEnv)
			if err != nil {
				t.Fatal(err)
			}
			defer server.Kill()
			for _, uri := range uris {
				if got := get(server.URL, uri); got != want[uri] {
					t.Errorf("%s: %s\nwant %s\n%s", uri, got, want[uri], report)
				}
			}
		})
	}
}

// recordHAR opens a front end of an API in Chromium, which requests uris, and writes the requests
// as the network tab exports them to app.har in dir.
func recordHAR(t *testing.T, api, page string, uris []string, dir string) []byte {
	t.Helper()
	ctx := browser(t)
	type exchange struct {
		request *network.EventRequestWillBeSent
		answer  *network.Response
	}
	var mu sync.Mutex
	all := make(map[network.RequestID]*exchange)
	var order []network.RequestID
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, func(ev any) {
		mu.Lock()
		defer mu.Unlock()
		switch ev := ev.(type) {
		case *network.EventRequestWillBeSent:
			all[ev.RequestID] = &exchange{request: ev}
			order = append(order, ev.RequestID)
		case *network.EventResponseReceived:
			if x := all[ev.RequestID]; x != nil {
				x.answer = ev.Response
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	list, err := json.Marshal(uris)
	if err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(ctx, chromedp.Navigate(api+page)); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[string](`(async () => { for (const uri of `+string(list)+`) await (await fetch(uri)).text();
		await (await fetch("/v1/posts", { method: "POST", body: "{}" })).text(); return "done" })()`, chromedp.EvalAwaitPromise)); err != nil {
		t.Fatal(err)
	}
	mu.Lock() // not during the calls below: events wait for mu, and calls wait for events
	ids, answered := slices.Clone(order), make(map[network.RequestID]exchange)
	for id, x := range all {
		answered[id] = *x
	}
	mu.Unlock()
	var entries []any
	for _, id := range ids {
		x := answered[id]
		if x.answer == nil || strings.HasSuffix(x.request.Request.URL, "favicon.ico") {
			continue
		}
		content := map[string]any{"mimeType": x.answer.MimeType}
		body, err := chromedp.Call(ctx, network.GetResponseBody, network.GetResponseBodyParams{RequestID: id})
		if err == nil {
			content["text"] = string(body.Body)
		}
		entries = append(entries, map[string]any{
			"startedDateTime": time.UnixMicro(int64(float64(x.request.WallTime) * 1e6)).UTC().Format("2006-01-02T15:04:05.000000Z"),
			"request":         map[string]any{"method": x.request.Request.Method, "url": x.request.Request.URL, "headers": x.request.Request.Headers},
			"response":        map[string]any{"status": x.answer.Status, "headers": x.answer.Headers, "content": content},
		})
	}
	text, err := json.MarshalIndent(map[string]any{"log": map[string]any{"version": "1.2", "creator": map[string]any{"name": "WebInspector"}, "entries": entries}}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "app.har"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	return text
}
