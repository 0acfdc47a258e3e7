package document

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// Locate returns the line and the column, both from 1 and the column in code
// points, of the value that a JSON Pointer leads to; of a member, those of its
// name. data may have comments, trailing commas and a byte order mark, and must
// be valid up to that value. ok is false if there is no such value.
func Locate(data []byte, pointer string) (line, column int, ok bool) {
	start := 0
	if bytes.HasPrefix(data, byteOrderMark) {
		start = len(byteOrderMark)
	}
	i := gapEnd(data, start)
	at := i
	for token := range jsontext.Pointer(pointer).Tokens() {
		if i >= len(data) {
			return 0, 0, false
		}
		if at, i = into(data, i, token); at < 0 {
			return 0, 0, false
		}
	}
	if i >= len(data) || pointer != "" && pointer[0] != '/' {
		return 0, 0, false
	}
	line, column = rawjson.LineColumn(data, at)
	return line, column, true
}

// into returns the index of the item that token means in the list at i, name
// included, and that of its value. The first is -1 if there is no such item.
func into(data []byte, i int, token string) (at, value int) {
	open := data[i]
	if open != '{' && open != '[' {
		return -1, i
	}
	for n := 0; ; n++ {
		i = gapEnd(data, i+1)
		if i >= len(data) || data[i] == rawjson.Closing(open) {
			return -1, i
		}
		at = i
		name := strconv.Itoa(n)
		if open == '{' {
			i = rawjson.SkipString(data, i)
			if data[at] != '"' || i-at < 2 {
				return -1, i
			}
			name = rawjson.Unquote(data[at:i])
			i = gapEnd(data, i)   // the colon
			i = gapEnd(data, i+1) // the value
		}
		if name == token {
			return at, i
		}
		i = valueEnd(data, i) - 1
	}
}
