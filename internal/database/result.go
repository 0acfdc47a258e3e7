package database

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/query"
	"pickup/internal/rawjson"
)

// A Result is the answer to a query of one snapshot.
type Result struct {
	Records []*Record // of the page, in the query's order
	query.Window

	snap  *Snapshot
	query *query.Query
}

// AppendJSON appends the body of the answer: an array of records, or in the
// Envelope dialect an object with the array in "data". The error is a
// *query.Error: too much is embedded.
func (r *Result) AppendJSON(dst []byte) (_ []byte, err error) {
	if r.Dialect == query.Envelope {
		dst = r.AppendEnvelope(dst)
	}
	dst = append(dst, '[')
	if len(r.query.Embeds) == 0 && !r.query.Projects() {
		size := 2
		for _, record := range r.Records {
			size += len(record.Value) + 1
		}
		dst = slices.Grow(dst, size)
	}
	b := embedder{snap: r.snap}
	for _, record := range r.Records {
		if dst, err = b.appendRecord(rawjson.AppendComma(dst), r.query, record.Value); err != nil {
			return dst, err
		}
	}
	dst = append(dst, ']')
	if r.Dialect == query.Envelope {
		dst = append(dst, '}')
	}
	return dst, nil
}

// AppendRecord appends one record with the relations that q embeds, reduced to
// its _fields. The error is a *query.Error: too much is embedded.
func (s *Snapshot) AppendRecord(dst []byte, q *query.Query, v jsontext.Value) ([]byte, error) {
	return (&embedder{snap: s}).appendRecord(dst, q, v)
}

func (b *embedder) appendRecord(dst []byte, q *query.Query, v jsontext.Value) ([]byte, error) {
	if !q.Projects() {
		return b.append(dst, q.Collection, v, q.Embeds)
	}
	if v.Kind() != '{' {
		return append(dst, v...), nil
	}
	if len(q.Embeds) > 0 {
		var err error
		if v, err = b.append(nil, q.Collection, v, q.Embeds); err != nil {
			return dst, err
		}
	}
	return q.AppendFields(dst, v), nil
}
