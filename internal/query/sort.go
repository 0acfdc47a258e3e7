package query

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// A sortKey is one of the values by which a list is sorted.
type sortKey struct {
	path       Path
	descending bool
	embedded   bool // the path begins in an embedded relation
}

// Ranks of values in a sorted list: null and missing values come last, or first
// in descending order.
const (
	rankNumber = iota
	rankString
	rankBool
	rankObject // arrays too; they are all equal
	rankNone
)

// A sortValue is a value prepared for comparison.
type sortValue struct {
	rank  uint8
	quick bool // n orders the number exactly
	n     float64
	text  []byte // the spelling of a number
}

func (m *Matcher) sortValue(k sortKey, v jsontext.Value) sortValue {
	if k.embedded {
		v = m.embedded(v)
	}
	v, _ = k.path.Find(v)
	switch v.Kind() {
	case '0':
		n, quick := quickNumber(v)
		return sortValue{rankNumber, quick, n, v}
	case '"':
		return sortValue{rank: rankString, text: rawjson.UnquoteBytes(v)}
	case 't', 'f':
		return sortValue{rank: rankBool, text: v}
	case '{', '[':
		return sortValue{rank: rankObject}
	}
	return sortValue{rank: rankNone}
}

func (a *sortValue) compare(b *sortValue) int {
	if a.rank != b.rank {
		return cmp.Compare(a.rank, b.rank)
	}
	switch {
	case a.rank == rankNumber && a.quick && b.quick:
		return cmp.Compare(a.n, b.n)
	case a.rank == rankNumber:
		return rawjson.ParseDecimal(a.text).Compare(rawjson.ParseDecimal(b.text))
	case a.rank == rankString:
		return compareText(a.text, b.text)
	}
	return bytes.Compare(a.text, b.text) // false before true
}

// quickNumber returns the value of a number of at most 15 digits without an
// exponent. Floating point distinguishes all of these.
func quickNumber(s []byte) (n float64, ok bool) {
	if len(s) > 15 || bytes.IndexByte(s, 'e') >= 0 || bytes.IndexByte(s, 'E') >= 0 {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(s), 64)
	return n, err == nil
}

// A row is an item with its sort values.
type row[T any] struct {
	item T
	at   int // its position before sorting, which orders equal items
	keys []sortValue
}

// Sort returns the first n items in the order of the query. value returns the
// JSON value of an item.
func Sort[T any](m *Matcher, items []T, value func(T) jsontext.Value, n int) ([]T, error) {
	by := m.q.sort
	compare := func(a, b row[T]) int {
		for i := range by {
			if c := a.keys[i].compare(&b.keys[i]); c != 0 {
				if by[i].descending {
					return -c
				}
				return c
			}
		}
		return cmp.Compare(a.at, b.at)
	}
	// A page needs only the first n rows. Once there are twice as many, the later
	// half is dropped, and from then on every row after the last one kept.
	room := min(len(items), 2*n+64)
	rows := make([]row[T], 0, room)
	keys := make([]sortValue, room*len(by))
	var last *row[T]
	cut := func() {
		slices.SortFunc(rows, compare)
		rows = rows[:min(n, len(rows))]
	}
	for i, item := range items {
		at := row[T]{item, i, keys[:len(by):len(by)]}
		m.full = nil
		for k := range by {
			at.keys[k] = m.sortValue(by[k], value(item))
		}
		if m.err != nil {
			return nil, m.err
		}
		if last != nil && compare(at, *last) > 0 {
			continue
		}
		keys = keys[len(by):]
		rows = append(rows, at)
		if len(rows) == room && n < len(rows) {
			cut()
			keys = make([]sortValue, (room-len(rows))*len(by))
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
