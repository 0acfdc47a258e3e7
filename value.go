package pickup

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Equality, as queries and unique rules mean it: numbers are equal by value
// however they are spelled, everything else by its text. Equal values have an
// equality key in common.

// equalityKeys returns the keys of a stored value: one of a scalar, those of
// its scalar elements of an array, none of an object.
func equalityKeys(v jsontext.Value) []string {
	switch v.Kind() {
	case '0':
		return []string{"n" + number(string(v))}
	case '"':
		return []string{"s" + text(v)}
	case 't', 'f', 'n':
		return []string{"s" + string(v)}
	case '[':
		var keys []string
		elements(v, func(e jsontext.Value) bool {
			if e.Kind() != '[' {
				keys = append(keys, equalityKeys(e)...)
			}
			return true
		})
		return keys
	}
	return nil
}

// queryKeys returns the keys of what a client wrote into a URL.
func queryKeys(s string) []string {
	keys := []string{"s" + s}
	if v := jsontext.Value(s); v.IsValid() && v.Kind() == '0' && strings.Trim(s, " \t\r\n") == s {
		keys = append(keys, "n"+number(s))
	}
	return keys
}

// number returns a JSON number's value in the one spelling that its equals
// share: digits without leading or trailing zeros, "e" and an exponent.
func number(s string) string {
	mantissa, exp, _ := strings.Cut(strings.ToLower(s), "e")
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	all := strings.TrimLeft(whole+fraction, "0")
	d := strings.TrimRight(all, "0")
	if d == "" {
		return "0"
	}
	if negative {
		d = "-" + d
	}
	if len(exp) > 18 { // nobody's number; its own spelling is good enough
		return d + "e" + exp + "-" + strconv.Itoa(len(fraction))
	}
	e, _ := strconv.ParseInt(strings.TrimPrefix(exp, "+"), 10, 64)
	e += int64(len(all) - len(strings.TrimRight(all, "0")) - len(fraction))
	return d + "e" + strconv.FormatInt(e, 10)
}
