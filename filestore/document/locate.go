package document

import (
	"bytes"
	"strconv"
	"strings"
)

// Locate returns where the value stands that an RFC 6901 pointer leads to, as
// line and column from 1, the column in code points. Of a member that is its
// name. data may have comments and trailing commas but must parse otherwise,
// up to the place looked for at least. ok is false where the pointer leads
// nowhere.
func Locate(data []byte, pointer string) (line, column int, ok bool) {
	start := 0
	if bytes.HasPrefix(data, byteOrderMark) {
		start = len(byteOrderMark)
	}
	i := gapEnd(data, start)
	at := i
	for pointer != "" {
		if pointer[0] != '/' || i >= len(data) {
			return 0, 0, false
		}
		token, rest, more := strings.Cut(pointer[1:], "/")
		token = unescapePointer.Replace(token)
		if at, i = into(data, i, token); at < 0 {
			return 0, 0, false
		}
		pointer = ""
		if more {
			pointer = "/" + rest
		}
	}
	if i >= len(data) {
		return 0, 0, false
	}
	line, column = position(data, at)
	return line, column, true
}

var unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")

// into returns where the item called token of the list at i is, with its name,
// and where its value begins; -1 where there is none.
func into(data []byte, i int, token string) (at, value int) {
	open := data[i]
	if open != '{' && open != '[' {
		return -1, i
	}
	for n := 0; ; n++ {
		i = gapEnd(data, i+1)
		if i >= len(data) || data[i] == open+2 {
			return -1, i
		}
		at = i
		name := strconv.Itoa(n)
		if open == '{' {
			i = stringEnd(data, i)
			if data[at] != '"' || i-at < 2 {
				return -1, i
			}
			name = unquoted(data[at:i])
			i = gapEnd(data, i)   // the colon
			i = gapEnd(data, i+1) // the value
		}
		if name == token {
			return at, i
		}
		i = valueEnd(data, i) - 1
	}
}
