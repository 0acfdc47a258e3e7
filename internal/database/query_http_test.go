package database_test

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pickup/internal/database"
	"pickup/internal/storage/storetest"
	"pickup/server"
)

// A webList asks a server for lists and compares the answers, headers included,
// with those of the naive evaluator.
type webList struct {
	handler http.Handler
	n       naive
}

// send serves a request in the wire format. It returns nil if net/http cannot
// parse it.
func (l webList) send(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	raw := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n", method, target, len(body))
	if body != "" {
		raw += "Content-Type: application/json\r\n"
	}
	for _, h := range headers {
		raw += h + "\r\n"
	}
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw + "\r\n" + body)))
	if err != nil {
		return nil
	}
	w := httptest.NewRecorder()
	l.handler.ServeHTTP(w, r)
	for name, values := range w.Header() { // as a client reads them
		w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	return w
}

// decoded returns decoded JSON with the spelling of its numbers.
func decoded(t *testing.T, text string) any {
	t.Helper()
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// rows returns the records of an answer.
func rows(body any) []any {
	if envelope, ok := body.(map[string]any); ok {
		body = envelope["data"]
	}
	return body.([]any)
}

// isPaged reports whether a query has parameters of pagination.
func isPaged(query string) bool {
	for part := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		name, _ = url.QueryUnescape(name)
		switch name {
		case "_page", "_limit", "_start", "_end":
			if value != "" {
				return true
			}
		}
	}
	return false
}

// unpaged returns a query without the parameters of pagination.
func unpaged(query string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(query, "&"), isPaged), "&")
}

// check requests the list at a path, by GET, or by QUERY with a condition in the
// body. If want is not nil, it is the list without pagination.
func (l webList) check(t *testing.T, path, query, condition string, want []any) {
	t.Helper()
	method := "GET"
	if condition != "" {
		method = "QUERY"
	}
	w := l.send(method, path+"?"+query, condition)
	all := l.send(method, path+"?"+unpaged(query), condition)
	if w == nil || all == nil || want == nil && w.Code == 400 {
		return
	}
	request := fmt.Sprintf("%s %s?%s %s", method, path, query, condition)
	if w.Code != 200 || all.Code != 200 {
		t.Fatalf("%s: %d %s", request, w.Code, w.Body)
	}
	list := rows(decoded(t, all.Body.String()))
	if want != nil && !reflect.DeepEqual(list, want) {
		b, _ := json.Marshal(want)
		t.Fatalf("%s\n got %s\nwant %s", request, all.Body, b)
	}
	got := decoded(t, w.Body.String())
	h := w.Header()
	tag := h.Get("ETag")
	if same := l.send(method, path+"?"+query, condition, "If-None-Match: "+tag); same.Code != 304 || same.Body.Len() > 0 || same.Header().Get("ETag") != tag {
		t.Fatalf("%s: with its own tag %d %s", request, same.Code, same.Body)
	}
	if method == "GET" {
		head := l.send("HEAD", path+"?"+query, "")
		h.Set("Content-Length", strconv.Itoa(w.Body.Len())) // net/http counts it
		for _, name := range []string{"Content-Type", "Content-Length", "X-Total-Count", "Content-Range", "Link", "Vary", "Cache-Control"} {
			if head.Code != 200 || head.Header().Get(name) != h.Get(name) || head.Header().Get("ETag") != tag {
				t.Fatalf("%s: HEAD has %s %q, GET %q", request, name, head.Header().Get(name), h.Get(name))
			}
		}
	}
	table := l.send(method, path+"?"+query, condition, "Accept: text/csv")
	lines, err := csv.NewReader(table.Body).ReadAll()
	if n := len(rows(got)); table.Code != 200 || err != nil || len(lines) != min(n, 1)+n || table.Header().Get("ETag") == tag {
		t.Fatalf("%s: a table of %d lines for %d records, %v", request, len(lines), n, err)
	}
	if !isPaged(query) {
		if h.Get("X-Total-Count")+h.Get("Link")+h.Get("Content-Range") != "" {
			t.Fatalf("%s: is not a page, but has %v", request, h)
		}
		return
	}
	l.checkPaged(t, request, rows(got), len(list), h)
	l.checkLinks(t, request, h.Get("Link"), list)
}

// checkPaged checks the headers of a page.
func (l webList) checkPaged(t *testing.T, request string, page []any, total int, h http.Header) {
	t.Helper()
	var from, to, of int
	part := h.Get("Content-Range")
	n, err := fmt.Sscanf(part, "c %d-%d/%d", &from, &to, &of)
	empty := part == fmt.Sprintf("c */%d", total)
	if h.Get("X-Total-Count") != strconv.Itoa(total) || len(page) == 0 && !empty ||
		len(page) > 0 && (n != 3 || err != nil || of != total || to-from+1 != len(page) || to >= total) {
		t.Fatalf("%s: %d of %d, but X-Total-Count is %q and Content-Range %q", request, len(page), total, h.Get("X-Total-Count"), part)
	}
}

var linkTo = regexp.MustCompile(`<http://localhost([^>]*)>; rel="(\w+)"`)

