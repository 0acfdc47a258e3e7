package pickup

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// An embed is a name in _embed or _expand, with what is to be put into the
// records that stand behind it.
type embed struct {
	parameter string
	name      string
	expand    bool
	inner     []*embed
}

// Limits of what is embedded. Levels multiply, so it is the size of the whole
// that is limited.
const (
	maxEmbeds      = 32
	maxEmbedLevels = 8
	maxEmbedded    = 128 << 20 // bytes in one answer
)

// addEmbed enters a path of names, each within the one before.
func addEmbed(list []*embed, parameter string, names []string) []*embed {
	if len(names) == 0 {
		return list
	}
	expand := parameter == "_expand"
	for _, e := range list {
		if e.name == names[0] && e.expand == expand {
			e.inner = addEmbed(e.inner, parameter, names[1:])
			return list
		}
	}
	return append(list, &embed{parameter, names[0], expand, addEmbed(nil, parameter, names[1:])})
}

// An embedder puts related records into records. It is for one answer.
type embedder struct {
	snap  *Snapshot
	known map[*embed]map[string]*relation // by the collection of the record; nil where it is no relation
	size  int                             // bytes so far
}

// relation is Snapshot.relation, remembered.
func (b *embedder) relation(collection string, e *embed) *relation {
	byCollection := b.known[e]
	if rel, ok := byCollection[collection]; ok {
		return rel
	}
	var rel *relation
	if found, ok := b.snap.relation(collection, e.name, e.expand); ok {
		rel = &found
	}
	if byCollection == nil {
		if b.known == nil {
			b.known = make(map[*embed]map[string]*relation)
		}
		byCollection = make(map[string]*relation)
		b.known[e] = byCollection
	}
	byCollection[collection] = rel
	return rel
}

// append appends a value of the collection with what is embedded: in the place
// of a member of that name, or behind the last. The error is a *QueryError.
func (b *embedder) append(dst []byte, collection string, v jsontext.Value, embeds []*embed) ([]byte, error) {
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
		if mark > start+1 {
			dst = append(dst, ',')
		}
		name := len(dst)
		dst = append(appendName(dst, e.name), ':')
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
			return dst, &QueryError{Parameter: e.parameter, Detail: fmt.Sprintf("an answer holds at most %d MiB of embedded records: ask for a page", maxEmbedded>>20)}
		}
		if _, has := member(v, e.name); has {
			merged := merge(slices.Concat(dst[start:mark], []byte("}")), slices.Concat([]byte("{"), dst[name:], []byte("}")))
			dst = append(dst[:start], merged[:len(merged)-1]...)
		}
	}
	return append(dst, '}'), nil
}

// related appends what stands behind e for the record v, and reports whether
// there is anything.
func (b *embedder) related(dst []byte, rel relation, v jsontext.Value, e *embed) ([]byte, bool, error) {
	if !rel.children {
		id, ok := ID(v, rel.key)
		if !ok {
			return dst, false, nil
		}
		for _, name := range rel.in {
			if r, err := b.snap.Get(name, id); err == nil {
				dst, err = b.append(dst, name, r.Value, e.inner)
				return dst, true, err
			}
		}
		return dst, false, nil
	}
	dst = append(dst, '[')
	if id, ok := ID(v, rel.id); ok {
		n := len(dst)
		for _, r := range b.snap.referring(rel.in[0], rel.key, id) {
			if len(dst) > n {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = b.append(dst, rel.in[0], r.Value, e.inner); err != nil {
				return dst, true, err
			}
		}
	}
	return append(dst, ']'), true, nil
}

// referring returns the records of a collection whose member called key is
// that id, in their order.
func (s *Snapshot) referring(collection, key, id string) []*Record {
	c := s.byName[collection]
	if !c.indexes.occurs(key, c.records) {
		return nil
	}
	keys := newOperand(id).keys()
	found, _ := find(c.indexes.get(key, c.records), keys, c.records.Len()*len(keys))
	children := found[:0]
	for _, r := range found {
		if of, _ := ID(r.Value, key); of == id {
			children = append(children, r)
		}
	}
	return children
}
