package rawjson

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Compact returns v without white space between tokens, spelled as before, in
// memory of its own.
func Compact(v jsontext.Value) jsontext.Value {
	return slices.Clip(AppendCompact(make([]byte, 0, len(v)), v))
}

func AppendCompact(dst []byte, v jsontext.Value) []byte {
	start := 0 // of what is to be copied
	for i := 0; i < len(v); {
		switch v[i] {
		case ' ', '\t', '\n', '\r':
			dst = append(dst, v[start:i]...)
			i = SkipSpace(v, i)
			start = i
		case '"':
			i = SkipString(v, i)
		default:
			i++
		}
	}
	return append(dst, v[start:]...)
}

// IsCompact reports whether there is no white space between v's tokens.
func IsCompact(v jsontext.Value) bool {
	for i := 0; i < len(v); {
		switch v[i] {
		case ' ', '\t', '\n', '\r':
			return false
		case '"':
			i = SkipString(v, i)
		default:
			i++
		}
	}
	return true
}

// AppendQuote appends s as a JSON string.
func AppendQuote(dst []byte, s string) []byte {
	b, err := jsontext.AppendQuote(dst, s)
	if err != nil { // invalid UTF-8, which no parsed file holds
		return append(dst, `""`...)
	}
	return b
}

// MemberNames returns the names of an object's members.
func MemberNames(v jsontext.Value) []string {
	names := []string{}
	Members(v, func(n, _ jsontext.Value) bool {
		names = append(names, Unquote(n))
		return true
	})
	return names
}

// SetMember returns the compact object v with the member called name set to
// value: in its place where it has one, else as the first.
func SetMember(v jsontext.Value, name, value string) jsontext.Value {
	if old, ok := Member(v, name); ok {
		at := cap(v) - cap(old) // old is a slice of v, so this is where it begins
		return slices.Concat(v[:at], []byte(value), v[at+len(old):])
	}
	out := append(AppendQuote([]byte("{"), name), ':')
	out = append(out, value...)
	if !bytes.Equal(v, []byte("{}")) {
		out = append(out, ',')
	}
	return append(out, v[1:]...)
}

// MergeMembers returns the compact object old with the members of v, which is compact
// too, set: in their places where they have one, else at the end.
func MergeMembers(old, v jsontext.Value) jsontext.Value {
	set := make(map[string]jsontext.Value)
	Members(v, func(n, val jsontext.Value) bool {
		set[Unquote(n)] = val
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
	Members(old, func(n, val jsontext.Value) bool {
		if s := Unquote(n); set[s] != nil {
			val = set[s]
			delete(set, s)
		}
		return add(n, val)
	})
	Members(v, func(n, val jsontext.Value) bool {
		if _, left := set[Unquote(n)]; left {
			add(n, val)
		}
		return true
	})
	if len(out) == 0 {
		return jsontext.Value("{}")
	}
	return append(out, '}')
}
