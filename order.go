package pickup

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// An ordered index has every record of a collection once, in the order of one
// of their members and, where that is equal, in their own. With it the first
// page of a sorted list is read and not searched for, and so are the records
// with a value between two others. Its keys are an order key and the record's
// place.

// orderKeyLen is how long an order key may be. Values that differ only behind
// that have the same one, and are told apart when they are read.
const orderKeyLen = 64

// fewRecords is up to where a collection is gone through faster than an index
// is worth.
const fewRecords = 1000

// orderKey returns the order key of a value, or of a missing one where it is
// nil: bytes that stand to each other as the values do.
func orderKey(v jsontext.Value) []byte {
	dst := make([]byte, 0, 32)
	switch v.Kind() {
	case '0':
		dst = orderNumber(append(dst, rankNumber), parseDecimal(v))
	case '"':
		dst = orderText(append(dst, rankString), unquoted(v))
	case 't', 'f':
		dst = append(append(dst, rankBool), v...)
	case '{', '[':
		dst = append(dst, rankObject)
	default:
		dst = append(dst, rankNone)
	}
	return shortened(dst)
}

func shortened(key []byte) []byte { return key[:min(len(key), orderKeyLen)] }

// orderNumber appends a sign, the place of the point and the digits; for
// a negative number all of them inverted.
func orderNumber(dst []byte, d decimal) []byte {
	if len(d.head)+len(d.tail) == 0 {
		return append(dst, 1)
	}
	sign := byte(2)
	if d.negative {
		sign = 0
	}
	dst = append(dst, sign)
	start := len(dst)
	dst = binary.BigEndian.AppendUint64(dst, uint64(d.point)+1<<63)
	dst = append(append(append(dst, d.head...), d.tail...), 0)
	if d.negative {
		for i := start; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}

// orderText appends text so that its bytes are ordered as compareText orders
// it: what comes before U+E000 in UTF-16 comes before it here, and an end comes
// before everything.
func orderText(dst, s []byte) []byte {
	for _, c := range s[:min(len(s), orderKeyLen)] {
		switch {
		case c <= 1:
			dst = append(dst, 1, c)
		case c == 0xee || c == 0xef:
			dst = append(dst, c+0x10)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, 0)
}

// ordered returns the ordered index over the member called name, or nil where
// there is none yet: the first that asks for it does without, so that a list
// that is sorted once costs no more than that.
func (c *collection) ordered(name string) *index {
	x := c.indexes
	if c.records.Len() <= fewRecords || !x.occurs(name, c.records) {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if tree := x.inOrder[name]; tree != nil {
		return tree
	}
	if len(x.byName)+len(x.inOrder) >= maxIndexes {
		return nil
	}
	if !x.asked[name] {
		if x.asked == nil || len(x.asked) >= maxIndexes {
			x.asked = make(map[string]bool)
		}
		x.asked[name] = true
		return nil
	}
	tree := build(c.records, func(r *Record, yield func(string)) { yield(placeKey(r, name)) })
	if x.inOrder == nil {
		x.inOrder = make(map[string]*index)
	}
	x.inOrder[name] = tree
	return tree
}

// placeKey returns a record's key in the ordered index over a member.
func placeKey(r *Record, name string) string {
	v, _ := member(r.Value, name)
	return string(binary.BigEndian.AppendUint64(orderKey(v), r.seq))
}

// page returns the records of a whole collection in q's order, from index from
// to before index to, if an ordered index gives them.
func (s *Snapshot) page(c *collection, q *Query, from, to int) ([]*Record, bool, error) {
	k := q.sort[0]
	if len(k.path) != 1 || k.embedded {
		return nil, false, nil
	}
	tree := c.ordered(k.path[0].name)
	if tree == nil {
		return nil, false, nil
	}
	var page, group []*Record // group: with the same order key, in their own order or in reverse
	var err error
	at, key := 0, ""
	flush := func() bool { // reports whether there is more to read
		if k.descending {
			slices.Reverse(group)
		}
		if at+len(group) > from {
			if len(group) > 1 && (len(q.sort) > 1 || len(key) == orderKeyLen) {
				group, err = s.sorted(q, group, to-at)
			}
			page = append(page, group[min(len(group), max(0, from-at)):min(len(group), to-at)]...)
		}
		at += len(group)
		group = group[:0]
		return at < to && err == nil
	}
	scan := tree.Scan
	if k.descending {
		scan = tree.Reverse
	}
	more := true
	scan(func(place string, r *Record) bool {
		if next := place[:len(place)-8]; next != key {
			if more = flush(); !more {
				return false
			}
			key = next
		}
		group = append(group, r)
		return true
	})
	if more {
		flush()
	}
	return page, true, err
}

// A span is where in an ordered index the values may lie that a query's lt,
// lte, gt and gte on one member want: numbers and strings, each from one order
// key to another.
type span struct{ number, text [2][]byte }

// spans returns the spans by member.
func (q *Query) spans() map[string]*span {
	var spans map[string]*span
	for _, f := range q.filter.parts {
		t := f.term
		if t == nil || f.not || t.embedded || len(t.path) != 1 || t.op < opLt || t.op > opGte {
			continue
		}
		if spans == nil {
			spans = make(map[string]*span)
		}
		s := spans[t.path[0].name]
		if s == nil {
			s = &span{
				number: [2][]byte{{rankNumber}, {rankNumber}},
				text:   [2][]byte{{rankString}, {rankString}},
			}
			spans[t.path[0].name] = s
		}
		end := 1
		if t.op == opGt || t.op == opGte {
			end = 0
		}
		o := t.values[0]
		s.text[end] = shortened(orderText([]byte{rankString}, o.text))
		if o.numeric {
			s.number[end] = shortened(orderNumber([]byte{rankNumber}, o.number))
		}
	}
	return spans
}

// between returns the records that an ordered index has in a span, and those
// whose member is an array, in the collection's order. It reports false where
// there are more than most.
func between(tree *index, s *span, most int) ([]*Record, bool) {
	var found []*Record
	for _, ends := range [][2][]byte{s.number, s.text, {{rankObject}, {rankObject}}} {
		tree.Ascend(string(ends[0]), func(key string, r *Record) bool {
			if upto := key[:min(len(key), len(ends[1]))]; upto > string(ends[1]) {
				return false
			}
			found = append(found, r)
			return len(found) <= most
		})
	}
	slices.SortFunc(found, func(a, b *Record) int { return cmp.Compare(a.seq, b.seq) })
	return found, len(found) <= most
}
