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

// A compatCase is a request and the answer of one version of json-server.
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

// A compatAnswer is pickup's answer.
type compatAnswer struct {
	status int
	header http.Header
	body   string
	stored string // after a write: what a GET of the record answers
}

// TestCompat replays recorded requests to both versions of json-server. The
// versions contradict each other, so our answer must equal that of the version
// whose dialect the request uses, or be a listed difference.
func TestCompat(t *testing.T) {
	cases, order := compatCases(t)
	listed := make(map[string]string)
	for _, d := range compatDifferences(t) {
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
	if !strings.Contains(string(readFile(t, compatReadme)), figures) {
		t.Errorf("%s does not say: %s", compatReadme, figures)
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

// speaks returns the version whose dialect a request uses, or "" if it is valid in
// both or in neither.
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
		// Exactly as recorded: net/http would not send some of these.
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

// like reports whether our answer equals theirs: the status and, unless it is an
// error, the body. Writes are compared by the record that is stored.
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

// alike compares decoded JSON. All generated ids are equal.
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

// compareHeaders compares X-Total-Count and Link with those of version 0.17 and
// returns the number of headers compared.
func compareHeaders(t *testing.T, ours *compatAnswer, theirs compatCase) (n int) {
	for _, name := range []string{"X-Total-Count", "Link"} {
		want, ok := theirs.Headers[strings.ToLower(name)]
		// Version 0.17 repeats a page in its links and has negative ones.
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

// A compatDifference is a deliberate difference: what pickup does, what
// json-server does, and the cases that show it. compatReadme has a row for each.
type compatDifference struct{ here, there, cases string }

const compatReadme = "testdata/compat/README.md"

// compatDifferences reads testdata/compat/differences.txt.
func compatDifferences(t *testing.T) (differences []compatDifference) {
	t.Helper()
	text := string(readFile(t, "testdata/compat/differences.txt"))
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		var d compatDifference
		for line := range strings.Lines(paragraph) {
			label, rest, _ := strings.Cut(line, ":")
			rest = strings.TrimSpace(rest)
			switch label {
			case "here":
				d.here = rest
			case "there":
				d.there = rest
			case "cases":
				d.cases = rest
			}
		}
		if d.here == "" || d.there == "" || d.cases == "" {
			t.Fatalf("differences.txt: a field is missing in\n%s", paragraph)
		}
		differences = append(differences, d)
	}
	return differences
}
