package database_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"pickup/internal/database"
	"pickup/internal/query"
	"pickup/internal/storage/storetest"
)

// queryWorld has difficult data for queries: numbers that are equal as floating
// point, values of every kind under one name, names that look like operators and
// paths, text beyond ASCII, escapes, nested arrays, elements that are not objects,
// duplicate ids, and references to missing records.
const queryWorld = `{
"c": [
	{"id":1,"n":9007199254740993,"s":"Straße K","t":["go","Rest",3,null],"o":{"p":1,"q":{"r":"x"}},
		"b":true,"z":null,"a.b":"dotted","first_gte":"g","d":"2026-03-01T10:00:00Z","dog":"a stray","dogId":"1"},
	{"id":"2","n":9007199254740992,"s":"STRASSE k","t":[],"o":{"p":1.0,"q":null},"b":false,"d":"2026-02-01","dogId":1},
	{"id":3,"n":1e400,"s":"ſ\u212a\"\\ x","t":"go","o":[{"p":"in"},[1]],"b":"true","_lead":"l","dogId":2},
	{"id":"4","n":"100","s":"\ud83d\ude00","t":[["go"],{"go":1}],"a":{"b":"nested"},"dogId":null},
	{"id":5,"n":100,"s":"\uffee","t":[1,2,100.0],"x:lang":"de","dogId":"99"},
	{"id":5,"n":1e2,"s":"","t":{"0":"go"},"b":null,"dogId":[1]},
	{"n":-0,"s":"a\u0000b","o":{"p":[5,6]},"and":1},
	{"id":"","n":-1.50,"s":"null","or":"1"},
	"text", 7, null, [1,{"id":1}], {},
	{"id":"x y","n":0.1,"s":"A.*","q":"inner","_limit":5,"-s":1,"k[]":1,"o\u0000p":1,"t":[true,"null"]},
	{"id":"12345678901234567890","n":12345678901234567891,"s":"straße","d":"2026-02-01T23:59:59"},
	{"id":-7,"n":-1.5e0,"s":"Σίσυφος","d":5,"dogId":"1"}
],
"dogs": [
	{"id":1,"name":"one","c":"own"},
	{"id":"2","name":"two"},
	{"id":"1","name":"double"},
	{"name":"none"},
	5
],
"other": {"id":1}
}`

// checkQuery checks that the engine and the naive database agree.
func checkQuery(t *testing.T, s *database.Snapshot, n naive, collection string, query naiveQuery) {
	t.Helper()
	want, rawQuery := n.answer(collection, query, everything), query.String()
	for range 3 { // the index that a query leaves behind does not change its answer
		r, err := ask(s, collection, rawQuery)
		if err != nil {
			t.Fatalf("%q: %v", rawQuery, err)
		}
		body, err := r.AppendJSON(nil)
		if got := decoded(t, string(body)); err != nil || !reflect.DeepEqual(got, any(want)) || r.Total != len(want) {
			b, _ := json.Marshal(want)
			t.Fatalf("%q: %v\n got %s\nwant %s", rawQuery, err, body, b)
		}
	}
}

// checkScan checks that a query has the same answer with and without an index.
func checkScan(t *testing.T, s *database.Snapshot, collection, rawQuery string) {
	t.Helper()
	q, err := s.ParseQuery(collection, rawQuery)
	if err != nil {
		t.Fatalf("%q: %v", rawQuery, err)
	}
	found, err := s.Run(q)
	if err != nil {
		t.Fatalf("%q: %v", rawQuery, err)
	}
	var scanned []*database.Record
	for r := range s.All(collection) {
		if q.Match(r.Value) {
			scanned = append(scanned, r)
		}
	}
	if !slices.Equal(found.Records, scanned) {
		t.Fatalf("%q: %d records, a scan finds %d", rawQuery, len(found.Records), len(scanned))
	}
}

