package pickup

import (
	"bytes"
	"cmp"
	"slices"
)

// A sortKey is one of the values by which a list is sorted.
type sortKey struct {
	path       path
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

func (m *matcher) sortValue(k sortKey, r *Record) sortValue {
	v := r.Value
	if k.embedded {
		v = m.embedded(r)
	}
	v, _ = k.path.walk(v)
	switch v.Kind() {
	case '0':
		n, quick := quickNumber(v)
		return sortValue{rankNumber, quick, n, v}
	case '"':
		return sortValue{rank: rankString, text: unquoted(v)}
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
		return parseDecimal(a.text).compare(parseDecimal(b.text))
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

// A row is a record on its way to its place.
type row struct {
	record *Record
	at     int // where it stood, which decides between equals
	keys   []sortValue
}

// sorted returns the first n records in q's order; those behind are left out.
func (s *Snapshot) sorted(q *Query, records []*Record, n int) ([]*Record, error) {
	m := &matcher{q: q, embedder: embedder{snap: s}}
	compare := func(a, b row) int {
		for i := range q.sort {
			if c := a.keys[i].compare(&b.keys[i]); c != 0 {
				if q.sort[i].descending {
					return -c
				}
				return c
			}
		}
		return cmp.Compare(a.at, b.at)
	}
	// A page needs no more than the records up to its end: rows are gathered
	// until they are twice as many, then half of them are out of the race, and
	// so is what comes behind the last of the others.
	room := min(len(records), 2*n+64)
	rows := make([]row, 0, room)
	keys := make([]sortValue, room*len(q.sort))
	var last *row
	cut := func() {
		slices.SortFunc(rows, compare)
		rows = rows[:min(n, len(rows))]
	}
	for i, r := range records {
		at := row{r, i, keys[:len(q.sort):len(q.sort)]}
		m.full = nil
		for k := range q.sort {
			at.keys[k] = m.sortValue(q.sort[k], r)
		}
		if m.err != nil {
			return nil, m.err
		}
		if last != nil && compare(at, *last) > 0 {
			continue
		}
		keys = keys[len(q.sort):]
		rows = append(rows, at)
		if len(rows) == room && n < len(rows) {
			cut()
			keys = make([]sortValue, (room-len(rows))*len(q.sort))
			if n > 0 {
				end := rows[n-1]
				last = &end
			}
		}
	}
	cut()
	out := make([]*Record, len(rows))
	for i, at := range rows {
		out[i] = at.record
	}
	return out, nil
}
