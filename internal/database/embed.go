package database

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/query"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// maxEmbedded is the maximum number of embedded bytes in one answer. Levels
// multiply, so their number is not limited.
const maxEmbedded = 128 << 20

// An embedder embeds related records into the records of one answer.
type embedder struct {
	snap  *Snapshot
	known map[embedded]*relation // nil if it is not a relation
	size  int                    // bytes so far
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

// append appends a value of the collection with the embedded records, which
// replace a field of their name or follow the last one. The error is a
// *query.Error.
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
		switch {
		case err != nil:
			return dst, err
		case !found:
			dst = dst[:mark]
			continue
		}
		if b.size += len(dst) - mark; b.size > maxEmbedded {
			return dst, &query.Error{Parameter: e.Parameter, Detail: fmt.Sprintf("an answer holds at most %d MiB of embedded records: ask for a page", maxEmbedded>>20)}
		}
		if _, has := rawjson.Member(v, e.Name); has {
			merged := rawjson.MergeMembers(slices.Concat(dst[start:mark], []byte("}")), slices.Concat([]byte("{"), dst[name:], []byte("}")))
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

// referring returns the records of a collection, in their order, whose field called key
// equals id, or (if lists) is an array that contains it.
func (s *Snapshot) referring(collection, key, id string, lists bool) []*Record {
	c := s.byName[collection]
	if !c.indexes.occurs(key, c.records) {
		return nil
	}
	keys := query.KeysOf(id)
	found, _ := find(c.indexes.get(key, c.records), keys, c.records.Len()*len(keys))
	return slices.DeleteFunc(found, func(r *Record) bool {
		if lists {
			return !holdsReference(r.Value, key, id)
		}
		v, _ := rawjson.Member(r.Value, key)
		return !query.RefersTo(v, id)
	})
}
