package openapi

import (
	"bytes"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// Members yields the names, decoded, and the values, as they are written, of
// the object v in their order. A value that is no valid object has none.
func Members(v jsontext.Value) iter.Seq2[string, jsontext.Value] {
	return func(yield func(string, jsontext.Value) bool) {
		if v.Kind() != '{' {
			return
		}
		// The buffer is read in place, so the values are parts of v.
		dec := jsontext.NewDecoder(bytes.NewBuffer(v))
		if _, err := dec.ReadToken(); err != nil {
			return
		}
		for dec.PeekKind() == '"' {
			token, err := dec.ReadToken()
			if err != nil {
				return
			}
			name := token.String() // before the next read takes the token back
			value, err := dec.ReadValue()
			if err != nil || !yield(name, value) {
				return
			}
		}
	}
}

// elementsOf yields the elements of the array v. A value that is no valid array
// has none.
func elementsOf(v jsontext.Value) iter.Seq[jsontext.Value] {
	return func(yield func(jsontext.Value) bool) {
		if v.Kind() != '[' {
			return
		}
		dec := jsontext.NewDecoder(bytes.NewBuffer(v))
		if _, err := dec.ReadToken(); err != nil {
			return
		}
		for dec.PeekKind() != ']' {
			value, err := dec.ReadValue()
			if err != nil || !yield(value) {
				return
			}
		}
	}
}

// Member returns the value of v's member called name, nil where there is none.
func Member(v jsontext.Value, name string) jsontext.Value {
	for n, value := range Members(v) {
		if n == name {
			return value
		}
	}
	return nil
}

// AppendMember appends a member to an object of which dst ends with the part
// before.
func AppendMember(dst []byte, name string, value jsontext.Value) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(append(AppendString(dst, name), ':'), value...)
}
