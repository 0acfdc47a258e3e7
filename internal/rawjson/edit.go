package pickup

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// compact returns v without white space between tokens, spelled as before, in
// memory of its own.
func compact(v jsontext.Value) jsontext.Value {
	return slices.Clip(appendCompact(make([]byte, 0, len(v)), v))
}

func appendCompact(dst []byte, v jsontext.Value) []byte {
	start := 0 // of what is to be copied
	for i := 0; i < len(v); {
		switch v[i] {
		case ' ', '\t', '\n', '\r':
			dst = append(dst, v[start:i]...)
			i = skipSpace(v, i)
			start = i
		case '"':
			i = skipString(v, i)
		default:
			i++
		}
	}
	return append(dst, v[start:]...)
}

// isCompact reports whether there is no white space between v's tokens.
func isCompact(v jsontext.Value) bool {
	for i := 0; i < len(v); {
		switch v[i] {
		case ' ', '\t', '\n', '\r':
			return false
		case '"':
			i = skipString(v, i)
		default:
			i++
		}
	}
	return true
}

// appendName appends s as a JSON string.
func appendName(dst []byte, s string) []byte {
	b, err := jsontext.AppendQuote(dst, s)
	if err != nil { // invalid UTF-8, which no parsed file holds
		return append(dst, `""`...)
	}
	return b
}

// memberNames returns the names of an object's members.
func memberNames(v jsontext.Value) []string {
	names := []string{}
	members(v, func(n, _ jsontext.Value) bool {
		names = append(names, text(n))
		return true
	})
	return names
}

// withMember returns the compact object v with the member called name set to
// value: in its place where it has one, else as the first.
func withMember(v jsontext.Value, name, value string) jsontext.Value {
	if old, ok := member(v, name); ok {
		at := cap(v) - cap(old) // old is a slice of v, so this is where it begins
		return slices.Concat(v[:at], []byte(value), v[at+len(old):])
	}
	out := append(appendName([]byte("{"), name), ':')
	out = append(out, value...)
	if !bytes.Equal(v, []byte("{}")) {
		out = append(out, ',')
	}
	return append(out, v[1:]...)
}

// merge returns the compact object old with the members of v, which is compact
// too, set: in their places where they have one, else at the end.
func merge(old, v jsontext.Value) jsontext.Value {
	set := make(map[string]jsontext.Value)
	members(v, func(n, val jsontext.Value) bool {
		set[text(n)] = val
		return true
	})
	out := make([]byte, 0, len(old)+len(v))
	add := func(name, value jsontext.Value) bool {
		if len(out) == 0 {
			out = append(out, '{')
		} else {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), value...)
		return true
	}
	members(old, func(n, val jsontext.Value) bool {
		if s := text(n); set[s] != nil {
			val = set[s]
			delete(set, s)
		}
		return add(n, val)
	})
	members(v, func(n, val jsontext.Value) bool {
		if _, left := set[text(n)]; left {
			add(n, val)
		}
		return true
	})
	if len(out) == 0 {
		return jsontext.Value("{}")
	}
	return append(out, '}')
}
