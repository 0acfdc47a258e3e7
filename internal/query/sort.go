package query

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// A SortKey is one of the values by which a list is sorted.
type SortKey struct {
	Path       Path
	Descending bool
	ByValue    bool // strings that are numbers sort as numbers, because the list has both
}

// ByValue returns q with more sort keys by value: those of which counts has numbers and
// strings that are numbers. It reports whether there are any.
func (q *Query) ByValue(counts []Numbers) (_ *Query, more bool) {
	n := *q
	n.Sort = slices.Clone(q.Sort)
	for i := range n.Sort {
		if k := &n.Sort[i]; !k.ByValue && counts[i].Mixed() {
			k.ByValue, more = true, true
		}
	}
	return &n, more
}

// Numbers counts the values of a list that are numbers, and those that are numbers spelled
// as strings. A list that has both sorts by value.
type Numbers struct{ Numbers, Numerals int }

// Add adds by to the counts of v.
func (n *Numbers) Add(v jsontext.Value, by int) {
	if v.Kind() == '0' {
		n.Numbers += by
	} else if _, ok := numeral(v); ok {
		n.Numerals += by
	}
}

// Mixed reports whether there are both.
func (n *Numbers) Mixed() bool { return n.Numbers > 0 && n.Numerals > 0 }

// AsNumber returns the number that the string v spells as JSON does, or otherwise v.
func AsNumber(v jsontext.Value) jsontext.Value {
	if number, ok := numeral(v); ok {
		return number
	}
	return v
}

func numeral(v jsontext.Value) (jsontext.Value, bool) {
	if v.Kind() != '"' || len(v) < 3 || v[1] != '-' && v[1] != '\\' && (v[1] < '0' || v[1] > '9') {
		return nil, false // most strings
	}
	text := rawjson.UnquoteBytes(v)
	return text, isNumber(text)
}

// OrderKey returns the first OrderKeyLen bytes that compare as the list is sorted. It adds by
// to the counts of the values of each sort key.
func (m *Matcher) OrderKey(v jsontext.Value, counts []Numbers, by int) []byte {
	key := m.orderKey(make([]byte, 0, OrderKeyLen+8), v, OrderKeyLen, counts, by)
	return key[:min(len(key), OrderKeyLen)]
}

// orderKey appends bytes that compare as the list is sorted, strings by their first most
// bytes. It adds by to the counts of the values of each sort key.
func (m *Matcher) orderKey(dst []byte, v jsontext.Value, most int, counts []Numbers, by int) []byte {
	m.full = nil
	for n, k := range m.q.Sort {
		start := len(dst)
		found, _ := m.find(k.Path, v)
		counts[n].Add(found, by)
		if k.ByValue {
			found = AsNumber(found)
		}
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
	counts := make([]Numbers, len(m.q.Sort))
	sorted, err := sortCounting(m, items, value, n, counts)
	q, more := m.q.ByValue(counts)
	if err != nil || !more {
		return sorted, err
	}
	m.q = q
	return sortCounting(m, items, value, n, counts)
}

// sortCounting is Sort with the keys as they are. It counts their values.
func sortCounting[T any](m *Matcher, items []T, value func(T) jsontext.Value, n int, counts []Numbers) ([]T, error) {
	compare := func(a, b row[T]) int {
		c := bytes.Compare(a.key, b.key)
		if c == 0 && len(a.key) == keptKey { // they may differ later
			whole := func(r row[T]) []byte { return m.orderKey(nil, value(r.item), math.MaxInt, counts, 0) }
			c = bytes.Compare(whole(a), whole(b))
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
		keys = m.orderKey(keys, value(item), keptKey, counts, 1)
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
