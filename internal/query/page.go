package query

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A Dialect is a form of requests and responses for part of a list.
type Dialect uint8

const (
	Whole    Dialect = iota // the whole list
	Range                   // _start, _end, _limit: an array, the total in a header
	ByPage                  // _page alone or with _limit: an array, the total in a header, links
	Envelope                // _page and _per_page: an object with the array and the numbers of pages
)

// defaultSize is the size of a page unless the request specifies it.
const defaultSize = 10

// Paging is the requested part of a list.
type Paging struct {
	Dialect   Dialect
	Size      int    // the maximum number of records, unless _start or _end count from the end
	Parameter string // the parameter that specifies Size, or ""

	page       int
	start, end int // for Range; a negative number counts from the end of the list
	hasEnd     bool
	hasLimit   bool
}

// A Window is the part of a list that a query requests.
type Window struct {
	Total       int // the length of the list
	Offset, End int // the part, from Offset up to, but not including, End

	Dialect Dialect // the dialect of the request and the response
	Page    int     // the page, from 1, for ByPage and Envelope
	Pages   int     // the number of pages, for ByPage and Envelope; 0 for an empty list, but 1 in an Envelope
	Size    int     // the maximum number of records on a page; 0 without a maximum
}

// Window returns the range of a list of total records that q asks for.
func (q *Query) Window(total int) Window {
	p := &q.Paging
	r := Window{Total: total, Dialect: p.Dialect, Size: p.Size, End: total}
	switch p.Dialect {
	case Range:
		r.Offset = fromStart(p.start, total)
		if p.hasEnd {
			r.End = max(r.Offset, fromStart(p.end, total))
		} else if p.hasLimit {
			r.End = min(total, r.Offset+p.Size)
		}
	case ByPage, Envelope:
		r.Page = p.page
		r.Pages = (total + p.Size - 1) / p.Size
		if p.Dialect == Envelope { // which has at least one page, and repeats the last page
			r.Pages = max(1, r.Pages)
			r.Page = min(r.Page, r.Pages)
		}
		r.Offset = min(total, (r.Page-1)*p.Size)
		r.End = min(total, r.Offset+p.Size)
	}
	return r
}

// fromStart returns an index into a list of total records: a negative i counts from the end.
func fromStart(i, total int) int {
	if i < 0 {
		i += total
	}
	return max(0, min(i, total))
}

// A Link leads to another part of a list (RFC 8288).
type Link struct {
	Rel   string // first, prev, next or last
	Query string // the query of its URL
}

// Links returns the links from a part of a list to the others. rawQuery is the
// query of the request.
func (r Window) Links(rawQuery string) []Link {
	type part struct {
		rel    string
		value  int
		exists bool
	}
	parameter := "_page"
	parts := []part{
		{"first", 1, r.Pages > 1},
		{"prev", min(r.Page-1, r.Pages), r.Pages > 1 && r.Page > 1},
		{"next", r.Page + 1, r.Page < r.Pages},
		{"last", r.Pages, r.Pages > 1},
	}
	if r.Dialect == Range && r.Size > 0 && (r.Offset > 0 || r.End < r.Total) {
		parameter = "_start"
		parts = []part{
			{"first", 0, true},
			{"prev", max(0, r.Offset-r.Size), r.Offset > 0},
			{"next", r.End, r.End < r.Total},
			{"last", max(0, r.Total-1) / r.Size * r.Size, true},
		}
	}

	named := func(part string) bool { return parameterName(part) == "_end" }
	var links []Link
	for _, p := range parts {
		if !p.exists {
			continue
		}
		query := withParameter(rawQuery, parameter, p.value)
		if parameter == "_start" && slices.ContainsFunc(strings.Split(query, "&"), named) {
			query = withParameter(query, "_end", p.value+r.Size)
		}
		links = append(links, Link{p.rel, query})
	}
	return links
}

// withParameter returns the query with the parameter set to the value, once. The name must not
// need percent-encoding.
func withParameter(rawQuery, name string, value int) string {
	parts := strings.Split(rawQuery, "&")
	named := func(part string) bool { return parameterName(part) == name }
	set := name + "=" + strconv.Itoa(value)
	if i := slices.IndexFunc(parts, named); i >= 0 {
		parts = append(append(parts[:i:i], set), slices.DeleteFunc(parts[i+1:], named)...)
	} else {
		parts = append(parts, set)
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "&")
}

// parameterName returns the name of one part of a query.
func parameterName(part string) string {
	name, _, _ := strings.Cut(part, "=")
	if unescaped, err := url.QueryUnescape(name); err == nil {
		return unescaped
	}
	return name
}

// AppendEnvelope appends the start of a response in the Envelope dialect, up to the array
// in "data".
func (r Window) AppendEnvelope(dst []byte) []byte {
	prev, next := "null", "null"
	if r.Page > 1 {
		prev = strconv.Itoa(r.Page - 1)
	}
	if r.Page < r.Pages {
		next = strconv.Itoa(r.Page + 1)
	}
	return fmt.Appendf(dst, `{"first":1,"prev":%s,"next":%s,"last":%d,"pages":%d,"items":%d,"data":`,
		prev, next, r.Pages, r.Pages, r.Total)
}
