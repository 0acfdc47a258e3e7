package pickup

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// eachToken calls yield with each token of data, which must be valid JSON, in
// order until yield returns false: where it stands as a JSON Pointer (a
// member's name and value have the same) and as an offset. The closing tokens
// of objects and arrays are left out.
func eachToken(data []byte, yield func(pointer string, tok jsontext.Token, start int) bool) {
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

// offset returns where the member's name, or the element, begins that pointer
// leads to: 0 for the whole, and for a place that data does not have that of
// the nearest one around it.
func offset(data []byte, pointer string) int {
	for ; pointer != ""; pointer = pointer[:strings.LastIndexByte(pointer, '/')] {
		at := -1
		eachToken(data, func(p string, _ jsontext.Token, start int) bool {
			if p == pointer {
				at = start
			}
			return at < 0
		})
		if at >= 0 {
			return at
		}
	}
	return skipSpace(data, 0)
}

// position returns the line and column of an offset, both from 1; the column
// counts characters.
func position(data []byte, offset int) (line, column int) {
	before := data[:min(offset, len(data))]
	line = 1 + bytes.Count(before, []byte("\n"))
	column = 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return line, column
}

// valueAt returns the value that pointer leads to, nil where there is none.
func valueAt(v jsontext.Value, pointer string) jsontext.Value {
	for _, token := range tokens(pointer) {
		v = child(v, token)
	}
	return v
}

// child returns the member or element of v that one token of a pointer means.
func child(v jsontext.Value, token string) (next jsontext.Value) {
	if at := skipSpace(v, 0); at < len(v) && v[at] == '[' {
		i := 0
		elements(v, func(e jsontext.Value) bool {
			if strconv.Itoa(i) == token {
				next = e
			}
			i++
			return next == nil
		})
		return next
	}
	next, _ = member(v, token)
	return next
}

// tokens splits a JSON Pointer (RFC 6901).
func tokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	list := strings.Split(pointer[1:], "/")
	for i, t := range list {
		list[i] = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
	}
	return list
}

// joined is the opposite of tokens.
func joined(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(pointer(t))
	}
	return b.String()
}

// pointer returns the JSON Pointer (RFC 6901) of a top-level member.
func pointer(name string) string {
	return "/" + strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
