package database_test

import (
	"errors"
	"strings"
	"testing"

	"pickup/internal/database"
	"pickup/internal/query"
	"pickup/internal/storage"
)

const queryData = `{"c":[
	{"id":1,"s":"x","n":100,"o":{"p":"q","n":{"k":1}},"tags":["a","b",3],"b":true,"z":null,"a.b":"dot","first_gte":"g","_lead":"l","e":""},
	{"id":"2","s":"X","n":100.0,"o":{"p":7},"tags":[],"b":false,"z":"null"},
	{"id":3,"s":"ü &=","n":1e2,"o":[{"p":"in"}],"tags":{"0":"a"},"b":"true"},
	{"id":4,"s":"100","n":"100","big":12345678901234567890},
	{"id":5,"n":-0,"big":12345678901234567891},
	"text", 7, [1]
]}`

func TestQuery(t *testing.T) {
	s := openMem(t, queryData).Snapshot()
	for _, test := range []struct{ query, want string }{
		{"", "1 2 3 4 5 # # #"}, {"s=x", "1"}, {"s=X", "2"}, {"s=nobody", ""}, {"nobody=1", ""},
		{"n=100", "1 2 3 4"}, {"n=100.00", "1 2 3"}, {"n=1e2", "1 2 3"}, {"n=10E1", "1 2 3"}, {"n=0", "5"}, {"n=0100", ""},
		{"n=+100", ""}, {"n=%20100", ""},
		{"s=x&s=X", "1 2"}, {"s=X&s=x&n=100&id=2", "2"}, {"id=2", "2"}, {"id=1&id=3&id=1", "1 3"},
		{"o.p=q", "1"}, {"o.p=7", "2"}, {"o.n.k=1", "1"}, {"o[0].p=in", "3"}, {"o.0.p=in", "3"}, {"o.p.x=1", ""}, {"o=q", ""},
		{"tags=a", "1"}, {"tags=3", "1"}, {"tags[0]=a", "1 3"}, {"tags[1]=b", "1"}, {"tags.1=b", "1"}, {"tags[9]=b", ""},
		{"b=true", "1 3"}, {"z=null", "1 2"}, {"e=", "1"}, {"s=", ""},
		{"a.b=dot", "1"}, {"first_gte=g", "1"}, {"_lead=l", "1"}, {"_=123", "1 2 3 4 5 # # #"}, {"&&s=x&", "1"},
		{"s=%C3%BC+%26%3D", "3"}, {"s=%c3%bc%20%26=", "3"},
		{"big=12345678901234567890", "4"}, {"big=12345678901234567891.0", "5"}, {"big=12345678901234567892", ""},
		{"N=100", ""},

		// Operators, in both spellings. A value that is an array is asked for
		// its elements.
		{"n:ne=100", "5"}, {"n_ne=100", "5"}, {"n:ne=1", "1 2 3 4 5"}, {"s:ne=x&s:ne=X", "3 4"}, {"z:ne=null", ""}, {"tags:ne=a", "2 3"}, {"z:ne=1", "2"},
		{"n:gt=99", "1 2 3"}, {"n:gte=100.0&n:lte=1e2", "1 2 3"}, {"n:lt=100", "5"}, {"n:gt=abc", ""}, {"n:lt=2", "4 5"},
		{"big:gt=12345678901234567890", "5"}, {"big:lt=1e400", "4 5"}, {"big:gt=-1e400", "4 5"},
		{"s:gt=1&s:lt=x", "2 4"}, {"b:gt=false", "3"}, {"tags:gte=b", "1"}, {"o:gt=0", ""}, {"z:lte=null", "2"},
		{"s:in=x,X", "1 2"}, {"s_in=x,%20X", "1 2"}, {"s:in=x&s_in=X", "1 2"}, {"n:in=1,1e2", "1 2 3"}, {"e:in=", "1"}, {"z:in=null,1", "1 2"},
		{"s:contains=X", "1 2"}, {"s_contains=%C3%9C", "3"}, {"s:contains=1&s:contains=x", "1 2 4"}, {"n:contains=1", "4"},
		{"tags:contains=3", "1"}, {"tags:contains=A", "1"}, {"o:contains=q", ""},
		{"s:startsWith=%C3%9C+", "3"}, {"s:endsWith=%3D", "3"}, {"s:startsWith=1&s:startsWith=10", "4"},
		{"s:startsWith=1&s:startsWith=0", ""}, {"s:startsWith=", "1 2 3 4"},
		{"s_like=%5Ex$", "1 2"}, {"n_like=0$", "1 2 4 5"}, {"n:like=^1", "1 2 3 4"}, {"b:like=rue", "1 3"},
		{"z:like=.*", "2"}, {"s:like=x&s:like=00", "1 2 4"}, {"s:like=(%3F-i)x", "1"}, {"s:like=(%3F-i)X", "2"},
		{"tags:like=B", "1"}, {"s:like=", "1 2 3 4"},
		{"z:exists=true", "2"}, {"z_exists=false", "1 3 4 5 # # #"}, {"o.n:exists=true", "1"}, {"tags:exists=true", "1 2 3"},
		{"z:exists=true&z:exists=false", ""}, {"tags[1]:exists=true", "1"},
		{"a.b:eq=dot", "1"}, {"first_gte:gte=g", "1"}, {"first_gte_gte=h", ""}, {"_lead:ne=x", "1"}, {"first_gt=1", ""}, {"e_eq=", "1"},
		{"q=Q", "1"}, {"q=TEXT", "#"}, {"q=7", "2 4 5 #"}, {"q=true", "1 3"}, {"q=100&q=x", "1 2"}, {"q=", "1 2 3 4 5 # # #"},
		{"q=tags", ""}, {"q=dot&s=x", "1"}, {"q=null", "2"},
		{`_where={"n":100}`, "1 2 3 4"}, {`_where={"n":"1e2","s":{"ne":"x"}}`, "2 3"}, {`_where={"z":null}`, "1 2"},
		{`_where={"or":[{"s":"x"},{"o":{"p":{"gt":6}}}]}`, "1 2"},
		{`_where={"not":{"n":{"exists":true}}}`, "# # #"},
		{`_where={"and":[{"n":{"gte":100}},{"not":{"tags":{"contains":"a"}}}]}&id:ne=2`, "3 4"},
		{`_where={"s":{"or":[{"eq":"x"},{"gt":"a"}]}}`, "1 3"},
		{`_where={}`, "1 2 3 4 5 # # #"}, {"_where=null", "1 2 3 4 5 # # #"}, {`_where={"or":[]}`, ""},
		{`_where={"and":[]}&id=1`, "1"}, {`_where={"o.p":{"in":[7,"q"]}}`, "1 2"}, {`_where={"a.b":"dot"}`, "1"},
		{`_where={"not":{"or":[{"id":1},{"id":"2"}]},"n":{"like":"."}}`, "3 4 5"},
	} {
		q, err := s.ParseQuery("c", test.query)
		if err != nil {
			t.Errorf("%s: %v", test.query, err)
			continue
		}
		found, err := s.Run(q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range found.Records {
			if storage.IsPositionKey(r.ID) {
				r = &database.Record{ID: "#"}
			}
			got = append(got, r.ID)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %v, want %s", test.query, got, test.want)
		}
		var matched []string // the same without an index
		for r := range s.All("c") {
			if q.Match(r.Value) {
				matched = append(matched, r.ID)
			}
		}
		if len(matched) != len(got) {
			t.Errorf("%s: Run gives %v, Match %v", test.query, got, matched)
		}
	}
	for rawQuery, parameter := range map[string]string{
		"_srot=s": "_srot", "n:gtx=5": "n:gtx", "_gte=5": "_gte", "s=%zz": "s", "%zz=1": "%zz",
		strings.Repeat("s=1&", 1001): "s", manyTerms(33): "t32",
	} {
		var qe *query.Error
		if _, err := s.ParseQuery("c", rawQuery); !errors.As(err, &qe) || qe.Parameter != parameter {
			t.Errorf("%.20s: %v, want an error that names %s", rawQuery, err, parameter)
		}
	}
	if _, err := s.ParseQuery("c", manyTerms(32)); err != nil {
		t.Errorf("32 terms: %v", err)
	}
	if _, err := s.Run(new(query.Query)); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("a query on no collection: %v", err)
	}
}

func manyTerms(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("&t")
		b.WriteByte(byte('0' + i/10))
		b.WriteByte(byte('0' + i%10))
		b.WriteString("=1")
	}
	return b.String()
}
