package jsonsyntax

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"pickup/internal/rawjson"
)

// A sentence explains an error by what the reader expected and what the text has there.
type sentence struct {
	states string // what was expected, see below; with < the error is at the end of the token before
	found  *regexp.Regexp
	text   string // with $ before the names of parts; see expand
}

// States are letters: o the Root, v another value, i an element of an array, n a name,
// I and N the same after the last comma, : and , themselves (or a closing bracket), e the
// end. In a token that is not valid the state is 0 for a number, s for a string and E for
// one that does not end. u is UTF-16, b a byte order mark, r an empty text, d a duplicate
// name. The first sentence that fits is used.
var sentences = []sentence{
	{"u", found(``), "the $noun is UTF-16; it must be UTF-8"},
	{"b", found(``), "the $noun begins with a byte order mark; leave it out"},
	{"r", found(``), "the $noun is empty"},
	{"o", found(`$`), `the $noun is empty: expected $root, such as {"items": []}`},
	{"o", found(`\[`), `expected $root, found an array: wrap it, as in {"items": [ … ]}`},
	{"o", found(`["\d-]|(true|false|null)` + ends), `expected $root, such as {"items": []}, found a single value`},
	{"vin:,", found(`$`), "unexpected end of the $noun: $bracket is not closed"},
	{"ovin:,e", found(`<{7}|={7}|>{7}`), "this is a merge conflict marker; resolve the conflict and remove the marker"},
	{"ovin:,e", found(`/\*`), "this comment is not closed; add */"},
	{"ovin:,e", found(`/`), "expected // or /* to begin a comment, found a single /"},
	{"ovin:,e", found(`#`), "expected // or /* to begin a comment, found #"},
	{"e", found(`[}\]]`), "unexpected '$found': every bracket is closed already"},
	{"e", found(``), "unexpected text after the end of the value"},
	{":", found(`=`), "expected ':' after the name $name, found '='"},
	{":<", found(`[,}]`), "the name $name has no value"},
	{":<", found(``), "missing colon after the name $name"},
	{"d", found(``), "duplicate name $name: it is already used on line $first"},
	{"I", found(``), "unexpected comma: a value must follow"},
	{"N", found(``), "unexpected comma: a field must follow"},
	{"in,", found(`[}\]]`), "expected '$closing' to close $bracket, found '$found'"},
	{",", found(`:`), "unexpected colon: it may only follow the name of a field"},
	{",<", found(`["{[\d\pL-]`), "missing comma after this value"},
	{"n", found(`[{[]`), "expected a name in double quotes, found '$found'; or is $bracket a mistake?"},
	{"vi", found(`[{[]`), "the $noun is nested deeper than $depth levels"},
	{"n", found(`,`), "unexpected comma: a field must come before it"},
	{"ovi", found(`,`), "unexpected comma: $wanted must come before it"},
	{"ovin,", found("['`“”„«»‘’]"), `expected plain double quotes ("), found $found`},
	{"vi", found(`[+.]`), "a number begins with a digit or a minus sign, not with $found"},
	{"vi", found(`(?i)(true|false|null)` + ends), "expected $lower, found $found"},
	{"vi", found(`(?i)(none|nil|undefined)` + ends), "expected null, found $found"},
	{"vi", found(`(?i)(nan|infinity)` + ends), "$found is not a JSON number; use null or a string"},
	{"vi", found(word), "the word $quote must be in double quotes"},
	{"on,", found(word), `expected $wanted, found the word "$quote"`},
	{"ovin,", found(`(?s).`), "expected $wanted, found $char"},

	{"0", found(`-(\D|$)`), "missing digit after the minus sign"},
	{"0", found(`-?0\d`), "a number must not begin with 0; leave it out, or use a string"},
	{"0", found(`-?\d+\.(\D|$)`), "missing digit after the decimal point"},
	{"0", found(`-?\d+(\.\d+)?[eE][+-]?([^\d+-]|$)`), "missing digit in the exponent"},
	{"0", found(`[^,:\]}/" \t\r\n]+`), "$quote is not a number; strings must be in double quotes"},

	{"E<", found(``), `this string is not closed; add the closing "`},
	{"s<", found(`[\n\r]`), `this string is not closed on its line; add the closing ", or write a line break as \n`},
	{"s", found(`\t`), `write a tab in a string as \t`},
	{"s", found(`[\x00-\x1f]`), `write the control character U+$hex in a string as \u$hex`},
	{"s", found(`\\u[0-9A-Fa-f]{4}`), `$quote is half of a surrogate pair; the other half is missing`},
	{"s", found(`\\u`), `\u must be followed by four hexadecimal digits`},
	{"s", found(`\\\pC`), `this backslash begins no escape; write \\ for a backslash`},
	{"s", found(`\\.`), `$quote is not an escape; write \\ for a backslash`},
	{"s", found(`(?s).`), notUTF8},
}

const (
	word    = `[\pL\p{Nd}_$-]+`
	ends    = `(?:[^\pL\p{Nd}_$-]|$)` // a word
	notUTF8 = "the byte $byte is not UTF-8; the $noun must be UTF-8"
)

// longer matches what must not follow a word or a number.
var longer = found(word)

func found(pattern string) *regexp.Regexp { return regexp.MustCompile("^(?:" + pattern + ")") }

// explain sets the error at i, or at before if the sentence says so.
func (e *explainer) explain(i int, state rune, before int) {
	e.offset = i
	if c := e.at(i); !e.Comments && (c == '/' || c == '#') && strings.ContainsRune("vin:,e", state) {
		e.reason = "JSON has no comments"
		e.unquoted = e.reason
		return
	}
	for _, s := range sentences {
		m := s.found.FindSubmatch(e.text[i:])
		if m == nil || !strings.ContainsRune(s.states, state) {
			continue
		}
		if strings.HasSuffix(s.states, "<") {
			e.offset = before
		}
		if n := rawjson.ValidUTF8(m[0]); n < len(m[0]) {
			e.offset, s.text, m[0] = i+n, notUTF8, m[0][n:]
		}
		e.reason = e.expand(s.text, state, m, false)
		e.unquoted = e.expand(s.text, state, m, true)
		return
	}
}

// expand returns a sentence about m, which is what its pattern has found.
func (e *explainer) expand(sentence string, state rune, m [][]byte, hide bool) string {
	quote := func(s string) string {
		if hide {
			return "…"
		}
		return rawjson.Shorten(s)
	}
	return os.Expand(sentence, func(part string) string {
		switch part {
		case "noun":
			return e.Noun
		case "root":
			return e.Root
		case "depth":
			return strconv.Itoa(e.MaxDepth)
		case "found": // one of a few
			return string(m[len(m)-1])
		case "lower":
			return strings.ToLower(string(m[1]))
		case "hex":
			return fmt.Sprintf("%04X", m[0])
		case "first":
			return strconv.Itoa(e.line(e.first))
		case "bracket":
			at := e.open[len(e.open)-1]
			return fmt.Sprintf("the %c on line %d", e.text[at], e.line(at))
		case "closing":
			return string(e.closing())
		case "wanted":
			return map[rune]string{'o': "'{'", 'v': "a value", 'i': "a value", 'n': "a name in double quotes", ',': fmt.Sprintf("',' or '%c'", e.closing())}[state]
		case "name":
			return quote(string(e.text[e.name:rawjson.SkipString(e.text, e.name)]))
		case "byte":
			return quote(fmt.Sprintf("0x%02X", m[0][0]))
		case "char":
			return quote(strconv.QuoteRune([]rune(string(m[0]))[0]))
		}
		return quote(string(m[0])) // "quote"
	})
}
