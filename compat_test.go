package pickup_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup"
)

// A compatCase is a request and what one of the two json-servers answered.
type compatCase struct {
	ID, Version, DB string
	Request         struct {
		Method, Path string
		Headers      map[string]string
	}
	Status int
	Body   any
}

// TestCompat asks the engine what both json-servers were asked: the GET
// requests that both answered with 200, for lists, records and the children of
// a record. The two contradict each other, so the answer has to be that of the
// one whose dialect the request speaks, or stand in the list of differences.
func TestCompat(t *testing.T) {
	answers := make(map[string]map[string]compatCase) // by id and the first letter of the version
	var order []string
	f, err := os.Open("testdata/compat/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c compatCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if c.Request.Method != "GET" || c.Status != 200 {
			continue
		}
		if answers[c.ID] == nil {
			answers[c.ID] = make(map[string]compatCase)
			order = append(order, c.ID)
		}
		answers[c.ID][c.Version[:1]] = c
	}
	if len(order) < 150 {
		t.Fatalf("%d cases", len(order))
	}
	seen := make(map[string]bool)
	same, different, elsewhere := 0, 0, 0
	for _, id := range order {
		var c compatCase
		for _, c = range answers[id] {
			break
		}
		body, ok := compatAnswer(t, c)
		if !ok {
			elsewhere++
			continue
		}
		agrees := false
		for version, c := range answers[id] {
			if speaks(c) == "" || speaks(c) == version {
				agrees = agrees || sameBody(body, c.Body)
			}
		}
		reason, listed := compatDifferences[id]
		seen[id] = true
		switch {
		case agrees && listed:
			t.Errorf("%s is the same, but is listed as different: %s", id, reason)
		case agrees:
			same++
		case listed:
			different++
		default:
			path, _ := url.PathUnescape(c.Request.Path)
			t.Errorf("%s: GET %s of %s: %s", id, path, c.DB, body)
			for version, c := range answers[id] {
				b, _ := json.Marshal(c.Body)
				t.Logf("  %s answers %s", version, b)
			}
		}
	}
	for id := range compatDifferences {
		if !seen[id] {
			t.Errorf("%s is listed as different, but was not asked", id)
		}
	}
	t.Logf("%d the same, %d different on purpose, %d not for the engine", same, different, elsewhere)
	if 4*same < 3*(same+different) {
		t.Errorf("only %d of %d are the same", same, same+different)
	}
}

// speaks returns the version whose dialect a request speaks, or "" where it is
// both, or neither.
func speaks(c compatCase) string {
	_, query, _ := strings.Cut(c.Request.Path, "?")
	query, _ = url.QueryUnescape(query)
	v0 := strings.Contains(query, "_order=") || strings.Contains(query, "_limit=") || strings.Contains(query, "_start=") ||
		strings.Contains(query, "_end=") || strings.Contains(query, "_expand=") || strings.Contains(query, "_like=") || strings.Contains(query, "q=")
	v1 := strings.Contains(c.ID, "op:") || strings.Contains(query, "_where=") || strings.Contains(query, "_per_page=") || strings.Contains(query, "_sort=-")
	switch {
	case v0 && !v1:
		return "0"
	case v1 && !v0:
		return "1"
	}
	return ""
}

// compatAnswer answers a request as a server would, errors as "error: …". It
// reports false for one that is not for the engine.
func compatAnswer(t *testing.T, c compatCase) (string, bool) {
	path, query, _ := strings.Cut(c.Request.Path, "?")
	data, err := os.ReadFile("testdata/compat/dbs/" + c.DB + ".json")
	if err != nil {
		t.Fatal(err)
	}
	s := openMem(t, string(data)).Snapshot()
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i := range segments {
		if segments[i], err = url.PathUnescape(segments[i]); err != nil {
			return "", false
		}
	}
	collection := segments[len(segments)-1]
	if len(segments) == 2 {
		collection = segments[0]
	}
	if kind, ok := s.Kind(collection); !ok || kind != pickup.Array {
		return "", false
	}
	q, err := s.ParseQuery(collection, query)
	if err != nil {
		return refused(t, err)
	}
	var body []byte
	if len(segments) == 2 {
		var r *pickup.Record
		if r, err = s.Get(collection, segments[1]); err == nil {
			body, err = s.AppendRecord(nil, q, r)
		}
	} else {
		if len(segments) == 3 {
			q = s.Under(q, segments[0], segments[1])
		}
		var r *pickup.Result
		if r, err = s.Run(q); err == nil {
			body, err = r.AppendJSON(nil)
		}
	}
	if err != nil {
		return refused(t, err)
	}
	if v := jsontext.Value(body); !v.IsValid() {
		t.Errorf("%s: the answer is not JSON: %s", c.ID, body)
	}
	return string(body), true
}

