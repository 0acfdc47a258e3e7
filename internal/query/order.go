package query

import (
	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// OrderKeyLen is the maximum length of an order key. Values that differ only
// later share a key and must be compared themselves.
const OrderKeyLen = 64

// OrderKey returns bytes that compare as the values do. A nil value is a missing
// one.
func OrderKey(v jsontext.Value) []byte {
	dst := make([]byte, 0, 32)
	switch v.Kind() {
	case '0':
		dst = rawjson.ParseDecimal(v).AppendOrderKey(append(dst, rankNumber))
	case '"':
		dst = orderText(append(dst, rankString), rawjson.UnquoteBytes(v))
	case 't', 'f':
		dst = append(append(dst, rankBool), v...)
	case '{', '[':
		dst = append(dst, rankObject)
	default:
		dst = append(dst, rankNone)
	}
	return shortened(dst)
}

func shortened(key []byte) []byte { return key[:min(len(key), OrderKeyLen)] }

// orderText appends text as bytes that compare as compareText does. The end of a
// text comes before every character.
func orderText(dst, s []byte) []byte {
	for _, c := range s[:min(len(s), OrderKeyLen)] {
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

// A Span is the part of an ordered index that the lt, lte, gt and gte of a query
// on one field may select: numbers and strings, each from one order key to
// another.
type Span struct{ number, text [2][]byte }

// Spans returns the spans by field.
func (q *Query) Spans() map[string]*Span {
	var spans map[string]*Span
	for _, f := range q.filter.parts {
		t := f.term
		if t == nil || f.not || t.embedded || len(t.path) != 1 || t.op < opLt || t.op > opGte {
			continue
		}
		if spans == nil {
			spans = make(map[string]*Span)
		}
		s := spans[t.path[0].name]
		if s == nil {
			s = &Span{
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
			s.number[end] = shortened(o.number.AppendOrderKey([]byte{rankNumber}))
		}
	}
	return spans
}

// Ranges returns the ranges of order keys, ends included, of the values in the
// span and of arrays.
func (s *Span) Ranges() [3][2][]byte {
	return [3][2][]byte{s.number, s.text, {{rankObject}, {rankObject}}}
}
