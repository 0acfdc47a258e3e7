package rawjson

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Tokens calls yield with each token of data, which must be valid JSON, in
// order until yield returns false: where it stands as a JSON Pointer (a
// member's name and value have the same) and as an offset. The closing tokens
// of objects and arrays are left out.
func Tokens(data []byte, yield func(pointer string, tok jsontext.Token, start int) bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		start := int(dec.InputOffset())
		tok, err := dec.ReadToken()
		if err != nil {
			return
		}
		if k := tok.Kind(); k == '}' || k == ']' {
			continue
		}
		for bytes.IndexByte([]byte(" \t\r\n,:"), data[start]) >= 0 {
			start++
		}
		if !yield(string(dec.StackPointer()), tok, start) {
			return
		}
	}
}

// Offset returns where the member's name, or the element, begins that pointer
// leads to: 0 for the whole, and for a place that data does not have that of
// the nearest one around it.
func Offset(data []byte, pointer string) int {
	for ; pointer != ""; pointer = pointer[:strings.LastIndexByte(pointer, '/')] {
		at := -1
		Tokens(data, func(p string, _ jsontext.Token, start int) bool {
			if p == pointer {
				at = start
			}
			return at < 0
		})
		if at >= 0 {
			return at
		}
	}
	return SkipSpace(data, 0)
}

// LineColumn returns the line and column of an offset, both from 1; the column
// counts characters.
func LineColumn(data []byte, offset int) (line, column int) {
	before := data[:min(offset, len(data))]
	line = 1 + bytes.Count(before, []byte("\n"))
	column = 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return line, column
}

// At returns the value that pointer leads to, nil where there is none.
func At(v jsontext.Value, pointer string) jsontext.Value {
	for _, token := range SplitPointer(pointer) {
		v = child(v, token)
	}
	return v
}

// child returns the member or element of v that one token of a pointer means.
func child(v jsontext.Value, token string) (next jsontext.Value) {
	if at := SkipSpace(v, 0); at < len(v) && v[at] == '[' {
		i := 0
		Elements(v, func(e jsontext.Value) bool {
			if strconv.Itoa(i) == token {
				next = e
			}
			i++
			return next == nil
		})
		return next
	}
	next, _ = Member(v, token)
	return next
}

// SplitPointer splits a JSON Pointer (RFC 6901).
func SplitPointer(pointer string) []string {
	if pointer == "" {
		return nil
	}
	list := strings.Split(pointer[1:], "/")
	for i, t := range list {
		list[i] = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
	}
	return list
}

// JoinPointer is the opposite of tokens.
func JoinPointer(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(Pointer(t))
	}
	return b.String()
}

// Pointer returns the JSON Pointer (RFC 6901) of a top-level member.
func Pointer(name string) string {
	return "/" + strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