func refused(t *testing.T, err error) (string, bool) {
	var qe *pickup.QueryError
	if !errors.As(err, &qe) {
		t.Error(err)
	}
	return "error: " + err.Error(), true
}

// sameBody compares JSON by value. Version 1 shows numeric ids as strings,
// which ours stay numbers, so ids are compared as text.
func sameBody(ours string, theirs any) bool {
	if strings.HasPrefix(ours, "error: ") {
		return false
	}
	decode := func(b []byte) (v any) {
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		if d.Decode(&v) != nil {
			return nil
		}
		return idsAsText(v)
	}
	b, err := json.Marshal(theirs)
	return err == nil && reflect.DeepEqual(decode([]byte(ours)), decode(b))
}

func idsAsText(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = idsAsText(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = idsAsText(v[name])
		}
		if n, ok := v["id"].(json.Number); ok {
			v["id"] = n.String()
		}
	}
	return v
}

// compatDifferences are the cases in which we differ on purpose, with the
// sentence of the contract that this rests on, or the fault that it avoids.
var compatDifferences = map[string]string{
	"op_.eq":                      `eq is an operator in both spellings; version 0.17 ignores it and answers with the whole list`,
	"op_.like.bad-regex":          `"Any other value that cannot be read is 400": version 0.17 answers 500 with a stack`,
	"op:.lte":                     `"Null and missing match only f:exists=false and f=null": version 1 takes null for 0`,
	"op:.gt.null":                 `"Null and missing match only f:exists=false and f=null": version 1 takes null for 0`,
	"op:.ne":                      `"ne excludes null and missing", as in version 0.17`,
	"op:.ne.missing":              `"ne excludes null and missing"`,
	"op:.same-op-twice":           `"Repeats of others are AND": version 1 forgets the first`,
	"op:.foo":                     `"An :op that does not exist is 400": both ignore it and answer with the whole list`,
	"op:.empty":                   `"An :op that does not exist is 400": both ignore it and answer with the whole list`,
	"op:.prefix-op":               `"An :op that does not exist is 400": both ignore it and answer with the whole list`,
	"op:.in.ids-str":              `"Ids compare as text": version 1 finds no id that is a string of digits`,
	"op:.contains.nested":         `a filter on a missing parent object matches nothing: version 1 lets such records pass`,
	"op:.nested-missing":          `a filter on a missing parent object matches nothing: version 1 lets such records pass`,
	"op:.contains.array":          `"tags:contains=v" looks into an array`,
	"op:.proto":                   `"A _parameter that does not exist is 400"`,
	"op:.dotted-key":              `"A member name that occurs in the collection wins over reading it as a path", as in version 0.17`,
	"where.invalid":               `"_where that is no JSON is 400"`,
	"where.string":                `"Any other value that cannot be read is 400"`,
	"where.overrides":             `filters hold together: version 1 forgets those beside _where`,
	"where.and":                   `"Nested and, or, not": version 1 knows or alone`,
	"where.not":                   `"Nested and, or, not": version 1 knows or alone`,
	"where.dotted":                `"Paths into objects", in _where as everywhere`,
	"where.unknown-op":            `like is an operator: version 1 ignores it and answers with the whole list`,
	"where.null-value":            `a value behind a member is eq: version 1 matches nothing, whatever the value`,
	"q.bool":                      `"Substring of any value": version 0.17 overlooks false and 0`,
	"sort.multi-minus":            `false before true, as in version 0.17; version 1 has true first`,
	"sort.bad-order":              `"An unknown _order is 400"`,
	"page.per-nan":                `"Any other value that cannot be read is 400"`,
	"page.start-nan":              `"Any other value that cannot be read is 400"`,
	"page.start-only":             `_start alone begins there: version 0.17 ignores it and answers with the whole list`,
	"rel.expand.blog":             `"A dangling reference adds nothing and fails nothing": version 0.17 answers 500 for a null key`,
	"rel.embed.parent.item.blogn": `"Text comparison of keys": version 1 does not find the number 1 among its own ids`,
	"rel.embed.comma":             `_embed takes a list as _sort and _fields do: both look for a collection with a comma in its name`,
	"rel.embed.filter":            `a filter on a missing parent object matches nothing: version 1 lets such records pass. The others are the same`,
	"num.filter-big":              `"Numbers compare by value", exactly: both lose digits`,
	"opt.delay":                   `"A _parameter that does not exist is 400"`,
	"filter.bracket":              `"Paths into objects and arrays": version 0.17 ignores what is in brackets, version 1 answers 500`,
}
