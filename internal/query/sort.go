package query

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// A SortKey is a value by which a list is sorted.
type SortKey struct {
	Path       Path
	Descending bool
	ByValue    bool // whether strings that are numbers sort as numbers
}

// ByValue returns q with more sort keys by value: a key sorts by value if the list has numbers as
// well as strings that are numbers, according to counts. It reports whether keys have changed.
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

// Numbers counts the numbers in a list, and the strings that are numbers. A list with both
// sorts by value.
type Numbers struct{ Numbers, Numerals int }

// Add adds by to the count for v.
func (n *Numbers) Add(v jsontext.Value, by int) {
	if v.Kind() == '0' {
		n.Numbers += by
	} else if _, ok := numeral(v); ok {
		n.Numerals += by
	}
}

// Mixed reports whether the list has both.
func (n *Numbers) Mixed() bool {
	return n.Numbers > 0 && n.Numerals > 0
}

// numeral returns the number that the string v spells, as in JSON.
func numeral(v jsontext.Value) (jsontext.Value, bool) {
	if v.Kind() != '"' || len(v) < 3 || v[1] != '-' && v[1] != '\\' && (v[1] < '0' || v[1] > '9') {
		return nil, false // most strings
	}
	text := rawjson.UnquoteBytes(v)
	return text, isNumber(text)
}

// OrderKey returns the first OrderKeyLen bytes of the order key of v. Order keys compare as the
// list is sorted. OrderKey adds by to the counts for each sort key.
func (m *Matcher) OrderKey(v jsontext.Value, counts []Numbers, by int) []byte {
	key := m.orderKey(make([]byte, 0, OrderKeyLen+8), v, OrderKeyLen, counts, by)
	return key[:min(len(key), OrderKeyLen)]
}

// orderKey appends the order key of v, with the first most bytes of strings. It adds by to the
// counts for each sort key.
func (m *Matcher) orderKey(dst []byte, v jsontext.Value, most int, counts []Numbers, by int) []byte {
	m.full = nil
	for n, k := range m.q.Sort {
		start := len(dst)
		found, _ := m.find(k.Path, v)
		counts[n].Add(found, by)
		if number, ok := numeral(found); ok && k.ByValue {
			found = number
		}
		dst = appendOrderKey(dst, found, most)
		for i := start; k.Descending && i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}

// maxRowKey is the maximum length of the order key of a row.
const maxRowKey = 256

// A row is an item to be sorted.
type row[T any] struct {
	item T
	at   int // the position before sorting, which orders equal items
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

// sortCounting is Sort without changes of the sort keys. It counts the values of each key.
func sortCounting[T any](m *Matcher, items []T, value func(T) jsontext.Value, n int, counts []Numbers) ([]T, error) {
	compare := func(a, b row[T]) int {
		c := bytes.Compare(a.key, b.key)
		if c == 0 && len(a.key) == maxRowKey { // the whole keys may differ
			whole := func(r row[T]) []byte { return m.orderKey(nil, value(r.item), math.MaxInt, counts, 0) }
			c = bytes.Compare(whole(a), whole(b))
		}
		return cmp.Or(c, cmp.Compare(a.at, b.at))
	}
	// A page needs only the first n rows. Once there are twice as many, drop the later half,
	// and from then on every row after the last of the first half.
	room := min(len(items), 2*n+64)
	rows := make([]row[T], 0, room)
	var keys []byte // the keys of the rows since the latest cut
	var last *row[T]
	cut := func() {
		slices.SortFunc(rows, compare)
		rows = rows[:min(n, len(rows))]
	}
	for i, item := range items {
		start := len(keys)
		keys = m.orderKey(keys, value(item), maxRowKey, counts, 1)
		keys = keys[:min(len(keys), start+maxRowKey)]
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