// checkLinks follows the links from the first page with GET. All pages together
// are the list.
func (l webList) checkLinks(t *testing.T, request, links string, list []any) {
	t.Helper()
	to := func(links string) map[string]string {
		byRel := make(map[string]string)
		for _, m := range linkTo.FindAllStringSubmatch(links, -1) {
			byRel[m[2]] = m[1]
		}
		return byRel
	}
	at := to(links)["first"]
	if at == "" {
		return
	}
	var whole []any
	for pages := 0; at != ""; pages++ {
		w := l.send("GET", at, "")
		if w == nil || w.Code != 200 || pages > 100 {
			t.Fatalf("%s: page %d at %q of the links %q", request, pages, at, links)
		}
		whole = append(whole, rows(decoded(t, w.Body.String()))...)
		next := to(w.Header().Get("Link"))
		if at = next["next"]; at == "" && len(next) > 0 && next["last"] == "" {
			t.Fatalf("%s: page %d has no last", request, pages)
		}
	}
	if len(list) != len(whole) || len(list) > 0 && !reflect.DeepEqual(whole, list) {
		b, _ := json.Marshal(whole)
		t.Fatalf("%s: all pages together are %s", request, b)
	}
}

// ofParent selects the records that refer to the record of dogs with that id.
func ofParent(id string) func(any) bool {
	return func(r any) bool {
		m, _ := r.(map[string]any)
		return fmt.Sprint(m["dogId"]) == id
	}
}

// everything selects all records.
func everything(any) bool { return true }

// FuzzList requests lists with any query. Filters, conditions, order and pages
// agree with each other, or the answer is a 400.
func FuzzList(f *testing.F) {
	for _, seed := range [][2]string{
		{"", ""},
		{"n=100&s_like=x", ""},
		{"_sort=-n,s&_order=asc,desc&_page=2&_per_page=3", ""},
		{"_start=-3&_end=9", `{"n":{"gt":1}}`},
		{"_where=%7B%22or%22:[%7B%22n%22:100%7D,%7B%22not%22:%7B%22o%22:%7B%22p%22:1%7D%7D%7D]%7D&_limit=2", ""},
		{"_page=2&_limit=3&_sort=id", `{"b":null}`},
		{"_limit=2&_limit=3&%5flimit=4", ""},
		{"t%3Acontains=go&q=+&_start=1&_limit=1", ""},
		{"_embed=dog&dog.name=one&_fields=dog.id,id&_page=1", ""},
		{"a;b=1&_page=x", "[]"},
	} {
		f.Add(seed[0], seed[1])
	}
	db, err := database.Open(f.Context(), storetest.NewMemStore([]byte(queryWorld)), database.Options{})
	if err != nil {
		f.Fatal(err)
	}
	l := webList{handler: server.Handler(db, server.Options{})}
	f.Fuzz(func(t *testing.T, query, condition string) {
		if _, where := decodedObject(condition); !where {
			condition = ""
		}
		l.check(t, "/c", query, condition, nil)
		l.check(t, "/dogs/1/c", query, condition, nil)
	})
}

// decodedObject decodes a text and reports whether it is a JSON object.
func decodedObject(text string) (v map[string]any, ok bool) {
	return v, json.Unmarshal([]byte(text), &v) == nil && v != nil
}

// TestListRandom sends random queries while the records change. An earlier answer
// gets a 304 only while it is the same.
func TestListRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	db := openMem(t, queryWorld)
	l := webList{server.Handler(db, server.Options{}), newNaive(t, queryWorld)}
	type answered struct{ target, tag, body string }
	var before []answered
	for step := range times(500, 5_000) {
		q, condition := randomNaive(rnd, members, func() string { return randomValue(rnd) }), pick(rnd, "", "", "{}")
		query := q.String() + pick(rnd, "", "&_page=2&_per_page=3", "&_page=1", "&_page=3&_limit=2", "&_start=2&_end=7", "&_start=-3&_limit=2")
		if id := pick(rnd, "", "", "", "1", "2"); id != "" {
			l.check(t, "/dogs/"+id+"/c", query, condition, l.n.answer("c", q, ofParent(id)))
		} else {
			l.check(t, "/c", query, condition, l.n.answer("c", q, everything))
		}
		target := pick(rnd, "/c?", "/c/2?", "/dogs?", "/dogs/1?", "/dogs/1/c?", "/db?") +
			pick(rnd, "", "_embed=dog", "_embed=c", "_expand=dog&_sort=n", "_fields=id,n", "n_gt=1", "_page=1&_limit=3")
		if w := l.send("GET", target, ""); w.Code == 200 {
			before = append(before, answered{target, w.Header().Get("ETag"), w.Body.String()})
		}
		if step%5 > 0 {
			continue
		}
		write := pick(rnd, "c", "dogs", "other")
		body := fmt.Sprintf(`{"n":%d,"dogId":"%d","cId":%d}`, rnd.IntN(200), rnd.IntN(3), rnd.IntN(3))
		switch id := strconv.Itoa(1 + rnd.IntN(6)); {
		case write == "other":
			l.send("PATCH", "/other", body)
		case rnd.IntN(3) == 0:
			l.send("POST", "/"+write, body)
		case write == "c" && rnd.IntN(4) == 0:
			l.send("DELETE", "/"+write+"/"+id, "")
		default:
			l.send("PATCH", "/"+write+"/"+id, body)
		}
		l.n = newNaive(t, whole(db.Snapshot()))
		for _, a := range before {
			then := l.send("GET", a.target, "", "If-None-Match: "+a.tag)
			now := l.send("GET", a.target, "")
			body, _ := io.ReadAll(now.Body)
			if then.Code == 304 && string(body) != a.body {
				t.Fatalf("%s has changed after a write of %s, but gets a 304:\n%s\n%s", a.target, write, a.body, body)
			}
			if tag := now.Header().Get("ETag"); tag == a.tag && string(body) != a.body {
				t.Fatalf("%s has the tag of another answer", a.target)
			}
		}
		before = before[max(0, len(before)-10):]
	}
}
