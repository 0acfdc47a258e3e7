package pickup

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// The functions of this file read JSON that is known to be valid, so they look
// for the ends of values and check nothing else.

// skipSpace returns the first index from i on that holds no white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// skipString returns the index behind the string that begins at i.
func skipString(b []byte, i int) int {
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

// skipValue returns the index behind the value that begins at i.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return i
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		depth := 0
		for i < len(b) {
			switch b[i] {
			case '"':
				i = skipString(b, i)
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

// members calls yield with each member of the object v in order, name still
// quoted, until yield returns false. A value that is no object has none.
func members(v []byte, yield func(name, value jsontext.Value) bool) {
	i := skipSpace(v, 0)
	if i >= len(v) || v[i] != '{' {
		return
	}
	for i = skipSpace(v, i+1); i < len(v) && v[i] == '"'; {
		end := skipString(v, i)
		name := v[i:end]
		i = skipSpace(v, end) // the colon
		i = skipSpace(v, i+1) // the value
		end = skipValue(v, i)
		if !yield(jsontext.Value(name), jsontext.Value(v[i:end])) {
			return
		}
		i = skipComma(v, end)
	}
}

// elements calls yield with each element of the array v in order until yield
// returns false. A value that is no array has none.
func elements(v []byte, yield func(value jsontext.Value) bool) {
	i := skipSpace(v, 0)
	if i >= len(v) || v[i] != '[' {
		return
	}
	for i = skipSpace(v, i+1); i < len(v) && v[i] != ']'; {
		end := skipValue(v, i)
		if !yield(jsontext.Value(v[i:end])) {
			return
		}
		i = skipComma(v, end)
	}
}

// member returns the value of v's member called name.
func member(v []byte, name string) (value jsontext.Value, ok bool) {
	i := memberAt(v, skipSpace(v, 0), name)
	if i < 0 {
		return nil, false
	}
	return jsontext.Value(v[i:skipValue(v, i)]), true
}

// memberAt returns where the value of the member called name begins, of the
// object that begins at i: -1 where there is none, or no object. Who looks for
// something within that value goes on from there, without a look for its end:
// a path goes through a text once, however deep it leads.
func memberAt(v []byte, i int, name string) int {
	if i >= len(v) || v[i] != '{' {
		return -1
	}
	for i = skipSpace(v, i+1); i < len(v) && v[i] == '"'; {
		end := skipString(v, i)
		quoted := v[i:end]
		i = skipSpace(v, end) // the colon
		i = skipSpace(v, i+1) // the value
		if nameIs(quoted, name) {
			return i
		}
		i = skipComma(v, skipValue(v, i))
	}
	return -1
}

// elementAt returns where the element with an index begins, of the array that
// begins at i: -1 where there is none, or no array.
func elementAt(v []byte, i, index int) int {
	if i >= len(v) || v[i] != '[' {
		return -1
	}
	for i = skipSpace(v, i+1); i < len(v) && v[i] != ']'; index-- {
		if index == 0 {
			return i
		}
		i = skipComma(v, skipValue(v, i))
	}
	return -1
}

// skipComma returns where what follows a value that ends at i begins.
func skipComma(v []byte, i int) int {
	if i = skipSpace(v, i); i < len(v) && v[i] == ',' {
		i = skipSpace(v, i+1)
	}
	return i
}

// nameIs reports whether the quoted name spells s.
func nameIs(quoted []byte, s string) bool {
	if len(quoted)-2 == len(s) && string(quoted[1:len(quoted)-1]) == s {
		return true
	}
	for _, c := range quoted {
		if c == '\\' {
			return text(quoted) == s
		}
	}
	return false
}

// text returns what the quoted string spells.
func text(quoted []byte) string {
	for _, c := range quoted {
		if c == '\\' {
			b, _ := jsontext.AppendUnquote(nil, quoted)
			return string(b)
		}
	}
	return string(quoted[1 : len(quoted)-1])
}

// depth returns how many arrays and objects are within each other in v.
func depth(v jsontext.Value) int {
	deepest, depth := 0, 0
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '"':
			i = skipString(v, i) - 1
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
}

// unquoted returns what the quoted string spells, without copying where it can.
func unquoted(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	b, _ := jsontext.AppendUnquote(nil, quoted)
	return b
}
