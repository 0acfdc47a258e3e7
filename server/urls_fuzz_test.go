package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"pickup"
	"pickup/server"
)

const fuzzed = `{"posts":[
	{"id":1,"title":"One","views":100,"tags":["a","b"],"author":{"name":"Ann"},"_limt":1},
	{"id":"2","title":"two","views":1e2,"tags":[],"author":null,"a.b":"x","x_gte":3},
	{"id":3,"views":"100","ok":true,"deep":[{"a":[{"b":null}]}]},
	{"title":"no id"},"no record",null,[1,2]],
	"comments":[{"id":1,"postId":1},{"id":2,"postId":"2"},{"id":3,"postId":null}],
	"profile":{"name":"x","postId":1},"n":7}`

// FuzzURL asks whatever: no URL is answered with anything but 200, 304, 400,
// 404 and 414, in reasonable time, and what is JSON is valid.
func FuzzURL(f *testing.F) {
	for _, target := range []string{
		"/posts?title=One", "/posts?views_gte=1e2&_sort=-views,title&_page=1&_per_page=2", "/posts?_where={\"or\":[{\"views\":{\"gt\":1}}]}",
		"/posts/1?_embed=comments.post&_fields=comments.post.id", "/comments?_expand=post", "/posts/1/comments?q=1&_limit=1", "/posts?tags[0]=a&deep[0].a[0].b:exists=false",
		"/posts?id:in=1,2&title_like=(o|t)+", "/posts?_start=-2&_end=-1", "/profile?_expand=post", "/db?x", "/?_page=-1", "/posts?a.b=x&x_gte=3&_limt=1", "/_/readyz", "/posts/%2F?%zz", "/posts?_order=desc&_sort=",
	} {
		f.Add(target, true)
	}
	db, err := pickup.Open(f.Context(), pickup.NewMemStore([]byte(fuzzed)), pickup.Options{})
	if err != nil {
		f.Fatal(err)
	}
	handler := server.Handler(db, server.Options{})
	f.Fuzz(func(t *testing.T, target string, table bool) {
		u, err := url.ParseRequestURI(target)
		if err != nil || !strings.HasPrefix(target, "/") {
			return // it does not reach the server
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

// TestURLsAgainstModel asks a server for lists at random and compares with a
// plain evaluator, which reads the grammar's table over again: filters, sort
// and the page are what it says, and nothing else.
func TestURLsAgainstModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var records []map[string]any
	for i := range 60 {
		r := map[string]any{"id": strconv.Itoa(i)}
		for _, name := range []string{"n", "s", "b"} {
			switch v := rng.IntN(8); {
			case v == 0:
			case v == 1:
				r[name] = nil
			case name == "n":
				r[name] = float64(rng.IntN(6)) / 2
			case name == "s":
				r[name] = []string{"a", "B", "ab", "ba", "Abc", "é"}[rng.IntN(6)]
			default:
				r[name] = v > 4
			}
		}
		records = append(records, r)
	}
	contents, err := json.Marshal(map[string]any{"list": records})
	if err != nil {
		t.Fatal(err)
	}
	at := serve(t, string(contents))
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	for range 1500 {
		query := url.Values{}
		want := records
		for range rng.IntN(3) {
			name := pick("n", "s", "b")
			op := pick("", "ne", "lt", "lte", "gt", "gte", "contains", "startsWith", "endsWith", "exists")
			value := pick("0", "1", "1.50", "2", "a", "B", "ab", "true", "false", "null")
			if op == "exists" {
				value = pick("true", "false")
			}
			parameter := name
			if op != "" {
				parameter += pick(":", "_") + op
			}
			if query.Has(parameter) || query.Has(name+":"+op) || query.Has(name+"_"+op) {
				continue // repeats have rules of their own
			}
			query.Set(parameter, value)
			want = keep(want, func(r map[string]any) bool { return holds(r, name, op, value) })
		}
		total := len(want)
		if limit := rng.IntN(20); limit > 0 {
			start := rng.IntN(30)
			query.Set("_start", strconv.Itoa(start))
			query.Set("_limit", strconv.Itoa(limit))
			want = want[min(start, len(want)):]
			want = want[:min(limit, len(want))]
		}
		response, err := http.Get(at + "/list?" + query.Encode())
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		var got []map[string]any
		if err := json.Unmarshal(body, &got); err != nil || response.StatusCode != 200 {
			t.Fatalf("%s: %s %s", query.Encode(), response.Status, body)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) && len(got)+len(want) > 0 {
			t.Errorf("%s\n got %v\nwant %v", query.Encode(), got, want)
		}
		if count := response.Header.Get("X-Total-Count"); query.Has("_limit") && count != strconv.Itoa(total) {
			t.Errorf("%s: %s of %d", query.Encode(), count, total)
		}
	}
}

func keep(list []map[string]any, wanted func(map[string]any) bool) (kept []map[string]any) {
	for _, r := range list {
		if wanted(r) {
			kept = append(kept, r)
		}
	}
	return kept
}

// holds says whether a record fulfils one filter.
func holds(r map[string]any, name, op, value string) bool {
	v, has := r[name]
	if op == "exists" {
		return (has && v != nil) == (value == "true")
	}
	if !has || v == nil {
		return op == "" && has && value == "null"
	}
	text := fmt.Sprint(v)
	wanted, err := strconv.ParseFloat(value, 64)
	n, isNumber := v.(float64)
	equal := text == value
	if isNumber {
		equal = err == nil && n == wanted
	}
	_, isText := v.(string)
	lower, wantedLower := strings.ToLower(text), strings.ToLower(value)
	switch op {
	case "":
		return equal
	case "ne":
		return !equal
	case "contains":
		return isText && strings.Contains(lower, wantedLower)
	case "startsWith":
		return isText && strings.HasPrefix(lower, wantedLower)
	case "endsWith":
		return isText && strings.HasSuffix(lower, wantedLower)
	}
	c := 0
	switch {
	case isText:
		c = strings.Compare(text, value)
	case isNumber && err == nil && n < wanted:
		c = -1
	case isNumber && err == nil && n > wanted:
		c = 1
	case isNumber && err == nil:
	default:
		return false // booleans, and numbers with a text, have no order
	}
	return op == "lt" && c < 0 || op == "lte" && c <= 0 || op == "gt" && c > 0 || op == "gte" && c >= 0
}
