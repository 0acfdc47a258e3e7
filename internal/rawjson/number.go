package rawjson

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"
)

// farPoint limits exponents. Numbers beyond the limit, which do not occur in
// practice, compare as numbers at the limit.
const farPoint = int64(1e18)

// appendDigits appends the digits d of a valid JSON number, without zeros at either
// end. The value of the number is 0.d × 10^point. Zero has no digits.
func appendDigits(dst, s []byte) (_ []byte, negative bool, point int64) {
	s, negative = bytes.CutPrefix(s, []byte("-"))
	var exponent int64
	if i := bytes.IndexAny(s, "eE"); i >= 0 {
		exponent, _ = strconv.ParseInt(string(s[i+1:]), 10, 64) // the nearest if it is out of range
		s = s[:i]
	}
	whole, fraction, _ := bytes.Cut(s, []byte("."))
	start := len(dst)
	dst = append(append(dst, whole...), fraction...)
	digits := bytes.TrimLeft(dst[start:], "0")
	point = int64(len(whole) - (len(dst) - start - len(digits)))
	dst = append(dst[:start], bytes.TrimRight(digits, "0")...)
	if len(dst) == start {
		return dst, false, 0
	}
	return dst, negative, max(-farPoint, min(farPoint, point+max(-farPoint, min(farPoint, exponent))))
}

// AppendOrderKey appends bytes that sort like the numbers: a sign, the
// position of the point and the digits. Point and digits are inverted for a
// negative number. No key is a prefix of another key.
func AppendOrderKey(dst, number []byte) []byte {
	start := len(dst)
	dst, negative, point := appendDigits(append(dst, 2, 0, 0, 0, 0, 0, 0, 0, 0), number)
	if len(dst) == start+9 { // no digits
		return append(dst[:start], 1)
	}
	binary.BigEndian.PutUint64(dst[start+1:], uint64(point)+1<<63)
	dst = append(dst, 0)
	if negative {
		dst[start] = 0
		for i := start + 1; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}

// CanonicalNumber returns the same spelling for all JSON numbers of the same value:
// digits without leading or trailing zeros, "e" and an exponent.
func CanonicalNumber(s string) string {
	out, negative, point := appendDigits(make([]byte, 0, len(s)+8), []byte(s))
	if len(out) == 0 {
		return "0"
	}
	out = strconv.AppendInt(append(out, 'e'), point-int64(len(out)), 10)
	if negative {
		return "-" + string(out)
	}
	return string(out)
}

// Index returns the array index in s. It reports false if s is not an index, or too
// large for an array.
func Index(s string) (int, bool) {
	i, err := strconv.Atoi(s)
	return i, err == nil && IsIndex(s)
}

// IsIndex reports whether s is an array index as RFC 6901 spells it: digits
// without leading zeros.
func IsIndex(s string) bool {
	return s == "0" || s != "" && s[0] != '0' && strings.Trim(s, "0123456789") == ""
}
