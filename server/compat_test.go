package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pickup/internal/database"
	"pickup/internal/storage/storetest"
	"pickup/server"
)

// A compatCase is a request, and what one version of json-server answered.
type compatCase struct {
	ID, Version, DB string
	Request         struct {
		Method, Path string
		Headers      map[string]string
		Body         *string
	}
	Status  int
	Headers map[string]string
	Body    any
}

// A compatAnswer is what we answer.
type compatAnswer struct {
	status int
	header http.Header
	body   string
	stored string // after a write: what a GET of the record answers
}

// TestCompat replays what both versions of json-server were asked. They
// contradict each other, so the measure is their union: our answer has to be
// that of the version whose dialect the request speaks, or to stand in
// compatDifferences with the reason.
func TestCompat(t *testing.T) {
	cases, order := compatCases(t)
	listed := make(map[string]string)
	for _, d := range compatDifferences {
		for id := range strings.FieldsSeq(d.cases) {
			if listed[id] != "" {
				t.Errorf("%s is listed twice", id)
			}
			listed[id] = d.here
		}
	}
	type count struct{ same, different, failing int }
	reads, others := new(count), new(count)
	headers := 0
	for _, id := range order {
		c := cases[id]
		ours := replay(t, c[0])
		n := others
		if slices.ContainsFunc(c, func(c compatCase) bool { return c.Request.Method == "GET" && c.Status == 200 }) {
			n = reads
		}
		reason, isListed := listed[id]
		delete(listed, id)
		agrees := false
		for _, theirs := range c {
			if dialect := speaks(theirs); dialect != "" && dialect != theirs.Version[:1] || !ours.like(theirs) {
				continue
			}
			agrees = true
			if theirs.Version[:1] == "0" && n == reads {
				headers += compareHeaders(t, ours, theirs)
			}
		}
		switch {
		case agrees && isListed:
			t.Errorf("%s is the same, but is listed as different: %s", id, reason)
		case agrees:
			n.same++
		case isListed:
			n.different++
		default:
			n.failing++
			path, _ := url.PathUnescape(c[0].Request.Path)
			t.Errorf("%s: %s %s of %s\n  ours      %d %s %s", id, c[0].Request.Method, path, c[0].DB, ours.status, ours.body, ours.stored)
			for _, c := range c {
				b, _ := json.Marshal(c.Body)
				t.Logf("  %-9.9s %d %.300s", c.Version, c.Status, b)
			}
		}
	}
	for id := range listed {
		t.Errorf("%s is listed as different, but there is no such case", id)
	}
	t.Logf("lists and records: %d the same, %d different on purpose, %d failing", reads.same, reads.different, reads.failing)
	t.Logf("writes and errors: %d the same, %d different on purpose, %d failing", others.same, others.different, others.failing)
	t.Logf("%d headers of version 0.17 compared", headers)
	if 4*reads.same < 3*(reads.same+reads.different+reads.failing) {
		t.Errorf("less than three quarters of all lists and records are the same")
	}
	figures := fmt.Sprintf("Of %d lists and records %d are the same", reads.same+reads.different+reads.failing, reads.same)
	if !strings.Contains(string(readFile(t, "../README.md")), figures) {
		t.Errorf("the README does not say: %s", figures)
	}
	if headers < 25 {
		t.Errorf("only %d headers compared", headers)
	}
}

// compatCases returns the cases by their id, and the ids in order.
func compatCases(t *testing.T) (cases map[string][]compatCase, order []string) {
	f, err := os.Open("testdata/compat/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cases = make(map[string][]compatCase)
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c compatCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if cases[c.ID] == nil {
			order = append(order, c.ID)
		}
		cases[c.ID] = append(cases[c.ID], c)
	}
	if len(order) != 251 {
		t.Fatalf("%d cases", len(order))
	}
	return cases, order
}

// speaks returns the version whose dialect a request speaks, "" where it is
// both, or neither.
func speaks(c compatCase) string {
	_, query, _ := strings.Cut(c.Request.Path, "?")
	query, _ = url.QueryUnescape(query)
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(query, part) })
	}
	v0 := has("_order=", "_limit=", "_start=", "_end=", "_expand=", "_like=") || strings.HasPrefix(query, "q=")
	v1 := strings.HasPrefix(c.ID, "op:") || has("_where=", "_per_page=", "_sort=-")
	switch {
	case v0 && !v1:
		return "0"
	case v1 && !v0:
		return "1"
	}
	return ""
}

