package pickup

import "github.com/go-json-experiment/json/jsontext"

// shown returns a value as a message can hold it: of a long one the first 100
// characters.
func shown(v jsontext.Value) string {
	s := shorten(string(v))
	if v.Kind() == '"' && s != string(v) {
		return s + `"`
	}
	return s
}

// shorten cuts s where it has more than 100 characters.
func shorten(s string) string {
	n := 0
	for i := range s {
		if n == 100 {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

func kindName(v jsontext.Value) string {
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
