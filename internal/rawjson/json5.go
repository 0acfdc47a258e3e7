package rawjson

import (
	"bytes"
	"math/big"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// FromJSON5 returns the JSON of a text in JSON5 (spec.json5.org), or of a part between two tokens.
// JSON has no form for Infinity and NaN, which become null. Invalid text stays invalid. origin returns
// the offset in text of an offset in the result.
func FromJSON5(text []byte) (v jsontext.Value, origin func(offset int) int) {
	type move struct{ to, from int } // the ends of a token that has changed
	var moves []move
	text = BlankedJSON5(text)
	var out []byte
	from := 0 // the part of text that is not in out yet
	for i := 0; i < len(text); {
		if strings.IndexByte(" \t\r\n,:{}[]", text[i]) >= 0 {
			i++
			continue
		}
		end := max(i+1, SkipToken(text, i))
		token := text[i:end]
		convert := scalarOfJSON5
		if next := SkipSpace(text, end); next < len(text) && text[next] == ':' {
			convert = NameOfJSON5
		}
		if v := convert(token); !bytes.Equal(v, token) {
			out = append(append(out, text[from:i]...), v...)
			moves = append(moves, move{len(out), end})
			from = end
		}
		i = end
	}
	if moves == nil {
		return text, func(offset int) int { return offset }
	}
	return append(out, text[from:]...), func(offset int) int {
		n := sort.Search(len(moves), func(i int) bool { return moves[i].to > offset })
		var before move
		if n > 0 {
			before = moves[n-1]
		}
		offset += before.from - before.to
		if n < len(moves) { // perhaps in a token that has become longer
			offset = min(offset, moves[n].from)
		}
		return offset
	}
}

// NameOfJSON5 returns the name of a field, quoted as in JSON. A token that is no name stays.
func NameOfJSON5(token []byte) []byte {
	if IsQuote(token[0]) {
		return stringOfJSON5(token)
	}
	quoted := slices.Concat([]byte{'"'}, token, []byte{'"'})
	if !jsontext.Value(quoted).IsValid() || !IsIdentifier(Unquote(quoted)) {
		return token
	}
	return quoted
}

// IsIdentifier reports whether a name needs no quotes in JSON5.
func IsIdentifier(name string) bool {
	for i, c := range name {
		isStart := c == '$' || c == '_' || unicode.In(c, unicode.L, unicode.Nl)
		if !isStart && (i == 0 || c != '\u200c' && c != '\u200d' &&
			!unicode.In(c, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc)) {
			return false
		}
	}
	return name != ""
}

// IsNonFinite reports whether a token of JSON5 is Infinity or NaN, with or without a sign.
func IsNonFinite(token []byte) bool {
	word := strings.TrimLeft(string(token), "+-")
	return len(token)-len(word) < 2 && (word == "Infinity" || word == "NaN")
}

// Numbers of JSON5 that JSON writes in another way.
var (
	hexNumber = regexp.MustCompile(`^[+-]?0[xX][0-9a-fA-F]+$`)
	oddNumber = regexp.MustCompile(`^\+?(-?)(\d*)(\.?\d*)([eE][+-]?\d+)?$`)
)

// scalarOfJSON5 returns a scalar as in JSON. A token that is no scalar stays.
func scalarOfJSON5(token []byte) []byte {
	c := token[0]
	switch {
	case IsQuote(c):
		return stringOfJSON5(token)
	case 'a' <= c && c <= 'z', '1' <= c && c <= '9' && bytes.IndexByte(token, '.') < 0:
		return token
	case IsNonFinite(token):
		return []byte("null")
	case hexNumber.Match(token):
		n, _ := new(big.Int).SetString(string(bytes.TrimPrefix(token, []byte("+"))), 0)
		return []byte(n.String())
	}
	m := oddNumber.FindSubmatch(token)
	if m == nil || c == '+' && len(m[1]) > 0 || len(m[2]) == 0 && len(m[3]) < 2 {
		return token
	}
	whole := m[2]
	if len(whole) == 0 {
		whole = []byte("0")
	}
	return slices.Concat(m[1], whole, bytes.TrimSuffix(m[3], []byte(".")), m[4])
}

// stringOfJSON5 returns a string as in JSON. Invalid escapes and line breaks stay.
func stringOfJSON5(token []byte) []byte {
	if token[0] == '"' && !slices.ContainsFunc(token, func(c byte) bool { return c == '\\' || c < ' ' }) {
		return token
	}
	out := []byte{'"'}
	for i := 1; i < len(token); {
		n := 1
		c := token[i]
		switch {
		case c == token[0]: // the end
			out = append(out, '"')
		case c == '"':
			out = append(out, '\\', '"')
		case c == '\\' && i+1 < len(token):
			var text []byte
			text, n = escapeOfJSON5(token[i:])
			out = append(out, text...)
		case c < ' ' && c != '\n' && c != '\r':
			out = appendEscape(out, c)
		default:
			out = append(out, c)
		}
		i += n
	}
	return out
}

// escapeOfJSON5 returns the escape that text begins with as in JSON, and its length in text.
func escapeOfJSON5(text []byte) (escape []byte, n int) {
	c, size := utf8.DecodeRune(text[1:])
	n = 1 + size
	switch {
	case bytes.HasPrefix(text[1:], []byte("\r\n")):
		return nil, n + 1
	case c == '\n' || c == '\r' || c == '\u2028' || c == '\u2029': // the string continues on the next line
		return nil, n
	case c == 'v':
		return []byte(`\u000b`), n
	case c == '0' && (n == len(text) || text[n] < '0' || text[n] > '9'):
		return []byte(`\u0000`), n
	case c == 'x' && len(text) >= n+2 && isHex(text[n]) && isHex(text[n+1]):
		return slices.Concat([]byte(`\u00`), text[n:n+2]), n + 2
	case c == 'x', '0' <= c && c <= '9', strings.ContainsRune(`"\/bfnrtu`, c):
		return text[:n], n
	case c < ' ':
		return appendEscape(nil, byte(c)), n
	}
	return text[1:n], n
}

// appendEscape appends the escape of a control character.
func appendEscape(dst []byte, c byte) []byte {
	quoted := AppendQuote(nil, string(rune(c)))
	return append(dst, quoted[1:len(quoted)-1]...)
}

// IsQuote reports whether c is a quote of JSON5.
func IsQuote(c byte) bool { return c == '"' || c == '\'' }

func isHex(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 }

// wideSpace returns the length of the white space at i that JSON5 has and JSON has not, or 0.
func wideSpace(b []byte, i int) int {
	if b[i] < utf8.RuneSelf {
		if b[i] == '\v' || b[i] == '\f' {
			return 1
		}
		return 0
	}
	c, n := utf8.DecodeRune(b[i:])
	if c == '\ufeff' || unicode.Is(unicode.Z, c) {
		return n
	}
	return 0
}