// replay sends a request to a server with a fresh copy of the case's database.
func replay(t *testing.T, c compatCase) *compatAnswer {
	db, err := database.Open(t.Context(), storetest.NewMemStore(readFile(t, "testdata/compat/dbs/"+c.DB+".json")), database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server.Handler(db, server.Options{CORSOrigins: []string{"*"}}))
	defer web.Close()
	var body io.Reader
	if c.Request.Body != nil {
		body = strings.NewReader(*c.Request.Body)
	}
	send := func(method, path string, body io.Reader, header map[string]string) (*http.Response, string) {
		r, err := http.NewRequest(method, web.URL, body)
		if err != nil {
			t.Fatal(err)
		}
		// As it was sent, also what no client would send.
		r.URL.Opaque = "//localhost:3000" + path
		for name, value := range header {
			if name == "Host" {
				r.Host = value
			}
			r.Header.Set(name, value)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response, string(text)
	}
	response, text := send(c.Request.Method, c.Request.Path, body, c.Request.Headers)
	a := &compatAnswer{status: response.StatusCode, header: response.Header, body: text}
	path := c.Request.Path
	switch {
	case c.Request.Method == "POST":
		path = response.Header.Get("Location")
	case c.Request.Method != "PUT" && c.Request.Method != "PATCH":
		path = ""
	}
	if a.status < 300 && path != "" {
		_, a.stored = send("GET", path, nil, nil)
	}
	return a
}

// like reports whether our answer is theirs: the status, and the body unless
// it tells of an error. A write is judged by the record that is stored.
func (a *compatAnswer) like(theirs compatCase) bool {
	if a.status != theirs.Status || a.status == 304 {
		return a.status == theirs.Status
	}
	if a.status >= 400 || theirs.Request.Method == "HEAD" || theirs.Request.Method == "OPTIONS" {
		return true
	}
	asText := theirs.Version[:1] == "1"
	b, err := json.Marshal(theirs.Body)
	if err != nil {
		return false
	}
	want := comparable(string(b), asText)
	return alike(comparable(a.body, asText), want) && (a.stored == "" || alike(comparable(a.stored, asText), want))
}

// comparable decodes JSON so that numbers are equal by value. Version 1 shows
// numeric ids as strings, so with idsAsText these are equal too.
func comparable(s string, idsAsText bool) any {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return s
	}
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case map[string]any:
			if n, ok := v["id"].(json.Number); ok && idsAsText {
				v["id"] = n.String()
			}
			for name := range v {
				v[name] = walk(v[name])
			}
		case json.Number:
			if r, ok := new(big.Rat).SetString(v.String()); ok {
				return "number " + r.RatString()
			}
		}
		return v
	}
	return walk(v)
}

var anyID = regexp.MustCompile(`^<ANY \d+ chars `)

// alike compares decoded JSON. A made id is like every made id.
func alike(ours, theirs any) bool {
	if o, ok := ours.(map[string]any); ok {
		if w, ok := theirs.(map[string]any); ok {
			if id, _ := w["id"].(string); anyID.MatchString(id) && o["id"] != nil {
				w = map[string]any{}
				for name, v := range theirs.(map[string]any) {
					w[name] = v
				}
				w["id"] = o["id"]
				theirs = w
			}
		}
	}
	return reflect.DeepEqual(ours, theirs)
}

// compareHeaders holds X-Total-Count and Link against those of version 0.17
// and returns how many there were.
func compareHeaders(t *testing.T, ours *compatAnswer, theirs compatCase) (n int) {
	for _, name := range []string{"X-Total-Count", "Link"} {
		want, ok := theirs.Headers[strings.ToLower(name)]
		// Links of 0.17 have a repeated page twice, and a negative one at all.
		if !ok || theirs.ID == "page.repeat" || theirs.ID == "page.neg" {
			continue
		}
		n++
		if got := ours.header.Get(name); sortedLinks(got) != sortedLinks(want) {
			t.Errorf("%s: %s is %s\nand not %s", theirs.ID, name, got, want)
		}
	}
	return n
}

