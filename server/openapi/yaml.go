package openapi

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// YAML returns a JSON document, an object, in YAML's block style. Numbers
// keep their text, and the members of an object their order. What could be read
// as anything else stands in the quotes that JSON and YAML have in common.
func YAML(document jsontext.Value) []byte {
	return bytes.TrimPrefix(appendYAML(nil, document, ""), []byte("\n"))
}

// appendYAML appends a value behind its name or its dash, with the end of the
// line. indent is that of what is inside.
func appendYAML(dst []byte, v jsontext.Value, indent string) []byte {
	start := len(dst)
	switch v.Kind() {
	case '{':
		dst = append(dst, '\n')
		for name, e := range Members(v) {
			dst = append(dst, indent...)
			// A name that is told by its colon has at most 1,024 characters
			// (YAML 1.2, section 7.4.2).
			if key := appendScalar(nil, name); len(key) > 1000 {
				dst = append(append(append(dst, "? "...), key...), '\n')
				dst = append(append(dst, indent...), ':')
			} else {
				dst = append(append(dst, key...), ':')
			}
			dst = appendYAML(dst, e, indent+"  ")
		}
		if len(dst) > start+1 {
			return dst
		}
		dst = append(dst[:start], " {}"...)
	case '[':
		dst = append(dst, '\n')
		for e := range rawjson.Elements(v) {
			dst = append(append(dst, indent...), '-')
			item := len(dst)
			dst = appendYAML(dst, e, indent+"  ")
			if first := "\n" + indent + "  "; bytes.HasPrefix(dst[item:], []byte(first)) {
				dst = append(append(dst[:item], ' '), dst[item+len(first):]...) // it begins behind the dash
			}
		}
		if len(dst) > start+1 {
			return dst
		}
		dst = append(dst[:start], " []"...)
	case '"':
		dst = append(dst, ' ')
		if s := stringOf(v); isLiteral(s) {
			dst = append(dst, "|-"...)
			for line := range strings.SplitSeq(s, "\n") {
				dst = append(dst, '\n')
				if line != "" {
					dst = append(append(dst, indent...), line...)
				}
			}
		} else {
			dst = appendScalar(dst, s)
		}
	default:
		dst = append(append(dst, ' '), v...)
	}
	return append(dst, '\n')
}

// appendScalar appends a text on one line.
func appendScalar(dst []byte, s string) []byte {
	if isPlain(s) {
		return append(dst, s...)
	}
	for _, r := range string(rawjson.AppendQuote(nil, s)) {
		if printable(r) {
			dst = append(dst, string(r)...)
		} else {
			dst = fmt.Appendf(dst, `\u%04x`, r)
		}
	}
	return dst
}

// printable reports whether YAML takes a character of a JSON string as it is.
// It is asked more than YAML does: line separators and such make no trouble
// then.
func printable(r rune) bool {
	return r <= '~' || r > 0xa0 && r != 0x2028 && r != 0x2029 && r != 0xfeff && r != 0xfffe && r != 0xffff
}

// isPlain reports whether a text can do without quotes: it begins like a word
// or a path, and is not read as a truth, a null or a number by any version of
// YAML.
func isPlain(s string) bool {
	switch strings.ToLower(s) {
	case "", "true", "false", "yes", "no", "on", "off", "y", "n", "null":
		return false
	}
	if first := s[0]; first != '/' && first != '$' && (first|0x20 < 'a' || first|0x20 > 'z') {
		return false
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return !strings.Contains(s, ": ") && !strings.Contains(s, " #") && s[len(s)-1] != ':' && s[len(s)-1] != ' '
}

// isLiteral reports whether a text of several lines can stand as it is.
func isLiteral(s string) bool {
	if !strings.Contains(s, "\n") || strings.HasSuffix(s, "\n") || s[0] == '\n' || s[0] == ' ' || s[0] == '\t' {
		return false
	}
	for _, r := range s {
		if r != '\n' && (unicode.IsControl(r) || !printable(r)) {
			return false
		}
	}
	return true
}
