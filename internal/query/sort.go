package query

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// A SortKey is one of the values by which a list is sorted.
type SortKey struct {
	Path       Path
	Descending bool
}

// orderKey appends bytes that compare as the list is sorted, strings by their first most bytes.
func (m *Matcher) orderKey(dst []byte, v jsontext.Value, most int) []byte {
	m.full = nil
	for _, k := range m.q.Sort {
		start := len(dst)
		found, _ := m.find(k.Path, v)
		dst = appendOrderKey(dst, found, most)
		for i := start; k.Descending && i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}

// keptKey is how many bytes of its order key a row has.
const keptKey = 256

// A row is an item to be sorted.
type row[T any] struct {
	item T
	at   int // its position before sorting, which orders equal items
	key  []byte
}

// Sort returns the first n items in the order of the query. value returns the
// JSON value of an item.
func Sort[T any](m *Matcher, items []T, value func(T) jsontext.Value, n int) ([]T, error) {
	compare := func(a, b row[T]) int {
		c := bytes.Compare(a.key, b.key)
		if c == 0 && len(a.key) == keptKey { // they may differ later
			c = bytes.Compare(m.orderKey(nil, value(a.item), math.MaxInt), m.orderKey(nil, value(b.item), math.MaxInt))
		}
		return cmp.Or(c, cmp.Compare(a.at, b.at))
	}
	// A page needs only the first n rows. Once there are twice as many, the later
	// half is dropped, and from then on every row after the last one kept.
	room := min(len(items), 2*n+64)
	rows := make([]row[T], 0, room)
	var keys []byte // of the rows since the latest cut
	var last *row[T]
	cut := func() {
		slices.SortFunc(rows, compare)
		rows = rows[:min(n, len(rows))]
	}
	for i, item := range items {
		start := len(keys)
		keys = m.orderKey(keys, value(item), keptKey)
		keys = keys[:min(len(keys), start+keptKey)]
		if m.err != nil {
			return nil, m.err
		}
		at := row[T]{item, i, keys[start:len(keys):len(keys)]}
		if last != nil && compare(at, *last) > 0 {
			keys = keys[:start]
			continue
		}
		rows = append(rows, at)
		if len(rows) == room && n < len(rows) {
			cut()
			keys = nil
			if n > 0 {
				end := rows[n-1]
				last = &end
			}
		}
	}
	cut()
	out := make([]T, len(rows))
	for i, at := range rows {
		out[i] = at.item
	}
	return out, nil
}
