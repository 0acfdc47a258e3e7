package pickup

import (
	"slices"
	"strconv"
)

// A Result is what a query asks for, in one snapshot.
type Result struct {
	Records []*Record // in the order that was asked for, of the page that was asked for
	Total   int       // of all pages
	Offset  int       // how many come before Records

	Dialect Dialect // how paging was asked for, which decides how it is answered
	Page    int     // from 1, of ByPage and Envelope
	Pages   int     // of ByPage and Envelope: how many; 0 where a list is empty, but 1 in an Envelope
	Size    int     // the most records a page holds; 0: no bound was given

	end   int // index behind the last of Records
	snap  *Snapshot
	query *Query
}

// AppendJSON appends the body of the answer: an array of records, or in the
// Envelope dialect an object with the array in "data". The error is
// a *QueryError, where the answer would hold too much.
func (r *Result) AppendJSON(dst []byte) (_ []byte, err error) {
	if r.Dialect == Envelope {
		dst = append(dst, `{"first":1,"prev":`...)
		dst = appendPage(dst, r.Page-1, r.Page > 1)
		dst = append(dst, `,"next":`...)
		dst = appendPage(dst, r.Page+1, r.Page < r.Pages)
		dst = append(dst, `,"last":`...)
		dst = strconv.AppendInt(dst, int64(r.Pages), 10)
		dst = append(dst, `,"pages":`...)
		dst = strconv.AppendInt(dst, int64(r.Pages), 10)
		dst = append(dst, `,"items":`...)
		dst = strconv.AppendInt(dst, int64(r.Total), 10)
		dst = append(dst, `,"data":`...)
	}
	dst = append(dst, '[')
	if len(r.query.embeds) == 0 && r.query.fields == nil {
		dst = appendWhole(dst, r.Records)
	} else if dst, err = r.appendShown(dst); err != nil {
		return dst, err
	}
	dst = append(dst, ']')
	if r.Dialect == Envelope {
		dst = append(dst, '}')
	}
	return dst, nil
}

// appendWhole appends records as they are, with commas between them.
func appendWhole(dst []byte, records []*Record) []byte {
	size := 0
	for _, r := range records {
		size += len(r.Value) + 1
	}
	dst = slices.Grow(dst, size+2) // once, and not each time that it is full
	for i, r := range records {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, r.Value...)
	}
	return dst
}

// appendShown appends records as the query shows them.
func (r *Result) appendShown(dst []byte) ([]byte, error) {
	b := embedder{snap: r.snap}
	for i, rec := range r.Records {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = r.query.appendRecord(dst, &b, rec); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func appendPage(dst []byte, page int, exists bool) []byte {
	if !exists {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, int64(page), 10)
}

// AppendRecord appends one record as q shows it: with what _embed and _expand
// put into it, reduced to its _fields. The error is a *QueryError, where it
// would hold too much.
func (s *Snapshot) AppendRecord(dst []byte, q *Query, r *Record) ([]byte, error) {
	return q.appendRecord(dst, &embedder{snap: s}, r)
}

func (q *Query) appendRecord(dst []byte, b *embedder, r *Record) ([]byte, error) {
	if q.fields == nil {
		return b.append(dst, q.collection, r.Value, q.embeds)
	}
	v := r.Value
	if len(q.embeds) > 0 {
		full, err := b.append(nil, q.collection, v, q.embeds)
		if err != nil {
			return dst, err
		}
		v = full
	}
	if v.Kind() != '{' { // an element that is no record is shown as it is
		return append(dst, v...), nil
	}
	dst, _ = q.fields.append(dst, v)
	return dst, nil
}
