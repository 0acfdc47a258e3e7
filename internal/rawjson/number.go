package rawjson

import (
	"bytes"
	"cmp"
	"strconv"
)

// A Decimal is the exact value of a JSON number: 0.d × 10^point, where d are
// the digits of head followed by those of tail, without zeros at either end.
// Zero has no digits. It is made without copying: head stood before the
// decimal point and tail behind it.
type Decimal struct {
	Negative   bool
	Point      int64
	Head, Tail []byte
}

// farPoint is where exponents end. Numbers beyond it, of which nobody has
// any, are as large or as small as each other.
const farPoint = int64(1e18)

// ParseDecimal reads a valid JSON number.
func ParseDecimal(s []byte) Decimal {
	var d Decimal
	if s[0] == '-' {
		d.Negative, s = true, s[1:]
	}
	var exp []byte
	if i := bytes.IndexAny(s, "eE"); i >= 0 {
		s, exp = s[:i], s[i+1:]
	}
	d.Head = s
	if i := bytes.IndexByte(s, '.'); i >= 0 {
		d.Head, d.Tail = s[:i], s[i+1:]
	}
	d.Head = bytes.TrimLeft(d.Head, "0")
	d.Point = int64(len(d.Head))
	if len(d.Head) == 0 {
		n := len(d.Tail)
		d.Tail = bytes.TrimLeft(d.Tail, "0")
		d.Point = int64(len(d.Tail) - n)
	}
	if d.Tail = bytes.TrimRight(d.Tail, "0"); len(d.Tail) == 0 {
		d.Head = bytes.TrimRight(d.Head, "0")
	}
	if len(d.Head)+len(d.Tail) == 0 {
		return Decimal{}
	}
	d.Point = max(-farPoint, min(farPoint, d.Point+exponent(exp)))
	return d
}

// exponent reads what stands behind the e of a number.
func exponent(s []byte) int64 {
	if len(s) == 0 {
		return 0
	}
	sign := int64(1)
	switch s[0] {
	case '-':
		sign, s = -1, s[1:]
	case '+':
		s = s[1:]
	}
	s = bytes.TrimLeft(s, "0")
	if len(s) > 18 {
		return sign * farPoint
	}
	n, _ := strconv.ParseInt(string(s), 10, 64) // 18 digits at most; none are 0
	return sign * n
}

// Compare orders numbers by value.
func (d Decimal) Compare(e Decimal) int {
	zero, other := len(d.Head)+len(d.Tail) == 0, len(e.Head)+len(e.Tail) == 0
	switch {
	case zero && other:
		return 0
	case zero:
		return -e.sign()
	case other || d.Negative != e.Negative:
		return d.sign()
	}
	c := cmp.Compare(d.Point, e.Point)
	if c == 0 {
		c = d.compareDigits(e)
	}
	return d.sign() * c
}

// sign returns -1 for a negative number, else 1.
func (d Decimal) sign() int {
	if d.Negative {
		return -1
	}
	return 1
}

// compareDigits compares the digits of two numbers from the first one on.
func (d Decimal) compareDigits(e Decimal) int {
	if len(d.Tail) == 0 && len(e.Tail) == 0 {
		return bytes.Compare(d.Head, e.Head) // a digit more is more: it is not 0
	}
	n, m := len(d.Head)+len(d.Tail), len(e.Head)+len(e.Tail)
	for i := range min(n, m) {
		if c := cmp.Compare(d.digit(i), e.digit(i)); c != 0 {
			return c
		}
	}
	return cmp.Compare(n, m)
}

func (d Decimal) digit(i int) byte {
	if i < len(d.Head) {
		return d.Head[i]
	}
	return d.Tail[i-len(d.Head)]
}

// CanonicalNumber returns a JSON number's value in the one spelling that its equals
// share: digits without leading or trailing zeros, "e" and an exponent.
func CanonicalNumber(s string) string {
	d := ParseDecimal([]byte(s))
	n := len(d.Head) + len(d.Tail)
	if n == 0 {
		return "0"
	}
	out := make([]byte, 0, n+8)
	if d.Negative {
		out = append(out, '-')
	}
	out = append(append(out, d.Head...), d.Tail...)
	return string(strconv.AppendInt(append(out, 'e'), d.Point-int64(n), 10))
}

// IsIndex reports whether s is a natural number without leading zeros.
func IsIndex(s string) bool {
	if s == "" || s[0] == '0' && len(s) > 1 {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
