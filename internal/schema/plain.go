package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// plain returns a valid JSON value as the validator takes it: objects as maps,
// numbers as their text.
func plain(v jsontext.Value) any {
	at := rawjson.SkipSpace(v, 0)
	if at >= len(v) {
		return nil
	}
	switch v[at] {
	case '{':
		obj := make(map[string]any)
		for quoted, e := range rawjson.Members(v) {
			obj[rawjson.Unquote(quoted)] = plain(e)
		}
		return obj
	case '[':
		list := []any{}
		for e := range rawjson.Elements(v) {
			list = append(list, plain(e))
		}
		return list
	case '"':
		return rawjson.Unquote(v[at:rawjson.SkipString(v, at)])
	case 't':
		return true
	case 'f':
		return false
	case 'n':
		return nil
	}
	return judgeable(string(v[at:rawjson.SkipValue(v, at)]))
}

// judgeable returns a number that the validator can afford to look at. It
// computes with fractions of whole numbers, exactly, so that 1e1000000 would
// cost it a number of a million digits. What lies outside of 10 to the ±1000th,
// where no number is that a body writes out and no double by far, is moved
// there, and digits behind the thousandth are dropped.
func judgeable(s string) json.Number {
	const most, far = 1000, 1000
	if len(s) <= 20 && !strings.ContainsAny(s, "eE") {
		return json.Number(s)
	}
	digits, exp, ok := strings.Cut(rawjson.CanonicalNumber(s), "e")
	if !ok {
		return "0"
	}
	e, err := strconv.Atoi(exp)
	if err != nil { // more digits than an int has
		e = far
		if strings.HasPrefix(exp, "-") {
			e = -most - far
		}
	}
	if len(digits) > most {
		e += len(digits) - most
		digits = digits[:most]
	}
	return json.Number(fmt.Sprintf("%se%d", digits, min(far, max(-far-len(digits), e))))
}

// plainKey returns the identityKey of a value of a schema.
func plainKey(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "" // never: the value came from JSON
	}
	return rawjson.Identity(text)
}

// literal returns a value of a schema as a message shows it: a word without
// quotes where nobody could misread it.
func literal(v any) string {
	s, ok := v.(string)
	if ok && s != "" && !jsontext.Value(s).IsValid() && strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || strings.ContainsRune(`",;:`, r) }) < 0 {
		return rawjson.Shorten(s)
	}
	return jsonText(v)
}

// jsonText returns a value of a schema as JSON, shortened.
func jsonText(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "…" // never: the value came from JSON
	}
	return rawjson.Shorten(strings.TrimSuffix(b.String(), "\n"))
}
