package rawjson

import (
	"bytes"
	"encoding/binary"
	"strconv"
)

// A decimal is the exact value of a JSON number: 0.d × 10^point, where d are
// the digits of head followed by the digits of tail, without zeros at either end.
// Zero has no digits. The digits are parts of the text: head was before the
// decimal point and tail after it.
type decimal struct {
	negative   bool
	point      int64
	head, tail []byte
}

// farPoint limits exponents. Numbers beyond it, which do not occur in
// practice, compare as if they had it.
const farPoint = int64(1e18)

// parseDecimal parses a valid JSON number. The decimal refers to s.
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

// exponent parses what follows the e of a number.
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
	n, _ := strconv.ParseInt(string(s), 10, 64) // at most 18 digits; none mean 0
	return sign * n
}

// AppendOrderKey appends bytes that compare as the numbers do: a sign, the
// place of the point and the digits. All but the sign are inverted for a
// negative number. No key is the beginning of another.
func AppendOrderKey(dst, number []byte) []byte {
	d := parseDecimal(number)
	if len(d.head)+len(d.tail) == 0 {
		return append(dst, 1)
	}
	sign := byte(2)
	if d.negative {
		sign = 0
	}
	dst = append(dst, sign)
	start := len(dst)
	dst = binary.BigEndian.AppendUint64(dst, uint64(d.point)+1<<63)
	dst = append(append(append(dst, d.head...), d.tail...), 0)
	if d.negative {
		for i := start; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}

// CanonicalNumber returns a spelling that all JSON numbers of the same value
// share: digits without leading or trailing zeros, "e" and an exponent.
func CanonicalNumber(s string) string {
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

// Index returns the array index that s spells. It reports false if s is none, or too
// large for an array.
func Index(s string) (int, bool) {
	i, err := strconv.Atoi(s)
	return i, err == nil && IsIndex(s)
}

// IsIndex reports whether s is an array index as RFC 6901 spells it: digits
// without leading zeros.
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
