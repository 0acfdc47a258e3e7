package database_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"pickup/internal/database"
	"pickup/internal/query"
	"pickup/internal/storage/storetest"
)

// queryWorld has what queries may trip over: numbers that floating point
// cannot tell apart, values of every kind under one name, names that look like
// operators and paths, text beyond ASCII, escapes, lists within lists, elements
// that are no records, ids twice, keys that lead nowhere.
const queryWorld = `{
"c": [
	{"id":1,"n":9007199254740993,"s":"Straße K","t":["go","Rest",3,null],"o":{"p":1,"q":{"r":"x"}},"b":true,"z":null,"a.b":"dotted","first_gte":"g","d":"2026-03-01T10:00:00Z","dog":"a stray","dogId":"1"},
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

// checkQuery asks the engine and the naive evaluator, which have to agree.
func checkQuery(t *testing.T, s *database.Snapshot, n naive, collection, rawQuery string) {
	t.Helper()
	q, err := s.ParseQuery(collection, rawQuery)
	var r *database.Result
	var body []byte
	if err == nil {
		if r, err = s.Run(q); err == nil {
			body, err = r.AppendJSON(nil)
		}
	}
	var qe *query.Error
	if err != nil && !errors.As(err, &qe) {
		t.Fatalf("%q: %v", rawQuery, err)
	}
	if err != nil && (strings.Contains(err.Error(), "at most") || strings.Contains(err.Error(), "too costly")) {
		return // what is limited is tested elsewhere
	}
	want, total, ok := n.answer(collection, rawQuery)
	if !ok || err != nil {
		if ok || err == nil {
			t.Fatalf("%q: %v, but the naive evaluator says readable: %v", rawQuery, err, ok)
		}
		return
	}
	var got any
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.UseNumber()
	if err := d.Decode(&got); err != nil {
		t.Fatalf("%q: %v in %s", rawQuery, err, body)
	}
	if !reflect.DeepEqual(got, want) || r.Total != total {
		b, _ := json.Marshal(want)
		t.Fatalf("%q: %d\n got %s\nwant %s (%d)", rawQuery, r.Total, body, b, total)
	}
	for range 2 { // the index that a query leaves behind does not change its answer
		if again, err := s.Run(q); err != nil || again.Total != total {
			t.Fatalf("%q: asked again %d, %v", rawQuery, again.Total, err)
		}
	}
	for _, link := range r.Links(rawQuery) {
		if _, err := s.ParseQuery(collection, link.Query); err != nil {
			t.Fatalf("%q: its link %s: %v", rawQuery, link.Query, err)
		}
	}
	if err := s.Strict(q); err != nil && !errors.As(err, &qe) {
		t.Fatalf("%q: %v", rawQuery, err)
	}
}

var largeExponent = regexp.MustCompile(`[eE][+-]?0*[1-9][0-9]{4}`)

// FuzzQuery asks anything: never a panic, never another answer than the naive
// evaluator's.
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
	n := newNaive(queryWorld)
	f.Fuzz(func(t *testing.T, query string) {
		q, _ := url.QueryUnescape(query)
		if strings.Contains(q, "mbed=") && strings.Contains(q, ".") || strings.Contains(q, "xpand=") && strings.Contains(q, ".") {
			return // levels are tested elsewhere
		}
		if largeExponent.MatchString(q) {
			return // fractions would take forever
		}
		checkQuery(t, s, n, "c", query)
	})
}

// TestQueryRandom asks queries made at random from the words of the grammar.
func TestQueryRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	s := openMem(t, queryWorld).Snapshot()
	n := newNaive(queryWorld)
	for range times(1000, 10_000) {
		checkQuery(t, s, n, "c", randomQuery(rnd))
	}
	checkQuery(t, s, n, "dogs", "_embed=c&c.n:exists=true") // a stored member makes way
	checkQuery(t, s, n, "dogs", "_embed=cs&_sort=-name")
}

func pick(rnd *rand.Rand, words ...string) string { return words[rnd.IntN(len(words))] }

func randomName(rnd *rand.Rand) string {
	return pick(rnd, "id", "n", "s", "t", "o", "b", "z", "d", "a.b", "a", "o.p", "o.q.r", "o[0].p", "o.0.p", "t[0]", "t.2", "t[1]", "o.p[1]",
		"first_gte", "first", "_lead", "x:lang", "and", "or", "nobody", "no.body", "-s", "_limit", "q", "k", "k[]", "o\x00p", "dogId", "dog.name", "dog.id", "")
}

func randomValue(rnd *rand.Rand) string {
	return pick(rnd, "1", "2", "5", "100", "1e2", "100.00", "-0", "0", "-1.5", "9007199254740993", "9007199254740992", "1e400", "1E+400", "12345678901234567891",
		"go", "GO", "rest", "x", "k", "K", "ſ", "straße", "STRASSE", "σίσυφοσ", "\U0001f600", "\uffee", "", "null", "true", "false", "2026-02-01", "2026-03",
		"text", "dotted", "a\x00", `"`, `\`, ".", "^s", "e$", "[0-9]+", "(", "a|k", "one")
}

