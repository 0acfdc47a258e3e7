package database_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/query"
)

// ask parses a query and runs it.
func ask(s *database.Snapshot, collection, query string) (*database.Result, error) {
	q, err := s.ParseQuery(collection, query)
	if err != nil {
		return nil, err
	}
	return s.Run(q)
}

// TestQueryRefused checks the messages for invalid queries: they name the
// parameter, the fault and the correction.
func TestQueryRefused(t *testing.T) {
	s := openMem(t, queryWorld).Snapshot()
	for _, test := range []struct{ query, parameter, detail string }{
		{query: "_limt=5", parameter: "_limt", detail: "did you mean _limit?"},
		{query: "_Sort=n", parameter: "_Sort", detail: "did you mean _sort?"},
		{query: "_perpage=5", parameter: "_perpage", detail: "did you mean _per_page?"},
		{query: "_wherever=1", parameter: "_wherever", detail: "the parameters are q, _where, _sort"},
		{query: "_q=x", parameter: "_q", detail: "the parameters are q, "},
		{query: "n:gtee=1", parameter: "n:gtee", detail: "did you mean gte?"},
		{query: "n:startswith=1", parameter: "n:startswith", detail: "did you mean startsWith?"},
		{query: "n:=1", parameter: "n:", detail: `no operator ""; the operators are eq, ne`},
		{query: "n:exists=yes", parameter: "n:exists", detail: "true or false"},
		{query: "_limit=x", parameter: "_limit", detail: `"x" is not a number`},
		{query: "_limit=-1", parameter: "_limit", detail: "not be negative"},
		{query: "_page=1&_limit=0", parameter: "_limit", detail: "must be at least 1"},
		{query: "_page=1&_per_page=0", parameter: "_per_page", detail: "must be at least 1"},
		{query: "_per_page=x", parameter: "_per_page", detail: "not a number"},
		{query: "_start=%2B1", parameter: "_start", detail: "not a number"},
		{query: "_sort=n&_order=down", parameter: "_order", detail: `"down" is not asc or desc; give one`},
		{query: "_sort=a,b,c,d,e,f,g,h,i", parameter: "_sort", detail: "at most 8"},
		{query: "_embed=a.b.c.d.e.f.g.h.i", parameter: "_embed", detail: "at most 8 levels"},
		{query: "_embed=" + strings.Repeat("a,", 33), parameter: "_embed", detail: "at most 32 relations"},
		{query: strings.Repeat(`_where={"not":{"or":[]}}&`, 200), parameter: "_where", detail: "at most 256 conditions"},
		{query: "s_like=[", parameter: "s_like", detail: "RE2"},
		{query: "s_like=(%3F%3C%3Da)b", parameter: "s_like", detail: "RE2"},
		{query: "s_like=" + strings.Repeat("a", 257), parameter: "s_like", detail: "at most 256 bytes"},
		{query: "s_like=(a%3F){500}b", parameter: "s_like", detail: "too costly"},
		{query: "s_like=((a{9}){9}){9}", parameter: "s_like"},
		{query: "_where={", parameter: "_where", detail: "not valid JSON"},
		{query: `_where={"n":{"gt":1},"n":{"lt":3}}`, parameter: "_where", detail: "not valid JSON"},
		{query: `_where=[1]`, parameter: "_where", detail: "this is an array; a condition is JSON like"},
		{query: `_where={"or":{"n":1}}`, parameter: "_where/or", detail: "list of conditions"},
		{query: `_where={"or":[1]}`, parameter: "_where/or/0", detail: "an object, not a number"},
		{query: `_where={"not":[]}`, parameter: "_where/not", detail: "an object"},
		{query: `_where={"n":[1]}`, parameter: "_where/n", detail: `a list needs the operator in: {"n":{"in":[1]}}`},
		{query: `_where={"n":{"gtt":1}}`, parameter: "_where/n/gtt", detail: "did you mean gte?"},
		{query: `_where={"n":{"gt":null}}`, parameter: "_where/n/gt", detail: "use exists"},
		{query: `_where={"n":{"gt":[1]}}`, parameter: "_where/n/gt", detail: "not with an array"},
		{query: `_where={"n":{"eq":{}}}`, parameter: "_where/n/eq", detail: "not with an object"},
		{query: `_where={"n":{"exists":1}}`, parameter: "_where/n/exists", detail: "true or false"},
		{query: `_where={"s":{"like":"("}}`, parameter: "_where/s/like", detail: "RE2"},
		{query: "_where=" + strings.Repeat(`{"not":`, 300) + "{}" + strings.Repeat("}", 300), parameter: "_where", detail: "at most 256 conditions"},
		{query: `_where={"or":[` + strings.Repeat("{},", 300) + "{}]}", parameter: "_where", detail: "at most 256"},
		{query: `_where={"n":{"in":[1` + strings.Repeat(",1", 1000) + "]}}", parameter: "_where/n/in", detail: "at most 1000 values"},
		{query: "n:in=1" + strings.Repeat(",1", 1000), parameter: "n:in", detail: "at most 1000 values"},
		{query: strings.Repeat("n_gt=1&", 9), parameter: "n_gt", detail: "at most 8 values"},
		{query: `_where={"or":[` + strings.Repeat(`{"n":1},`, 31) + `{"n":1}]}&n=1`, parameter: "n", detail: "at most 32"},
		{query: "n=%zz", parameter: "n", detail: "hexadecimal"},
		{query: "%z=1", parameter: "%z", detail: "hexadecimal"},
		{query: "n=%ff", parameter: "n", detail: "UTF-8"},
	} {
		_, err := ask(s, "c", strings.ReplaceAll(test.query, "+", "%2B"))
		var qe *query.Error
		if !errors.As(err, &qe) {
			t.Errorf("%.60s: %v", test.query, err)
			continue
		}
		if at := qe.Parameter + qe.Pointer; !strings.HasPrefix(at, test.parameter) || !strings.Contains(qe.Detail, test.detail) {
			t.Errorf("%.60s: %s: %s", test.query, at, qe.Detail)
		}
		if len(qe.Detail) > 300 {
			t.Errorf("%.60s: a detail of %d bytes", test.query, len(qe.Detail))
		}
	}
}

