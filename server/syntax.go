package server

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// syntaxError returns the problem for what the decoder refused.
func syntaxError(text []byte, dec *jsontext.Decoder, err error) error {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return invalidAt(text, dec.InputOffset(), "it cannot be read")
	}
	at := min(syntax.ByteOffset, int64(len(text)))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return invalidAt(text, int64(len(text)), "it ends before it is complete")
	case errors.Is(err, jsontext.ErrDuplicateName):
		name := clip(string(rawjson.AppendQuote(nil, syntax.JSONPointer.LastToken())))
		return invalidAt(text, at, "the member "+name+" stands twice in one object")
	}
	if dec.StackDepth() == 0 && dec.InputOffset() > 0 {
		return behindEnd(text, dec.InputOffset())
	}
	// A word is refused where it ceases to look like true, false or null.
	for letter(text[at:]) && at > 0 && letter(text[at-1:at]) {
		at--
	}
	return invalidAt(text, at, reason(text[at:], syntax.Err))
}

// behindEnd returns the problem for text that goes on behind its value, which
// ends at an offset.
func behindEnd(text []byte, at int64) error {
	space := len(text[at:]) - len(bytes.TrimLeft(text[at:], " \t\r\n"))
	return invalidAt(text, at+int64(space), "there is something behind the end of the value")
}

// reason says in words what is wrong at the beginning of rest: the usual slips
// of people who write JSON by hand, else what the decoder says.
func reason(rest []byte, err error) string {
	r, size := utf8.DecodeRune(rest)
	next := bytes.TrimLeft(rest[size:], " \t\r\n")
	switch {
	case r == utf8.RuneError:
		return "these bytes are not UTF-8"
	case r == ',' && (bytes.HasPrefix(next, []byte("}")) || bytes.HasPrefix(next, []byte("]"))):
		return "there is nothing behind the comma"
	case r == '\'':
		return "names and strings stand in double quotes, not in single ones"
	case r == '/' || r == '#':
		return "JSON has no comments"
	case r == '\n' || r == '\r':
		return `a line break within a string is written \n`
	case r == '\uFEFF':
		return "it begins with a byte order mark"
	case letter(rest):
		n := 1
		for n < len(rest) && letter(rest[n:]) {
			n++
		}
		return clip(string(rest[:n])) + " is not quoted: names and strings stand in double quotes"
	}
	return clip(strings.TrimPrefix(err.Error(), "jsontext: "))
}

// letter reports whether b begins with a letter of a word like true.
func letter(b []byte) bool {
	return len(b) > 0 && ('a' <= b[0]|0x20 && b[0]|0x20 <= 'z')
}

// invalidAt returns the problem for invalid JSON at an offset of text.
func invalidAt(text []byte, at int64, reason string) error {
	head := text[:min(at, int64(len(text)))]
	line := bytes.LastIndexByte(head, '\n') + 1
	return invalidJSON(1+bytes.Count(head, []byte("\n")), 1+utf8.RuneCount(head[line:]), reason)
}
