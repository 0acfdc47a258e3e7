package database_test

import (
	"fmt"
	"strings"
	"testing"

	"pickup/internal/query"
)

// TestPages asks for parts of a list of 25 in all three dialects.
func TestPages(t *testing.T) {
	var b strings.Builder
	for i := range 25 {
		fmt.Fprintf(&b, `,{"id":%d,"g":%d}`, i+1, (i+1)%3)
	}
	s := openMem(t, `{"items":[`+b.String()[1:]+`],"empty":[]}`).Snapshot()
	for _, test := range []struct {
		query   string
		dialect query.Dialect
		window  string // first-last, by place from 1, of total
		page    string // of pages, of size
		links   string
	}{
		{dialect: query.Whole, window: "1-25/25", page: "0/0/0"},
		{query: "_per_page=5", dialect: query.Whole, window: "1-25/25", page: "0/0/0"},
		{query: "_page=1", dialect: query.ByPage, window: "1-10/25", page: "1/3/10", links: "first ?_page=1 next ?_page=2 last ?_page=3"},
		{query: "_page=3", dialect: query.ByPage, window: "21-25/25", page: "3/3/10", links: "first ?_page=1 prev ?_page=2 last ?_page=3"},
		{query: "_page=4", dialect: query.ByPage, window: "26-25/25", page: "4/3/10", links: "first ?_page=1 prev ?_page=3 last ?_page=3"},
		{
			query: "_page=99999999999999999999", dialect: query.ByPage, window: "26-25/25", page: "2147483647/3/10",
			links: "first ?_page=1 prev ?_page=3 last ?_page=3",
		},
		{query: "_page=x", dialect: query.ByPage, window: "1-10/25", page: "1/3/10", links: "first ?_page=1 next ?_page=2 last ?_page=3"},
		{query: "_page=-1", dialect: query.ByPage, window: "1-10/25", page: "1/3/10", links: "first ?_page=1 next ?_page=2 last ?_page=3"},
		{
			query: "_page=2&_limit=5&g=0", dialect: query.ByPage, window: "6-8/8", page: "2/2/5",
			links: "first ?_page=1&_limit=5&g=0 prev ?_page=1&_limit=5&g=0 last ?_page=2&_limit=5&g=0",
		},
		{query: "_page=1&_limit=100", dialect: query.ByPage, window: "1-25/25", page: "1/1/100"},
		{
			query: "_page=2&_per_page=10", dialect: query.Envelope, window: "11-20/25", page: "2/3/10",
			links: "first ?_page=1&_per_page=10 prev ?_page=1&_per_page=10 next ?_page=3&_per_page=10 last ?_page=3&_per_page=10",
		},
		{
			query: "_page=9&_per_page=10", dialect: query.Envelope, window: "21-25/25", page: "3/3/10",
			links: "first ?_page=1&_per_page=10 prev ?_page=2&_per_page=10 last ?_page=3&_per_page=10",
		},
		{
			query: "_page=1&_per_page=10&_limit=5", dialect: query.ByPage, window: "1-5/25", page: "1/5/5",
			links: "first ?_page=1&_per_page=10&_limit=5 next ?_page=2&_per_page=10&_limit=5 last ?_page=5&_per_page=10&_limit=5",
		},
		{
			query: "_page=1&_end=3", dialect: query.ByPage, window: "1-10/25", page: "1/3/10",
			links: "first ?_page=1&_end=3 next ?_page=2&_end=3 last ?_page=3&_end=3",
		},
		{
			query: "_limit=5", dialect: query.Range, window: "1-5/25", page: "0/0/5",
			links: "first ?_limit=5&_start=0 next ?_limit=5&_start=5 last ?_limit=5&_start=20",
		},
		{
			query: "_start=20&_limit=2", dialect: query.Range, window: "21-22/25", page: "0/0/2",
			links: "first ?_start=0&_limit=2 prev ?_start=18&_limit=2 next ?_start=22&_limit=2 last ?_start=24&_limit=2",
		},
		{
			query: "_start=1&_end=4", dialect: query.Range, window: "2-4/25", page: "0/0/3",
			links: "first ?_start=0&_end=3 prev ?_start=0&_end=3 next ?_start=4&_end=7 last ?_start=24&_end=27",
		},
		{
			query: "_start=2&_end=5&_limit=1", dialect: query.Range, window: "3-5/25", page: "0/0/3",
			links: "first ?_start=0&_end=3&_limit=1 prev ?_start=0&_end=3&_limit=1 next ?_start=5&_end=8&_limit=1 last ?_start=24&_end=27&_limit=1",
		},
		{query: "_start=20", dialect: query.Range, window: "21-25/25", page: "0/0/0"},
		{query: "_start=-3&_end=25", dialect: query.Range, window: "23-25/25", page: "0/0/0"},
		{query: "_start=-3", dialect: query.Range, window: "23-25/25", page: "0/0/0"},
		{query: "_end=-20", dialect: query.Range, window: "1-5/25", page: "0/0/0"},
		{query: "_start=5&_end=2", dialect: query.Range, window: "6-5/25", page: "0/0/0"},
		{
			query: "_start=99&_end=100", dialect: query.Range, window: "26-25/25", page: "0/0/1",
			links: "first ?_start=0&_end=1 prev ?_start=24&_end=25 last ?_start=24&_end=25",
		},
		{query: "_limit=0", dialect: query.Range, window: "1-0/25", page: "0/0/0"},
		{query: "_limit=&_page=&_start=", dialect: query.Whole, window: "1-25/25", page: "0/0/0"},
		{
			query: "_page=2&_page=1&%5Fpage=3&q=1", dialect: query.ByPage, window: "11-16/16", page: "2/2/10",
			links: "first ?_page=1&q=1 prev ?_page=1&q=1 last ?_page=2&q=1",
		},
	} {
		r, err := ask(s, "items", test.query)
		if err != nil {
			t.Errorf("%s: %v", test.query, err)
			continue
		}
		var links []string
		for _, l := range r.Links(test.query) {
			links = append(links, l.Rel+" ?"+l.Query)
		}
		window := fmt.Sprintf("%d-%d/%d", r.Offset+1, r.Offset+len(r.Records), r.Total)
		page := fmt.Sprintf("%d/%d/%d", r.Page, r.Pages, r.Size)
		if r.Dialect != test.dialect || window != test.window || page != test.page || strings.Join(links, " ") != test.links {
			t.Errorf("%s: dialect %d, records %s, page %s, links %s", test.query, r.Dialect, window, page, strings.Join(links, " "))
		}
	}
	for query, want := range map[string]string{
		"_page=1":             `[]`,
		"_page=1&_per_page=5": `{"first":1,"prev":null,"next":null,"last":1,"pages":1,"items":0,"data":[]}`,
		"_start=-1&_end=5":    `[]`,
		"_sort=-x":            `[]`,
	} {
		if got := listed(s, "empty", query); got != want {
			t.Errorf("empty, %s: %s", query, got)
		}
	}
}
