package openapi

import (
	"iter"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// Members iterates over the members of the valid object v, with unquoted names.
func Members(v jsontext.Value) iter.Seq2[string, jsontext.Value] {
	return func(yield func(string, jsontext.Value) bool) {
		for name, value := range rawjson.Members(v) {
			if !yield(rawjson.Unquote(name), value) {
				return
			}
		}
	}
}

// Member returns the value of the member of v called name, or nil.
func Member(v jsontext.Value, name string) jsontext.Value {
	value, _ := rawjson.Member(v, name)
	return value
}