// FuzzQuery parses and runs any query: it never panics, every error is
// a *query.Error, and the links of an answer are valid.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"", "n=100", "n=9007199254740993", "t:contains=GO&t[0]=go", "o.q.r=x&o.p=1", "s:like=^(a%2B)%2B$&q=x", "a.b=dotted", "first_gte=g", "n_gte=1&n_lt=1e400",
		"q[]=x", "_where=%7B%22or%22:[%7B%22n%22:%7B%22gt%22:10%7D%7D,%7B%22not%22:%7B%22o%22:%7B%22p%22:%7B%22in%22:[1,5]%7D%7D%7D%7D]%7D",
		"_sort=-n,s&_order=asc,desc&_page=2&_per_page=3", "_start=-3&_end=9&_limit=2", "_embed=dog&_fields=id,dog.name,t[1]", "d:exists=false&b:ne=true",
		"id=5&id=1&id:in=2,3", "id:in=1,+5", "x:lang=de&x:lan=1", "_foo=1", "_=1", "%zz=1", "s:startsWith=STR&s:endsWith=e&_expand=dog", "_sort=-s,-s,b",
		"id[]=1&id[]=2&n_ne[]=100&t[][]=go&_expand[]=dog", "a.b=dotted&a%00b=nested&k[]=1", "o.p=1&o%00p=2",
	} {
		f.Add(seed)
	}
	db, err := database.Open(f.Context(), storetest.NewMemStore([]byte(queryWorld)), database.Options{})
	if err != nil {
		f.Fatal(err)
	}
	s := db.Snapshot()
	f.Fuzz(func(t *testing.T, rawQuery string) {
		var qe *query.Error
		q, err := s.ParseQuery("c", rawQuery)
		if err != nil {
			if !errors.As(err, &qe) {
				t.Fatalf("%q: %v", rawQuery, err)
			}
			return
		}
		if err := s.Strict(q); err != nil && !errors.As(err, &qe) {
			t.Fatalf("%q: %v", rawQuery, err)
		}
		r, err := s.Run(q)
		if err == nil {
			var body []byte
			if body, err = r.AppendJSON(nil); err == nil && !json.Valid(body) {
				t.Fatalf("%q: %s", rawQuery, body)
			}
		}
		if err != nil {
			if !errors.As(err, &qe) {
				t.Fatalf("%q: %v", rawQuery, err)
			}
			return
		}
		for _, link := range r.Links(rawQuery) {
			if _, err := s.ParseQuery("c", link.Query); err != nil {
				t.Fatalf("%q: its link %s: %v", rawQuery, link.Query, err)
			}
		}
	})
}

// TestQueryRandom runs random queries.
func TestQueryRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	s := openMem(t, queryWorld).Snapshot()
	n := newNaive(t, queryWorld)
	members := append(oddMembers, members...)
	for range times(1000, 10_000) {
		q := randomNaive(rnd, members, func() string { return randomValue(rnd) })
		checkQuery(t, s, n, "c", q)
		op, value := pick(rnd, "ne", "contains", "startsWith", "endsWith", "like"), randomValue(rnd)
		if _, err := regexp.Compile(value); err != nil {
			value = "a"
		}
		q.keys = nil
		checkScan(t, s, "c", q.String()+"&"+url.QueryEscape(pick(rnd, members...)+":"+op)+"="+url.QueryEscape(value))
	}
}

func pick(rnd *rand.Rand, words ...string) string { return words[rnd.IntN(len(words))] }

// members are some that queries name. Those of oddMembers look like operators
// and paths, and are members as long as a record has them.
var (
	members    = []string{"id", "n", "s", "t", "o", "b", "z", "d", "o.p", "o.q.r", "o.0.p", "t.0", "t.2", "nobody", "no.body", "dogId"}
	oddMembers = []string{"a.b", "a", "first_gte", "_lead", "k[]", "o\x00p"}
)

func randomValue(rnd *rand.Rand) string {
	return pick(rnd, "1", "2", "5", "100", "1e2", "100.00", "-0", "0", "-1.5", "9007199254740993", "9007199254740992", "1e400", "1E+400", "12345678901234567891",
		"go", "GO", "rest", "x", "k", "K", "ſ", "straße", "STRASSE", "σίσυφοσ", "\U0001f600", "\uffee", "", "null", "true", "false", "2026-02-01", "2026-03",
		"text", "dotted", "a\x00", `"`, `\`, ".", "^s", "e$", "[0-9]+", "(", "a|k", "one")
}
