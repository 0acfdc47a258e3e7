package openapi

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// An object is a JSON object under construction, whose members keep their order.
// Values are objects, lists, strings, bools, ints, and jsontext.Value for text
// that is JSON already.
type object []entry

type entry struct {
	name  string
	value any
}

type list []any

// with returns o with one more member, unless the value is empty.
func (o object) with(name string, value any) object {
	switch v := value.(type) {
	case string:
		if v == "" {
			return o
		}
	case object:
		if len(v) == 0 {
			return o
		}
	case list:
		if len(v) == 0 {
			return o
		}
	}
	return append(o, entry{name, value})
}

// appendDocument appends a value as compact JSON.
func appendDocument(b []byte, v any) []byte {
	switch v := v.(type) {
	case object:
		b = append(b, '{')
		for _, e := range v {
			b = append(rawjson.AppendQuote(rawjson.AppendComma(b), e.name), ':')
			b = appendDocument(b, e.value)
		}
		return append(b, '}')
	case list:
		b = append(b, '[')
		for _, e := range v {
			b = appendDocument(rawjson.AppendComma(b), e)
		}
		return append(b, ']')
	case string:
		return rawjson.AppendQuote(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case jsontext.Value:
		return append(b, v...)
	}
	panic("openapi: value of unknown type")
}
