package rawjson

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// The functions of this file read JSON that is known to be valid, so they look
// for the ends of values and check nothing else.

// SkipSpace returns the first index from i on that holds no white space.
func SkipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// SkipString returns the index behind the string that begins at i.
func SkipString(b []byte, i int) int {
	for i++; i < len(b); {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		i += n + 1
		slashes := 0 // before the quote; the string's own quote ends them
		for b[i-2-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
	return len(b)
}

// SkipValue returns the index behind the value that begins at i.
func SkipValue(b []byte, i int) int {
	if i >= len(b) {
		return i
	}
	switch b[i] {
	case '"':
		return SkipString(b, i)
	case '{', '[':
		depth := 0
		for i < len(b) {
			switch b[i] {
			case '"':
				i = SkipString(b, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
				if depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return i
	}
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ':', ' ', '\n', '\r', '\t':
			return i
		}
		i++
	}
	return i
}

// Members calls yield with each member of the object v in order, name still
// quoted, until yield returns false. A value that is no object has none.
func Members(v []byte, yield func(name, value jsontext.Value) bool) {
	i := SkipSpace(v, 0)
	if i >= len(v) || v[i] != '{' {
		return
	}
	for i = SkipSpace(v, i+1); i < len(v) && v[i] == '"'; {
		end := SkipString(v, i)
		name := v[i:end]
		i = SkipSpace(v, end) // the colon
		i = SkipSpace(v, i+1) // the value
		end = SkipValue(v, i)
		if !yield(jsontext.Value(name), jsontext.Value(v[i:end])) {
			return
		}
		i = SkipComma(v, end)
	}
}

// Elements calls yield with each element of the array v in order until yield
// returns false. A value that is no array has none.
func Elements(v []byte, yield func(value jsontext.Value) bool) {
	i := SkipSpace(v, 0)
	if i >= len(v) || v[i] != '[' {
		return
	}
	for i = SkipSpace(v, i+1); i < len(v) && v[i] != ']'; {
		end := SkipValue(v, i)
		if !yield(jsontext.Value(v[i:end])) {
			return
		}
		i = SkipComma(v, end)
	}
}

// Member returns the value of v's member called name.
func Member(v []byte, name string) (value jsontext.Value, ok bool) {
	i := MemberAt(v, SkipSpace(v, 0), name)
	if i < 0 {
		return nil, false
	}
	return jsontext.Value(v[i:SkipValue(v, i)]), true
}

// MemberAt returns where the value of the member called name begins, of the
// object that begins at i: -1 where there is none, or no object. Who looks for
// something within that value goes on from there, without a look for its end:
// a path goes through a text once, however deep it leads.
func MemberAt(v []byte, i int, name string) int {
	if i >= len(v) || v[i] != '{' {
		return -1
	}
	for i = SkipSpace(v, i+1); i < len(v) && v[i] == '"'; {
		end := SkipString(v, i)
		quoted := v[i:end]
		i = SkipSpace(v, end) // the colon
		i = SkipSpace(v, i+1) // the value
		if NameIs(quoted, name) {
			return i
		}
		i = SkipComma(v, SkipValue(v, i))
	}
	return -1
}

// ElementAt returns where the element with an index begins, of the array that
// begins at i: -1 where there is none, or no array.
func ElementAt(v []byte, i, index int) int {
	if i >= len(v) || v[i] != '[' {
		return -1
	}
	for i = SkipSpace(v, i+1); i < len(v) && v[i] != ']'; index-- {
		if index == 0 {
			return i
		}
		i = SkipComma(v, SkipValue(v, i))
	}
	return -1
}

// SkipComma returns where what follows a value that ends at i begins.
func SkipComma(v []byte, i int) int {
	if i = SkipSpace(v, i); i < len(v) && v[i] == ',' {
		i = SkipSpace(v, i+1)
	}
	return i
}

// NameIs reports whether the quoted name spells s.
func NameIs(quoted []byte, s string) bool {
	if len(quoted)-2 == len(s) && string(quoted[1:len(quoted)-1]) == s {
		return true
	}
	for _, c := range quoted {
		if c == '\\' {
			return Unquote(quoted) == s
		}
	}
	return false
}

// Unquote returns what the quoted string spells.
func Unquote(quoted []byte) string {
	for _, c := range quoted {
		if c == '\\' {
			b, _ := jsontext.AppendUnquote(nil, quoted)
			return string(b)
		}
	}
	return string(quoted[1 : len(quoted)-1])
}

// Depth returns how many arrays and objects are within each other in v.
func Depth(v jsontext.Value) int {
	deepest, depth := 0, 0
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '"':
			i = SkipString(v, i) - 1
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
}

// UnquoteBytes returns what the quoted string spells, without copying where it can.
func UnquoteBytes(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	b, _ := jsontext.AppendUnquote(nil, quoted)
	return b
}
