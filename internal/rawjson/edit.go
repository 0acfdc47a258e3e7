package rawjson

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Compact returns a copy of v without white space between tokens. Names,
// strings and numbers keep their spelling. A nil value stays nil.
func Compact(v jsontext.Value) jsontext.Value {
	if v == nil {
		return nil
	}
	return slices.Clip(AppendCompact(make([]byte, 0, len(v)), v))
}

// AppendCompact appends v without white space between tokens.
func AppendCompact(dst []byte, v jsontext.Value) []byte {
	for i := 0; i < len(v); {
		space := nextSpace(v, i)
		dst = append(dst, v[i:space]...)
		i = SkipSpace(v, space)
	}
	return dst
}

// Unescaped is like Compact, but replaces escapes by characters, unless JSON requires the
// escape or the character is half a surrogate pair.
func Unescaped(v jsontext.Value) jsontext.Value {
	v = Compact(v)
	if bytes.IndexByte(v, '\\') < 0 {
		return v
	}
	out := make([]byte, 0, len(v))
	for i := 0; i < len(v); {
		if v[i] != '"' {
			out = append(out, v[i])
			i++
			continue
		}
		end := SkipString(v, i)
		token := v[i:end]
		text := UnquoteBytes(token)
		if bytes.IndexByte(token, '\\') < 0 || bytes.ContainsRune(text, utf8.RuneError) {
			out = append(out, token...)
		} else {
			out = AppendQuote(out, string(text))
		}
		i = end
	}
	return out
}

// Escaped returns v with escapes for all characters that are not ASCII.
func Escaped(v jsontext.Value) jsontext.Value {
	out := make([]byte, 0, len(v))
	for _, c := range string(v) {
		switch {
		case c < utf8.RuneSelf:
			out = append(out, byte(c))
		case c > 0xffff:
			high, low := utf16.EncodeRune(c)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, c)
		}
	}
	return out
}

// IsCompact reports whether v has no white space between tokens.
func IsCompact(v jsontext.Value) bool { return nextSpace(v, 0) == len(v) }

// nextSpace returns the index of the first white space between tokens from i on, or len(v).
func nextSpace(v jsontext.Value, i int) int {
	for i < len(v) {
		switch v[i] {
		case ' ', '\t', '\n', '\r':
			return i
		case '"':
			i = SkipString(v, i)
		default:
			i++
		}
	}
	return i
}

// AppendQuote appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func AppendQuote(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // the error only reports the replacement
	return dst
}

// Quote returns s as a JSON string, see AppendQuote.
func Quote(s string) string { return string(AppendQuote(nil, s)) }

// AppendText is AppendMember for a string.
func AppendText(dst []byte, name, s string) []byte {
	return AppendMember(dst, name, AppendQuote(nil, s))
}

// AppendMember appends a field to the object, or to the fields, that dst ends with.
func AppendMember(dst []byte, name string, value []byte) []byte {
	return append(append(AppendQuote(AppendComma(dst), name), ':'), value...)
}

// AppendQuotedMember is like AppendMember for a quoted name.
func AppendQuotedMember(dst, name, value []byte) []byte {
	return append(append(append(AppendComma(dst), name...), ':'), value...)
}

// AppendComma appends a comma before the next field or element, unless dst is empty
// or ends with the opening bracket.
func AppendComma(dst []byte) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '{' && dst[n-1] != '[' {
		dst = append(dst, ',')
	}
	return dst
}

// MemberNames returns the names of the fields of v, in order. The result is not nil.
func MemberNames(v jsontext.Value) []string {
	names := []string{}
	for name := range Members(v) {
		names = append(names, Unquote(name))
	}
	return names
}

// SetMember returns the compact object v with the field called name set to
// value: in place if v has the field, otherwise as the first field.
func SetMember(v jsontext.Value, name, value string) jsontext.Value {
	if i := MemberAt(v, 0, name); i >= 0 {
		return slices.Concat(v[:i], []byte(value), v[SkipValue(v, i):])
	}
	out := AppendMember([]byte("{"), name, []byte(value))
	if len(v) > len("{}") {
		out = append(out, ',')
	}
	return append(out, v[1:]...)
}

// MergeMembers returns the compact object old with the fields of the compact
// object v set: in place if old has the field, otherwise at the end.
func MergeMembers(old, v jsontext.Value) jsontext.Value {
	return appendMerged(make([]byte, 0, len(old)+len(v)), old, v, false)
}

// MergePatch applies a merge patch as RFC 7396 section 2 defines. Both values are
// compact. New fields come after the old ones.
func MergePatch(old, patch jsontext.Value) jsontext.Value {
	return appendMerged(make([]byte, 0, len(old)+len(patch)), old, patch, true)
}

// appendMerged appends the result of MergePatch, or of MergeMembers if deep is false.
func appendMerged(dst []byte, old, v jsontext.Value, deep bool) []byte {
	if deep && v.Kind() != '{' {
		return append(dst, v...)
	}
	set := make(map[string]jsontext.Value)
	for name, value := range Members(v) {
		set[Unquote(name)] = value
	}
	add := func(name, was, value jsontext.Value) {
		if !deep {
			dst = AppendQuotedMember(dst, name, value)
		} else if value.Kind() != 'n' {
			dst = appendMerged(AppendQuotedMember(dst, name, nil), was, value, true)
		}
	}
	dst = append(dst, '{')
	for name, was := range Members(old) {
		if value, ok := set[Unquote(name)]; ok {
			delete(set, Unquote(name))
			add(name, was, value)
		} else {
			dst = AppendQuotedMember(dst, name, was)
		}
	}
	for name, value := range Members(v) {
		if _, isNew := set[Unquote(name)]; isNew {
			add(name, nil, value)
		}
	}
	return append(dst, '}')
}
