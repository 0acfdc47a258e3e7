package query

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// A sortKey is one of the values by which a list is sorted.
type sortKey struct {
	path       Path
	descending bool
	embedded   bool // the path begins in what _embed puts into the record
}

// Kinds of values in the order of a list: null and what is missing come last,
// or first where the order is descending.
const (
	rankNumber = iota
	rankString
	rankBool
	rankObject // arrays too; they are as great as each other
	rankNone
)

// A sortValue is a value as it is sorted.
type sortValue struct {
	rank  uint8
	quick bool    // n is the exact value of the number
	n     float64 // where quick
	text  []byte  // of a number its spelling
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
// exponent. Between such numbers floating point knows every difference.
func quickNumber(s []byte) (n float64, ok bool) {
	if len(s) > 17 {
		return 0, false
	}
	digits, scale, point := int64(0), 1.0, false
	for i, c := range s {
		switch {
		case c == '-' && i == 0:
		case c == '.':
			point = true
		case c < '0' || c > '9':
			return 0, false
		default:
			digits = digits*10 + int64(c-'0')
			if point {
				scale *= 10
			}
		}
	}
	if digits >= 1e15 {
		return 0, false
	}
	if s[0] == '-' {
		digits = -digits
	}
	return float64(digits) / scale, true
}

// A row is an item on its way to its place.
type row[T any] struct {
	item T
	at   int // its position before sorting, which orders equal items
	keys []sortValue
}

// Sort returns the first n items in the order of m's query. value returns the
// JSON value that an item is sorted by.
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
	// A page needs only the items up to its end. Rows are collected until there
	// are twice as many, then the later half is dropped, and with it every row
	// that follows the last one kept.
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
