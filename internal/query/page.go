package query

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A Dialect is a way to ask for part of a list, and to answer it.
type Dialect uint8

const (
	Whole    Dialect = iota // all of it
	Range                   // _start, _end, _limit: an array, the total in a header
	ByPage                  // _page alone or with _limit: an array, the total in a header, links
	Envelope                // _page and _per_page: an object with the array and the numbers of pages
)

// defaultSize is the size of a page where none is given.
const defaultSize = 10

// paging is the part of a list that is asked for.
type paging struct {
	dialect    Dialect
	page, size int
	start, end int // of Range; negative: counted from the end of the list
	hasEnd     bool
	hasLimit   bool
	asked      string // the parameter that size comes from, "" where it is not given
}

// PageSize returns how many records a client asks to have on a page at most, and
// by which parameter; 0 where it says nothing. From _start and _end that are
// counted from the end of a list it follows only when the list is known, see
// Window.
func (q *Query) PageSize() (size int, parameter string) {
	if q.paging.asked == "" {
		return 0, ""
	}
	return q.paging.size, q.paging.asked
}

// A Window is the part of a list that a query asks for.
type Window struct {
	Total       int // of all pages
	Offset, End int // the part, from 0 and not including End

	Dialect Dialect // how paging was asked for, which decides how it is answered
	Page    int     // from 1, of ByPage and Envelope
	Pages   int     // of ByPage and Envelope: how many; 0 where a list is empty, but 1 in an Envelope
	Size    int     // the most records a page holds; 0: no bound was given
}

// Window returns the part of a list of total records that q asks for.
func (q *Query) Window(total int) Window {
	p := &q.paging
	r := Window{Total: total, Dialect: p.dialect, Size: p.size, End: total}
	switch p.dialect {
	case Range:
		r.Offset = fromStart(p.start, total)
		if p.hasEnd {
			r.End = max(r.Offset, fromStart(p.end, total))
		} else if p.hasLimit {
			r.End = min(total, r.Offset+p.size)
		}
	case ByPage, Envelope:
		r.Page, r.Pages = p.page, (total+p.size-1)/p.size
		if p.dialect == Envelope { // whose pages are never none, and whose last one follows itself
			r.Pages = max(1, r.Pages)
			r.Page = min(r.Page, r.Pages)
		}
		r.Offset = min(total, (r.Page-1)*p.size)
		r.End = min(total, r.Offset+p.size)
	}
	return r
}

// fromStart returns an index into a list of that length: a negative one is
// counted from its end.
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

// Links returns the links of a paged list, none where the list is whole or has
// no other part. The rawQuery is the one that was asked.
func (r Window) Links(rawQuery string) []Link {
	var links []Link
	switch {
	case r.Dialect == Range && r.Size > 0 && (r.Offset > 0 || r.End < r.Total):
		add := func(rel string, start int) {
			query := withParameter(rawQuery, "_start", start)
			if slices.ContainsFunc(strings.Split(query, "&"), func(part string) bool { return parameterName(part) == "_end" }) {
				query = withParameter(query, "_end", start+r.Size)
			}
			links = append(links, Link{rel, query})
		}
		add("first", 0)
		if r.Offset > 0 {
			add("prev", max(0, r.Offset-r.Size))
		}
		if r.End < r.Total {
			add("next", r.End)
		}
		add("last", max(0, r.Total-1)/r.Size*r.Size)
	case r.Pages > 1:
		add := func(rel string, page int) {
			links = append(links, Link{rel, withParameter(rawQuery, "_page", page)})
		}
		add("first", 1)
		if r.Page > 1 {
			add("prev", min(r.Page-1, r.Pages))
		}
		if r.Page < r.Pages {
			add("next", r.Page+1)
		}
		add("last", r.Pages)
	}
	return links
}

// withParameter returns a query in which the parameter of that name has the value
// once. The name needs no percent-encoding.
func withParameter(rawQuery, name string, value int) string {
	var out []string
	done := false
	for part := range strings.SplitSeq(rawQuery, "&") {
		if parameterName(part) == name {
			if done {
				continue
			}
			part, done = name+"="+strconv.Itoa(value), true
		}
		if part != "" {
			out = append(out, part)
		}
	}
	if !done {
		out = append(out, name+"="+strconv.Itoa(value))
	}
	return strings.Join(out, "&")
}

// parameterName returns the name of one part of a query.
func parameterName(part string) string {
	raw, _, _ := strings.Cut(part, "=")
	name, err := url.QueryUnescape(raw)
	if err != nil {
		return raw
	}
	return name
}

// AppendEnvelope appends the beginning of the object that an answer in the
// Envelope dialect is, up to the array in "data".
func (r Window) AppendEnvelope(dst []byte) []byte {
	prev, next := "null", "null"
	if r.Page > 1 {
		prev = strconv.Itoa(r.Page - 1)
	}
	if r.Page < r.Pages {
		next = strconv.Itoa(r.Page + 1)
	}
	return fmt.Appendf(dst, `{"first":1,"prev":%s,"next":%s,"last":%d,"pages":%d,"items":%d,"data":`, prev, next, r.Pages, r.Pages, r.Total)
}
