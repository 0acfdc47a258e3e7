package query

import (
	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// OrderKeyLen is the maximum length of the order keys of an index. Values that differ
// only later share a key and must be compared themselves.
const OrderKeyLen = 64

// Ranks of values in a sorted list: null and missing values come last, or first
// in descending order.
const (
	rankNumber = iota
	rankString
	rankBool
	rankObject // arrays too; they are all equal
	rankNone
)

func shortened(key []byte) []byte { return key[:min(len(key), OrderKeyLen)] }

// appendOrderKey appends bytes that compare as the values do, strings by their first most
// bytes. No key is the beginning of another.
func appendOrderKey(dst []byte, v jsontext.Value, most int) []byte {
	switch v.Kind() {
	case '0':
		return rawjson.AppendOrderKey(append(dst, rankNumber), v)
	case '"':
		s := rawjson.UnquoteBytes(v)
		return appendTextKey(dst, s[:min(len(s), most)])
	case 't', 'f':
		return append(append(dst, rankBool), v...)
	case '{', '[':
		return append(dst, rankObject)
	}
	return append(dst, rankNone)
}

// appendTextKey appends bytes that compare as JavaScript compares texts, by their UTF-16
// code units: unlike in UTF-8, characters of four bytes (two code units) come before
// U+E000 to U+FFFF. The end of a text comes before every character.
func appendTextKey(dst, s []byte) []byte {
	dst = append(dst, rankString)
	for _, c := range s {
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

// A Span has the parts of a list sorted by one field that the lt, lte, gt and gte of a query on one
// field may select, each from one order key to another, ends included: of numbers, of
// strings, and all arrays and objects.
type Span [3][2][]byte

// Spans returns the spans by field.
func (q *Query) Spans() map[string]*Span {
	var spans map[string]*Span
	for _, f := range q.filter.parts {
		t := f.term
		if t == nil || f.not || len(t.path) != 1 || q.EmbedsAt(t.path) || !t.op.compares() {
			continue
		}
		if spans == nil {
			spans = make(map[string]*Span)
		}
		s := spans[t.path[0]]
		if s == nil {
			s = &Span{{{rankNumber}, {rankNumber}}, {{rankString}, {rankString}}, {{rankObject}, {rankObject}}}
			spans[t.path[0]] = s
		}
		end := 1
		if t.op == opGt || t.op == opGte {
			end = 0
		}
		o := t.values[0]
		s[1][end] = shortened(o.textKey)
		if o.numberKey != nil {
			s[0][end] = shortened(o.numberKey)
		}
	}
	return spans
}
