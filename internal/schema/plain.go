package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// plain converts a valid JSON value for the validator: objects to maps, numbers to json.Number.
func plain(v jsontext.Value) any {
	switch v.Kind() {
	case '{':
		obj := make(map[string]any)
		for name, e := range rawjson.Fields(v) {
			obj[name] = plain(e)
		}
		return obj
	case '[':
		list := []any{}
		for e := range rawjson.Elements(v) {
			list = append(list, plain(e))
		}
		return list
	case '"':
		return rawjson.Unquote(bytes.TrimSpace(v))
	case 't':
		return true
	case 'f':
		return false
	case '0':
		return limited(string(bytes.TrimSpace(v)))
	}
	return nil
}

// limited returns a number that the validator can compare cheaply. The validator uses exact
// rationals, so 1e1000000 would have a million digits. Numbers beyond 10^±1000 become that
// bound, and limited drops digits after the thousandth.
func limited(s string) json.Number {
	const most, far = 1000, 1000
	if len(s) <= 20 && !strings.ContainsAny(s, "eE") {
		return json.Number(s)
	}
	digits, exp, ok := strings.Cut(rawjson.CanonicalNumber(s), "e")
	if !ok {
		return "0"
	}
	e, _ := strconv.Atoi(exp) // the nearest if it is out of range
	if len(digits) > most {
		e += len(digits) - most
		digits = digits[:most]
	}
	return json.Number(fmt.Sprintf("%se%d", digits, min(far, max(-far-len(digits), e))))
}

// plainKey returns the rawjson.Identity of a value of a schema.
func plainKey(v any) string {
	return rawjson.Identity(jsontext.Value(encode(v)))
}

// literal returns a value of a schema for a message: a word without quotes
// unless that is ambiguous.
func literal(v any) string {
	s, ok := v.(string)
	isUnclear := func(r rune) bool { return r <= ' ' || strings.ContainsRune(`",;:`, r) }
	if ok && s != "" && !jsontext.Value(s).IsValid() && strings.IndexFunc(s, isUnclear) < 0 {
		return rawjson.Shorten(s)
	}
	return rawjson.Shorten(encode(v))
}

// encode returns a value of a schema as JSON.
func encode(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "…" // never: the value came from JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}