// TestQueryCost runs queries that would be slow in a naive implementation.
func TestQueryCost(t *testing.T) {
	n := times(5_000, 45_000)
	long := strings.Repeat("a", 1<<20)
	var many strings.Builder
	for i := range n {
		fmt.Fprintf(&many, `,{"id":"%d","t":"%s","n":%d.%s1}`, i, strings.Repeat("lorem ", 40), i, strings.Repeat("0", 100))
	}
	deep := strings.Repeat(`{"a":`, 250) + "[" + strings.Repeat("1234567,", times(60_000, 1_200_000)) + "0]" + strings.Repeat("}", 250)
	path := "r" + strings.Repeat(".a", 249)
	between, below := "", ""
	for i := range 20 {
		below += fmt.Sprintf("%s.x%d:exists=false&", path, i)
	}
	for i := range 1000 {
		between += fmt.Sprintf("n_gt=-%d&n_gte=-%d&n_lt=1%05d&n_lte=1%05d&", i, i, i, i)
	}
	s := openMem(t, `{"one":[{"id":1,"t":"`+long+`!"}],"many":[`+many.String()[1:]+`],"deep":[{"id":1,"r":`+deep+`}]}`).Snapshot()
	for _, test := range []struct {
		collection, query string
		total             int // -1: refused
	}{
		{collection: "one", query: "t_like=" + url.QueryEscape("(a+)+$")},
		{collection: "one", query: "t_like=" + url.QueryEscape("^(a|a)*$")},
		{collection: "one", query: "t_like=" + url.QueryEscape("(a?){80}b"), total: -1},
		{collection: "one", query: "t_like=aab"},
		{collection: "many", query: "t_like=" + url.QueryEscape("^(x|y)z")},
		{collection: "many", query: "t_like=" + url.QueryEscape("^(x|y){60}z"), total: -1},
		{collection: "many", query: "id=7&t_like=" + url.QueryEscape("^(x|y){60}z")},
		{collection: "many", query: strings.Repeat("t:contains=nowhere&", 1000), total: times(0, -1)},
		{collection: "many", query: "q=nowhere&q=nor+here"},
		{collection: "many", query: between, total: -1},
		{collection: "many", query: between[:strings.Index(between, "&n_gt=-8")], total: n},
		{collection: "deep", query: below + "q=nowhere"},
		{collection: "deep", query: below + "_sort=" + path + ",a." + path + "&_fields=" + path, total: 1},
		{collection: "many", query: strings.Repeat("none:like=^x&", 1000) + strings.Repeat("n:contains=7&", 1000)},
	} {
		began := time.Now()
		r, err := ask(s, test.collection, test.query)
		var qe *query.Error
		switch {
		case test.total < 0 && !errors.As(err, &qe):
			t.Errorf("%.40s is not refused: %v", test.query, err)
		case test.total >= 0 && err != nil:
			t.Errorf("%.40s: %v", test.query, err)
		case test.total >= 0 && r.Total != test.total:
			t.Errorf("%.40s: %d", test.query, r.Total)
		case test.total >= 0:
			if _, err := r.AppendJSON(nil); err != nil {
				t.Errorf("%.40s: %v", test.query, err)
			}
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%.40s took %v", test.query, took)
		} else {
			t.Logf("%.40s took %v", test.query, took)
		}
	}
}

