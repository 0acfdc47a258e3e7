package database

import (
	"slices"

	"pickup/internal/query"
)

// A Result is what a query asks for, in one snapshot.
type Result struct {
	Records []*Record // in the order that was asked for, of the page that was asked for
	query.Window

	snap  *Snapshot
	query *query.Query
}

// AppendJSON appends the body of the answer: an array of records, or in the
// Envelope dialect an object with the array in "data". The error is
// a *query.Error, where the answer would hold too much.
func (r *Result) AppendJSON(dst []byte) (_ []byte, err error) {
	if r.Dialect == query.Envelope {
		dst = r.AppendEnvelope(dst)
	}
	dst = append(dst, '[')
	if len(r.query.Embeds()) == 0 && !r.query.Projects() {
		dst = appendWhole(dst, r.Records)
	} else if dst, err = r.appendShown(dst); err != nil {
		return dst, err
	}
	dst = append(dst, ']')
	if r.Dialect == query.Envelope {
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
		if dst, err = b.appendRecord(dst, r.query, rec); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// AppendRecord appends one record as q shows it: with what _embed and _expand
// put into it, reduced to its _fields. The error is a *query.Error, where it
// would hold too much.
func (s *Snapshot) AppendRecord(dst []byte, q *query.Query, r *Record) ([]byte, error) {
	return (&embedder{snap: s}).appendRecord(dst, q, r)
}

func (b *embedder) appendRecord(dst []byte, q *query.Query, r *Record) ([]byte, error) {
	if !q.Projects() {
		return b.append(dst, q.Collection(), r.Value, q.Embeds())
	}
	v := r.Value
	if len(q.Embeds()) > 0 {
		full, err := b.append(nil, q.Collection(), v, q.Embeds())
		if err != nil {
			return dst, err
		}
		v = full
	}
	if v.Kind() != '{' { // an element that is no record is shown as it is
		return append(dst, v...), nil
	}
	return q.AppendFields(dst, v), nil
}
