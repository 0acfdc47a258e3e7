package rawjson

import "github.com/go-json-experiment/json/jsontext"

// Show returns a value as a message can hold it: of a long one the first 100
// characters.
func Show(v jsontext.Value) string {
	s := Shorten(string(v))
	if v.Kind() == '"' && s != string(v) {
		return s + `"`
	}
	return s
}

// Shorten cuts s where it has more than 100 characters.
func Shorten(s string) string {
	n := 0
	for i := range s {
		if n == 100 {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

func KindName(v jsontext.Value) string {
	switch v.Kind() {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 'n':
		return "null"
	}
	return "true or false"
}