func sortedLinks(s string) string {
	links := strings.Split(s, ", ")
	slices.Sort(links)
	return strings.Join(links, ", ")
}

// compatDifferences are the cases in which we differ on purpose. The reasons
// stand in the README, for those who come from json-server.
var compatDifferences = []struct{ here, there, cases string }{
	// What is asked
	{"An operator that does not exist is 400, with those that do", "both ignore it and answer with the whole list", "op:.foo op:.empty op:.prefix-op"},
	{"A `_parameter` that does not exist is 400, with the nearest that does", "both ignore it", "opt.delay op:.proto"},
	{"A value of ours that cannot be read is 400: a pattern, `_limit` and the other numbers (but `_page`, which is 1 then, as there), an order, a `_where`", "both ignore it, find nothing, or answer 500 with a stack", "op_.like.bad-regex page.per-nan page.start-nan sort.bad-order where.invalid where.string"},
	{"Null and missing match only `exists=false` and `=null`", "v1 takes null for 0", "op:.lte op:.gt.null"},
	{"`ne` excludes null and missing, as in 0.17", "v1 includes them", "op:.ne op:.ne.missing"},
	{"A filter on a missing parent object matches nothing", "v1 lets such records pass", "op:.contains.nested op:.nested-missing rel.embed.filter"},
	{"All filters hold together, beside `_where` too, and so do repeats of one", "v1 forgets all but one", "op:.same-op-twice where.overrides"},
	{"`contains` looks into arrays", "v1 finds nothing", "op:.contains.array"},
	{"Ids are compared as text, so that `id:in=1,2` finds `\"1\"`", "v1 finds only what is spelled alike", "op:.in.ids-str rel.embed.parent.item.blogn"},
	{"A member whose name has a dot wins over a path, as in 0.17", "v1 reads a path", "op:.dotted-key"},
	{"`author[name]` is a path", "0.17 finds nothing, v1 answers 500", "filter.bracket"},
	{"`_where` knows `and`, `or`, `not`, paths, `like` and null", "v1 knows `or`; what it does not know matches nothing, or all", "where.and where.not where.dotted where.unknown-op where.null-value"},
	{"Numbers are compared exactly", "both lose digits", "num.filter-big"},
	{"`q` finds false and 0 too", "0.17 overlooks them", "q.bool"},
	{"False sorts before true, as in 0.17", "v1 has true first", "sort.multi-minus"},
	{"`_start` alone begins there", "0.17 ignores it", "page.start-only"},
	{"A reference that leads nowhere adds nothing", "0.17 answers 500 for a null key", "rel.expand.blog"},
	{"`_embed` takes a list, as `_sort` does", "both look for a collection with a comma in its name", "rel.embed.comma"},
	{"`If-None-Match` is answered with 304, whatever `Cache-Control` says beside it", "0.17 makes an exception for `no-cache`; v1 has no tags", "cond.inm.no-cache"},
	{"`GET /` is a list of what there is, as JSON", "both show a page of HTML", "route.home"},
	// What is written
	{"A body that is missing or no JSON stores nothing", "both take a missing one for `{}`", "post.no-body put.no-body put.singular.no-body patch.no-body patch.singular.no-body"},
	{"A body that is said to be no JSON is 415", "0.17 stores an empty record, or the form; v1 reads it as JSON", "post.text-ctype post.urlencoded"},
	{"Numbers are stored as they are spelled", "both lose digits and store null for 1e400", "post.precision"},
	{"The id that a body brings is taken, or 409 if another record has it", "0.17 answers 500, v1 makes another id", "post.id-num-vs-str"},
	{"A write to a collection without an id is 400 and says how", "both answer 404", "patch.list delete.list"},
	{"A method that a resource does not have is 405, with those that it has", "both answer 404, or 0.17 stores", "post.db post.root put.root put.nested delete.nested method.PROPFIND.item post.content-length-zero"},
	{"`OPTIONS` of what is not there is 404", "both answer 204", "method.OPTIONS.unknown"},
	{"`X-HTTP-Method-Override` says nothing: a POST is a POST", "0.17 obeys it", "post.override"},
	{"The body of a DELETE says nothing", "both want it to be JSON", "delete.body"},
	{"`_dependent` names collections that there are, else nothing is deleted", "both ignore a name that is none", "delete.clean.dependent-two.blogc"},
}
