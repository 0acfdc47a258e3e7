package query

import (
	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// OrderKeyLen is the maximum length of order keys in an index. Values that differ only after
// that length share a key, and must be compared. A key and the place of its record fill 64
// bytes, a size that is allocated without waste.
const OrderKeyLen = 56

// Ranks of values in a sorted list. In descending order, null and missing values come first.
const (
	rankNumber = iota
	rankString
	rankBool
	rankObject // arrays, too; all are equal
	rankNone   // null or missing
)

func shortened(key []byte) []byte { return key[:min(len(key), OrderKeyLen)] }

// appendOrderKey appends bytes that compare as the values do, strings by the first most
// bytes. No key is a prefix of another key.
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

// appendTextKey appends bytes that compare as JavaScript compares texts, by UTF-16 code
// units: unlike in UTF-8, characters of four bytes (two code units) come before
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

// A Span covers all values of a field that the lt, lte, gt and gte of a query may select. A Span
// has three ranges of order keys, ends included: for numbers, for strings, and for arrays and
// objects.
type Span [3][2][]byte

// Spans returns the spans by field.
func (q *Query) Spans() map[string]*Span {
	var spans map[string]*Span
	for _, f := range q.filter.parts {
		name, ok := q.testsField(f)
		if !ok || !f.term.op.compares() {
			continue
		}
		if spans == nil {
			spans = make(map[string]*Span)
		}
		s := spans[name]
		if s == nil {
			s = &Span{{{rankNumber}, {rankNumber}}, {{rankString}, {rankString}}, {{rankObject}, {rankObject}}}
			spans[name] = s
		}
		t := f.term
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
