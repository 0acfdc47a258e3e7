package openapi

import (
	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// An object is a JSON object under construction, with fields in order. A value is an object, a
// list, a string, or JSON text as a jsontext.Value.
type object []entry

type entry struct {
	name  string
	value any
}

type list []any

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
	case jsontext.Value:
		return append(b, v...)
	}
	panic("openapi: value of unknown type")
}
