package pickup

import (
	"bytes"
	"cmp"
	"strconv"
)

// A decimal is the exact value of a JSON number: 0.d × 10^point, where d are
// the digits of head followed by those of tail, without zeros at either end.
// Zero has no digits. It is made without copying: head stood before the
// decimal point and tail behind it.
type decimal struct {
	negative   bool
	point      int64
	head, tail []byte
}

// farPoint is where exponents end. Numbers beyond it, of which nobody has
// any, are as large or as small as each other.
const farPoint = int64(1e18)

// parseDecimal reads a valid JSON number.
func parseDecimal(s []byte) decimal {
	var d decimal
	if s[0] == '-' {
		d.negative, s = true, s[1:]
	}
	var exp []byte
	if i := bytes.IndexAny(s, "eE"); i >= 0 {
		s, exp = s[:i], s[i+1:]
	}
	d.head = s
	if i := bytes.IndexByte(s, '.'); i >= 0 {
		d.head, d.tail = s[:i], s[i+1:]
	}
	d.head = bytes.TrimLeft(d.head, "0")
	d.point = int64(len(d.head))
	if len(d.head) == 0 {
		n := len(d.tail)
		d.tail = bytes.TrimLeft(d.tail, "0")
		d.point = int64(len(d.tail) - n)
	}
	if d.tail = bytes.TrimRight(d.tail, "0"); len(d.tail) == 0 {
		d.head = bytes.TrimRight(d.head, "0")
	}
	if len(d.head)+len(d.tail) == 0 {
		return decimal{}
	}
	d.point = max(-farPoint, min(farPoint, d.point+exponent(exp)))
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

// compare orders numbers by value.
func (d decimal) compare(e decimal) int {
	zero, other := len(d.head)+len(d.tail) == 0, len(e.head)+len(e.tail) == 0
	switch {
	case zero && other:
		return 0
	case zero:
		return -e.sign()
	case other || d.negative != e.negative:
		return d.sign()
	}
	c := cmp.Compare(d.point, e.point)
	if c == 0 {
		c = d.compareDigits(e)
	}
	return d.sign() * c
}

// sign returns -1 for a negative number, else 1.
func (d decimal) sign() int {
	if d.negative {
		return -1
	}
	return 1
}

// compareDigits compares the digits of two numbers from the first one on.
func (d decimal) compareDigits(e decimal) int {
	if len(d.tail) == 0 && len(e.tail) == 0 {
		return bytes.Compare(d.head, e.head) // a digit more is more: it is not 0
	}
	n, m := len(d.head)+len(d.tail), len(e.head)+len(e.tail)
	for i := range min(n, m) {
		if c := cmp.Compare(d.digit(i), e.digit(i)); c != 0 {
			return c
		}
	}
	return cmp.Compare(n, m)
}

func (d decimal) digit(i int) byte {
	if i < len(d.head) {
		return d.head[i]
	}
	return d.tail[i-len(d.head)]
}

// number returns a JSON number's value in the one spelling that its equals
// share: digits without leading or trailing zeros, "e" and an exponent.
func number(s string) string {
	d := parseDecimal([]byte(s))
	n := len(d.head) + len(d.tail)
	if n == 0 {
		return "0"
	}
	out := make([]byte, 0, n+8)
	if d.negative {
		out = append(out, '-')
	}
	out = append(append(out, d.head...), d.tail...)
	return string(strconv.AppendInt(append(out, 'e'), d.point-int64(n), 10))
}

// digits reports whether s is a natural number without leading zeros.
func digits(s string) bool {
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
