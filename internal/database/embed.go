package database

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/query"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// maxEmbedded is the maximum number of embedded bytes in a response. The number of levels does not
// matter: levels multiply.
const maxEmbedded = 128 << 20

// An embedder embeds related records into the records of a response.
type embedder struct {
	snap  *Snapshot
	known map[embedded]*relation // relations by name, nil if a name is not a relation
	size  int                    // embedded bytes so far
}

type embedded struct {
	collection string
	embed      *query.Embed
}

// relation caches Snapshot.relation.
func (b *embedder) relation(collection string, e *query.Embed) *relation {
	key := embedded{collection, e}
	rel, ok := b.known[key]
	if ok {
		return rel
	}
	if found, ok := b.snap.relation(collection, e.Name, e.Expand); ok {
		rel = &found
	}
	if b.known == nil {
		b.known = make(map[embedded]*relation)
	}
	b.known[key] = rel
	return rel
}

// append appends a value of the collection with the embedded records. Embedded records replace a
// field of the same name or follow the last field. The error is a *query.Error.
func (b *embedder) append(dst []byte, collection string, v jsontext.Value, embeds []*query.Embed) ([]byte, error) {
	if len(embeds) == 0 || v.Kind() != '{' {
		return append(dst, v...), nil
	}
	start := len(dst)
	dst = append(dst, v[:len(v)-1]...)
	for _, e := range embeds {
		rel := b.relation(collection, e)
		if rel == nil {
			continue
		}
		mark := len(dst)
		dst = rawjson.AppendComma(dst)
		name := len(dst)
		dst = append(rawjson.AppendQuote(dst, e.Name), ':')
		var found bool
		var err error
		dst, found, err = b.related(dst, *rel, v, e)
		if err != nil {
			return dst, err
		}
		if !found {
			dst = dst[:mark]
			continue
		}
		b.size += len(dst) - mark
		if b.size > maxEmbedded {
			return dst, query.Errorf(e.Parameter, "a response holds at most %d MiB of embedded records: ask for a page",
				maxEmbedded>>20)
		}
		if _, has := rawjson.Member(v, e.Name); has {
			own := slices.Concat(dst[start:mark], []byte("}"))
			added := slices.Concat([]byte("{"), dst[name:], []byte("}"))
			merged := rawjson.MergeMembers(own, added)
			dst = append(dst[:start], merged[:len(merged)-1]...)
		}
	}
	return append(dst, '}'), nil
}

// related appends the records that e embeds into the record v, and reports whether
// there are any.
func (b *embedder) related(dst []byte, rel relation, v jsontext.Value, e *query.Embed) ([]byte, bool, error) {
	if !rel.children {
		id, ok := storage.ID(v, rel.key)
		if !ok {
			return dst, false, nil
		}
		for _, name := range rel.in {
			if r, err := b.snap.Get(name, id); err == nil {
				dst, err = b.append(dst, name, r.Value, e.Inner)
				return dst, true, err
			}
		}
		return dst, false, nil
	}
	dst = append(dst, '[')
	if id, ok := storage.ID(v, rel.id); ok {
		for _, r := range b.snap.referring(rel.in[0], rel.key, id, false) {
			var err error
			if dst, err = b.append(rawjson.AppendComma(dst), rel.in[0], r.Value, e.Inner); err != nil {
				return dst, true, err
			}
		}
	}
	return append(dst, ']'), true, nil
}

// A Result is the result of a query of a snapshot.
type Result struct {
	Records []*Record // the page, in the order of the query
	query.Window

	snap  *Snapshot
	query *query.Query
}

// AppendJSON appends the body of the response: an array of records or, in the Envelope
// dialect, an object with the array in "data". The error is a *query.Error if too much is
// embedded.
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

// AppendRecord appends a record with the relations that q embeds, reduced to the fields that
// q selects. The error is a *query.Error if too much is embedded.
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
