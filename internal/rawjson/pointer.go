package rawjson

import (
	"bytes"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Tokens iterates over the tokens of data in order, each with the JSON Pointer of the value. A
// name has the pointer of the field. Closing brackets are left out.
func Tokens(data []byte) iter.Seq2[string, jsontext.Token] {
	return func(yield func(pointer string, tok jsontext.Token) bool) {
		dec := jsontext.NewDecoder(bytes.NewReader(data))
		for {
			tok, err := dec.ReadToken()
			if err != nil {
				return
			}
			if k := tok.Kind(); k != '}' && k != ']' && !yield(string(dec.StackPointer()), tok) {
				return
			}
		}
	}
}

// byteOrderMark is a mark that some editors put before UTF-8 text.
const byteOrderMark = "\ufeff"

// LineColumn returns the line and the column of an offset, both from 1. The
// column counts code points, without a byte order mark.
func LineColumn(data []byte, offset int) (line, column int) {
	before := data[:min(offset, len(data))]
	line = 1 + bytes.Count(before, []byte("\n"))
	before = before[bytes.LastIndexByte(before, '\n')+1:]
	if line == 1 {
		before = bytes.TrimPrefix(before, []byte(byteOrderMark))
	}
	return line, 1 + utf8.RuneCount(before)
}

// An Excerpt is a part of one line of a text.
type Excerpt struct {
	Text  string `json:"text"`
	Caret int    `json:"caret"` // the character in question, from 1; possibly just past Text
}

// around is the maximum number of characters of an excerpt before the offset, and after.
const around = 100

// ExcerptAt returns the part of the line around an offset: at most 200 characters.
func ExcerptAt(data []byte, offset int) Excerpt {
	offset = min(offset, len(data))
	start := 1 + bytes.LastIndexByte(data[:offset], '\n')
	line, _, _ := bytes.Cut(data[start:], []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	offset = min(offset-start, len(line))
	before := []rune(string(line[max(0, offset-around*utf8.UTFMax):offset]))
	after := []rune(string(line[offset:min(len(line), offset+around*utf8.UTFMax)]))
	before = before[max(0, len(before)-around):]
	after = after[:min(len(after), around)]
	text := string(append(before, after...))
	if short := strings.TrimPrefix(text, byteOrderMark); len(before) > 0 && short != text {
		return Excerpt{short, len(before)}
	}
	return Excerpt{text, 1 + len(before)}
}

// Pointer returns the JSON Pointer (RFC 6901) of these tokens.
func Pointer(tokens ...string) string {
	var p jsontext.Pointer
	for _, t := range tokens {
		p = p.AppendToken(t)
	}
	return string(p)
}

// SplitPointer returns the tokens of a JSON Pointer.
func SplitPointer(pointer string) []string {
	return slices.Collect(jsontext.Pointer(pointer).Tokens())
}