func randomQuery(rnd *rand.Rand) string {
	var parts []string
	add := func(name, value string) { parts = append(parts, url.QueryEscape(name)+"="+url.QueryEscape(value)) }
	for range rnd.IntN(4) {
		name := randomName(rnd)
		switch rnd.IntN(4) {
		case 0:
			name += ":" + pick(rnd, naiveOps...)
		case 1:
			name += "_" + pick(rnd, naiveOps...)
		}
		if rnd.IntN(8) == 0 {
			name += "[]"
		}
		for range 1 + rnd.IntN(2) {
			v := randomValue(rnd)
			if strings.Contains(name, "exists") && rnd.IntN(8) > 0 {
				v = pick(rnd, "true", "false")
			}
			if strings.HasSuffix(name, "in") && rnd.IntN(2) > 0 {
				v += pick(rnd, ",", ", ", " ,") + randomValue(rnd)
			}
			add(name, v)
		}
	}
	if rnd.IntN(4) == 0 {
		add("q", randomValue(rnd))
	}
	if rnd.IntN(2) == 0 {
		b, _ := json.Marshal(randomWhere(rnd, 3, false))
		add("_where", string(b))
	}
	if rnd.IntN(2) == 0 {
		var keys []string
		for range 1 + rnd.IntN(3) {
			keys = append(keys, pick(rnd, "", "-")+randomName(rnd))
		}
		add("_sort", strings.Join(keys, ","))
		if rnd.IntN(2) == 0 {
			add("_order", pick(rnd, "asc", "desc", "DESC,asc", "asc,desc,desc", "up"))
		}
	}
	for _, name := range []string{"_page", "_per_page", "_limit", "_start", "_end"} {
		if rnd.IntN(5) == 0 {
			add(name, pick(rnd, "1", "2", "3", "4", "0", "-2", "x", "2.9", "1e2", "1e99", ""))
		}
	}
	if rnd.IntN(4) == 0 {
		add(pick(rnd, "_embed", "_expand"), pick(rnd, "dog", "dogs", "nope", "dog,other", "c"))
	}
	if rnd.IntN(4) == 0 {
		add("_fields", randomName(rnd)+","+randomName(rnd)+",id")
	}
	rnd.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return strings.Join(parts, "&")
}

func randomWhere(rnd *rand.Rand, depth int, within bool) map[string]any {
	where := make(map[string]any)
	for range 1 + rnd.IntN(2) {
		switch r := rnd.IntN(10); {
		case r == 0 && depth > 0:
			where["not"] = randomWhere(rnd, depth-1, within)
		case r <= 2 && depth > 0:
			var list []any
			for range 1 + rnd.IntN(3) {
				list = append(list, randomWhere(rnd, depth-1, within))
			}
			where[pick(rnd, "and", "or")] = list
		case r <= 7 && within:
			op := pick(rnd, naiveOps...)
			where[op] = randomScalar(rnd)
			if op == "exists" {
				where[op] = rnd.IntN(2) == 0
			} else if op == "in" && rnd.IntN(2) == 0 {
				where[op] = []any{randomScalar(rnd), randomScalar(rnd)}
			}
		case r <= 8 && depth > 0:
			where[randomName(rnd)] = randomWhere(rnd, depth-1, true)
		default:
			where[randomName(rnd)] = randomScalar(rnd)
		}
	}
	return where
}

func randomScalar(rnd *rand.Rand) any {
	switch v := randomValue(rnd); v {
	case "null":
		return nil
	case "true", "false":
		return v == "true"
	default:
		if rnd.IntN(2) == 0 && json.Valid([]byte(v)) {
			return json.Number(v)
		}
		return fmt.Sprint(v)
	}
}
