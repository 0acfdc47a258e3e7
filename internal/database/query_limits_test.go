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

// TestQueryRefused holds the messages for what cannot be read to what a person
// needs: the parameter, what is wrong, what would be right.
func TestQueryRefused(t *testing.T) {
	s := openMem(t, queryWorld).Snapshot()
	for _, test := range []struct{ query, parameter, detail string }{
		{"_limt=5", "_limt", "did you mean _limit?"},
		{"_Sort=n", "_Sort", "did you mean _sort?"},
		{"_perpage=5", "_perpage", "did you mean _per_page?"},
		{"_wherever=1", "_wherever", "the parameters are q, _where, _sort"},
		{"_q=x", "_q", "the parameters are q, "},
		{"n:gtee=1", "n:gtee", "did you mean gte?"},
		{"n:startswith=1", "n:startswith", "did you mean startsWith?"},
		{"n:=1", "n:", `no operator ""; the operators are eq, ne`},
		{"n:exists=yes", "n:exists", "true or false"},
		{"_limit=x", "_limit", `"x" is not a number`},
		{"_limit=-1", "_limit", "not negative"},
		{"_page=1&_limit=0", "_limit", "at least 1 record"},
		{"_page=1&_per_page=0", "_per_page", "at least 1 record"},
		{"_per_page=x", "_per_page", "not a number"},
		{"_start=%2B1", "_start", "not a number"},
		{"_sort=n&_order=down", "_order", `"down" is not asc or desc; give one`},
		{"_sort=a,b,c,d,e,f,g,h,i", "_sort", "at most 8"},
		{"_embed=a.b.c.d.e.f.g.h.i", "_embed", "at most 8 levels"},
		{"_embed=" + strings.Repeat("a,", 33), "_embed", "at most 32 relations"},
		{strings.Repeat(`_where={"not":{"or":[]}}&`, 200), "_where", "at most 256 conditions"},
		{"s_like=[", "s_like", "RE2"},
		{"s_like=(%3F%3C%3Da)b", "s_like", "RE2"},
		{"s_like=" + strings.Repeat("a", 257), "s_like", "at most 256 bytes"},
		{"s_like=(a%3F){500}b", "s_like", "too costly"},
		{"s_like=((a{9}){9}){9}", "s_like", ""},
		{"_where={", "_where", "not valid JSON"},
		{`_where={"n":{"gt":1},"n":{"lt":3}}`, "_where", "not valid JSON"},
		{`_where=[1]`, "_where", "this is an array; a condition is JSON like"},
		{`_where={"or":{"n":1}}`, "_where/or", "list of conditions"},
		{`_where={"or":[1]}`, "_where/or/0", "an object, not a number"},
		{`_where={"not":[]}`, "_where/not", "an object"},
		{`_where={"n":[1]}`, "_where/n", `a list needs the operator in: {"n":{"in":[1]}}`},
		{`_where={"n":{"gtt":1}}`, "_where/n/gtt", "did you mean gte?"},
		{`_where={"n":{"gt":null}}`, "_where/n/gt", "use exists"},
		{`_where={"n":{"gt":[1]}}`, "_where/n/gt", "not with an array"},
		{`_where={"n":{"eq":{}}}`, "_where/n/eq", "not with an object"},
		{`_where={"n":{"exists":1}}`, "_where/n/exists", "true or false"},
		{`_where={"s":{"like":"("}}`, "_where/s/like", "RE2"},
		{"_where=" + strings.Repeat(`{"not":`, 40) + "{}" + strings.Repeat("}", 40), "_where", "levels deep"},
		{`_where={"or":[` + strings.Repeat("{},", 300) + "{}]}", "_where", "at most 256"},
		{`_where={"n":{"in":[1` + strings.Repeat(",1", 1000) + "]}}", "_where/n/in", "at most 1000 values"},
		{"n:in=1" + strings.Repeat(",1", 1000), "n:in", "at most 1000 values"},
		{`_where={"or":[` + strings.Repeat(`{"n":1},`, 31) + `{"n":1}]}&n=1`, "n", "at most 32"},
		{"n=%zz", "n", "hexadecimal"}, {"%z=1", "%z", "hexadecimal"}, {"n=%ff", "n", "UTF-8"},
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

// TestQueryCost asks what takes long elsewhere.
func TestQueryCost(t *testing.T) {
	n := times(10_000, 45_000)
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
		{"one", "t_like=" + url.QueryEscape("(a+)+$"), 0},
		{"one", "t_like=" + url.QueryEscape("^(a|a)*$"), 0},
		{"one", "t_like=" + url.QueryEscape("(a?){80}b"), -1},
		{"one", "t_like=aab", 0},
		{"many", "t_like=" + url.QueryEscape("^(x|y)z"), 0},
		{"many", "t_like=" + url.QueryEscape("^(x|y){60}z"), -1},
		{"many", "id=7&t_like=" + url.QueryEscape("^(x|y){60}z"), 0},
		{"many", strings.Repeat("t:contains=nowhere&", 1000), times(0, -1)},
		{"many", "q=nowhere&q=nor+here", 0},
		{"many", between, n},
		{"deep", below + "q=nowhere", 0},
		{"deep", below + "_sort=" + path + ",a." + path + "&_fields=" + path, 1},
		{"many", strings.Repeat("none:like=^x&", 1000) + strings.Repeat("n:contains=7&", 1000), 0},
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

// TestStrictCost asks strictly for what only the last record has.
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

// TestQueryManyValues compares with more values than are compared one by one.
func TestQueryManyValues(t *testing.T) {
	s := openMem(t, `{"c":[{"id":1,"n":[7,"x"]},{"id":2,"n":70.0},{"id":3,"n":"70"},{"id":4,"n":null},{"id":5}]}`).Snapshot()
	var values []string
	for i := range 100 {
		values = append(values, fmt.Sprint(i))
	}
	list := strings.Join(values, ",")
	for query, want := range map[string]int{
		"n:in=" + list: 3, "n:contains=" + strings.Join(values, "&n:contains="): 2, "n_lt=9&n_lt=80": 2, "n_gt=6&n_gt=8&n_gt=": 1, "n_gt=6&n_gt=8": 2, "n_lte=8&n_lte=x": 1, "n=" + strings.Join(values, "&n="): 3, "n:ne=" + strings.Join(values, "&n:ne="): 0,
		`_where={"n":{"in":[` + list + `]}}`: 3, `_where={"not":{"n":{"in":[` + list + `,null]}}}`: 1,
	} {
		if r, err := ask(s, "c", query); err != nil || r.Total != want {
			t.Errorf("%.30s: %v, %v, want %d", query, r, err, want)
		}
	}
}

// TestEmbedTooMuch asks for levels that multiply.
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
