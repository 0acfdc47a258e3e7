package document

import "pickup/internal/rawjson"

// Locate returns the line and the column, both from 1 and the column in code
// points, of the value that a JSON Pointer leads to; of a member, those of its
// name. data may have comments, trailing commas and a byte order mark, and must
// be valid up to that value. ok is false if there is no such value.
func Locate(data []byte, pointer string) (line, column int, ok bool) {
	at, ok := rawjson.Offset(plain(data), pointer)
	if !ok {
		return 0, 0, false
	}
	line, column = rawjson.LineColumn(data, at)
	return line, column, true
}