// TestStrictCost validates a name that only the last record has.
func TestStrictCost(t *testing.T) {
	var records, names strings.Builder
	last := ""
	for i := range 200 {
		fmt.Fprintf(&records, `{"id":%d,"z":{"pad":"%s"}},`, i, strings.Repeat("x", 20_000))
	}
	for i := range 3000 {
		fmt.Fprintf(&names, "z.n%d,", i)
		last += fmt.Sprintf(`"n%d":1,`, i)
	}
	s := openMem(t, `{"c":[`+records.String()+`{"id":"x","z":{`+last+`"n":1}}]}`).Snapshot()
	for names, refused := range map[string]bool{names.String(): true, strings.Repeat("z.n1,", 3000): false, "z.n2999,z.n,id": false} {
		q, err := s.ParseQuery("c", "_fields="+names)
		if err != nil {
			t.Fatal(err)
		}
		var qe *query.Error
		if err := s.Strict(q); refused && (!errors.As(err, &qe) || qe.Parameter != "_fields" || !strings.Contains(qe.Detail, "too long")) || !refused && err != nil {
			t.Errorf("%.30s: %v", names, err)
		}
	}
}

// TestQueryManyValues compares with so many values that they are looked up in a
// set.
func TestQueryManyValues(t *testing.T) {
	s := openMem(t, `{"c":[{"id":1,"n":[7,"x"]},{"id":2,"n":70.0},{"id":3,"n":"70"},{"id":4,"n":null},{"id":5}]}`).Snapshot()
	var values []string
	for i := range 100 {
		values = append(values, fmt.Sprint(i))
	}
	list := strings.Join(values, ",")
	for query, want := range map[string]int{
		"n=" + strings.Join(values, "&n="):                   3,
		"n:ne=" + strings.Join(values, "&n:ne="):             0,
		"n:contains=" + strings.Join(values, "&n:contains="): 2,
		"n:in=" + list:                       3,
		"n_lt=9&n_lt=80":                     2,
		"n_gt=6&n_gt=8":                      2,
		"n_gt=6&n_gt=8&n_gt=":                2,
		"n_lte=8&n_lte=x":                    1,
		`_where={"n":{"in":[` + list + `]}}`: 3,
		`_where={"not":{"n":{"in":[` + list + `,null]}}}`: 1,
	} {
		if r, err := ask(s, "c", query); err != nil || r.Total != want {
			t.Errorf("%.30s: %v, %v, want %d", query, r, err, want)
		}
	}
}

// TestEmbedTooMuch embeds levels whose sizes multiply.
func TestEmbedTooMuch(t *testing.T) {
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, `,{"id":%d,"postId":1,"text":"%s"}`, i, strings.Repeat("x", 1000))
	}
	s := openMem(t, `{"posts":[{"id":1}],"comments":[`+b.String()[1:]+`]}`).Snapshot()
	for rawQuery, fits := range map[string]bool{
		"_embed=comments.post": true, "_embed=comments.post.comments": true, "_embed=comments.post.comments.post.comments.post.comments": false,
	} {
		r, err := ask(s, "posts", rawQuery)
		if err != nil {
			t.Fatal(err)
		}
		body, err := r.AppendJSON(nil)
		var qe *query.Error
		if fits && (err != nil || !jsontext.Value(body).IsValid()) || !fits && (!errors.As(err, &qe) || qe.Parameter != "_embed") {
			t.Errorf("%s: %v", rawQuery, err)
		}
		// A filter on what is embedded is bound by the same.
		if _, err := ask(s, "posts", rawQuery+"&comments.0.id=0"); fits != (err == nil) {
			t.Errorf("%s, filtered: %v", rawQuery, err)
		}
	}
}
