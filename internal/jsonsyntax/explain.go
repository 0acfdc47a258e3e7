package jsonsyntax

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"pickup/internal/rawjson"
)

// A Grammar is what a text must follow: JSON (RFC 8259) in UTF-8, without
// duplicate names.
type Grammar struct {
	Noun     string // what messages call the text, as in "file"
	Root     string // if not empty, the text must be an object, which messages call this
	Comments bool   // allow comments, trailing commas and a byte order mark
	MaxDepth int    // how many arrays and objects may be nested
}

// Explain returns the offset of the first error in text and one sentence, not
// capitalized, about it. The reason is empty if there is no error. unquoted is the reason
// with "…" for what it quotes of the text.
func (g Grammar) Explain(text []byte) (offset int, reason, unquoted string) {
	r := &reader{Grammar: g, text: text}
	r.document()
	return r.offset, r.reason, r.unquoted
}

// A reader reads a text up to the first error. Its methods return false after
// one.
type reader struct {
	Grammar
	text   []byte
	i      int
	open   []int // offsets of the open brackets
	offset int   // of the error

	reason, unquoted string
}

// A quotation is a part of the text in a reason.
type quotation string

func (r *reader) fail(offset int, format string, args ...any) bool {
	r.offset, r.reason = offset, fmt.Sprintf(format, args...)
	for i, arg := range args {
		if _, ok := arg.(quotation); ok {
			args[i] = "…"
		}
	}
	r.unquoted = fmt.Sprintf(format, args...)
	return false
}

// shortened returns the quotation of a text that may be long.
func shortened(text string) quotation { return quotation(rawjson.Shorten(text)) }

// peek returns the next byte, or 0 at the end.
func (r *reader) peek() byte {
	if r.i < len(r.text) {
		return r.text[r.i]
	}
	return 0
}

func (r *reader) ended() bool { return r.i >= len(r.text) }

func (r *reader) hasPrefix(prefix string) bool { return bytes.HasPrefix(r.text[r.i:], []byte(prefix)) }

func (r *reader) line(offset int) int {
	line, _ := rawjson.LineColumn(r.text, offset)
	return line
}

// bracket returns the innermost open bracket, as in "the { on line 1".
func (r *reader) bracket() string {
	at := r.open[len(r.open)-1]
	return fmt.Sprintf("the %c on line %d", r.text[at], r.line(at))
}

// document reads the whole text.
func (r *reader) document() bool {
	const bom = "\ufeff"
	switch {
	case r.hasPrefix("\xff\xfe"), r.hasPrefix("\xfe\xff"):
		return r.fail(0, "the %s is UTF-16; it must be UTF-8", r.Noun)
	case !r.hasPrefix(bom):
	case !r.Comments:
		return r.fail(0, "the %s begins with a byte order mark; leave it out", r.Noun)
	default:
		r.i = len(bom)
	}
	if !r.space() {
		return false
	}
	word := r.word()
	switch c := r.peek(); {
	case r.ended() && r.Root != "":
		return r.fail(r.i, `the %s is empty: expected %s, such as {"items": []}`, r.Noun, r.Root)
	case r.ended():
		return r.fail(r.i, "the %s is empty", r.Noun)
	case r.Root == "" || c == '{':
	case c == '[':
		return r.fail(r.i, `expected %s, found an array: wrap it, as in {"items": [ … ]}`, r.Root)
	case c == '"' || startsNumber(c) || isLiteral(word):
		return r.fail(r.i, `expected %s, such as {"items": []}, found a single value`, r.Root)
	default:
		return r.unexpected("'{'")
	}
	switch {
	case !r.value() || !r.space():
		return false
	case r.ended():
		return true
	case r.peek() == '}' || r.peek() == ']':
		return r.fail(r.i, "unexpected '%c': every bracket is closed already", r.peek())
	}
	return r.fail(r.i, "unexpected text after the end of the value")
}

// space reads white space and comments.
func (r *reader) space() bool {
	for {
		r.i = rawjson.SkipSpace(r.text, r.i)
		switch c := r.peek(); {
		case c != '/' && c != '#':
			return true
		case !r.Comments:
			return r.fail(r.i, "JSON has no comments")
		case c == '#':
			return r.fail(r.i, "expected // or /* to begin a comment, found #")
		}
		end := rawjson.SkipComment(r.text, r.i)
		switch {
		case end < 0 && r.hasPrefix("/*"):
			return r.fail(r.i, "this comment is not closed; add */")
		case end < 0:
			return r.fail(r.i, "expected // or /* to begin a comment, found a single /")
		case !r.utf8(end):
			return false
		}
	}
}

// utf8 reads up to end and checks the encoding.
func (r *reader) utf8(end int) bool {
	for r.i < end {
		c, n := utf8.DecodeRune(r.text[r.i:end])
		if c == utf8.RuneError && n == 1 {
			return r.fail(r.i, "the byte %s is not UTF-8; the %s must be UTF-8", quotation(fmt.Sprintf("0x%02X", r.text[r.i])), r.Noun)
		}
		r.i += n
	}
	return true
}

// value reads a value.
func (r *reader) value() bool {
	switch c := r.peek(); {
	case r.ended():
		return r.unexpectedEnd()
	case c == '{' || c == '[':
		return r.list()
	case c == '"':
		return r.str()
	case startsNumber(c):
		return r.number()
	}
	if word := r.word(); isLiteral(word) {
		r.i += len(word)
		return true
	}
	return r.unexpected("a value")
}

func isLiteral(word string) bool { return word == "true" || word == "false" || word == "null" }

func startsNumber(c byte) bool { return c == '-' || '0' <= c && c <= '9' }

// word returns the letters and digits that come next.
func (r *reader) word() string {
	rest := r.text[r.i:]
	n := bytes.IndexFunc(rest, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' && c != '$' && c != '-'
	})
	if n < 0 {
		n = len(rest)
	}
	return string(rest[:n])
}

func (r *reader) unexpectedEnd() bool {
	return r.fail(r.i, "unexpected end of the %s: %s is not closed", r.Noun, r.bracket())
}

// unexpected explains a character that begins nothing that may come next.
func (r *reader) unexpected(wanted string) bool {
	for _, mark := range []string{"<<<<<<<", "=======", ">>>>>>>"} {
		if r.hasPrefix(mark) {
			return r.fail(r.i, "this is a merge conflict marker; resolve the conflict and remove the marker")
		}
	}
	c, n := utf8.DecodeRune(r.text[r.i:])
	word := r.word()
	switch {
	case c == utf8.RuneError && n == 1:
		return r.utf8(r.i + 1)
	case strings.ContainsRune("'`“”„«»‘’", c):
		return r.fail(r.i, `expected plain double quotes ("), found %c`, c)
	case c == ',':
		return r.fail(r.i, "unexpected comma: %s must come before it", wanted)
	case word == "" && (c == '+' || c == '.') && wanted == "a value":
		return r.fail(r.i, "a number begins with a digit or a minus sign, not with %c", c)
	case word == "":
		return r.fail(r.i, "expected %s, found %s", wanted, quotation(strconv.QuoteRune(c)))
	case wanted != "a value":
		return r.fail(r.i, `expected %s, found the word "%s"`, wanted, shortened(word))
	}
	switch lower := strings.ToLower(word); lower {
	case "true", "false", "null":
		return r.fail(r.i, "expected %s, found %s", lower, word)
	case "none", "nil", "undefined":
		return r.fail(r.i, "expected null, found %s", word)
	case "nan", "infinity":
		return r.fail(r.i, "%s is not a JSON number; use null or a string", word)
	}
	return r.fail(r.i, "the word %s must be in double quotes", shortened(word))
}

// list reads an object or array.
func (r *reader) list() bool {
	if r.open = append(r.open, r.i); len(r.open) > r.MaxDepth {
		return r.fail(r.i, "the %s is nested deeper than %d levels", r.Noun, r.MaxDepth)
	}
	var names map[string]int // of an object: their offsets
	item := "a value"
	if r.peek() == '{' {
		names, item = make(map[string]int), "a member"
	}
	closing := rawjson.Closing(r.peek())
	r.i++
	for comma := -1; ; { // the offset of the comma before the item
		if !r.space() {
			return false
		}
		switch c := r.peek(); {
		case r.ended():
			return r.unexpectedEnd()
		case c == closing && comma >= 0 && !r.Comments:
			return r.fail(comma, "unexpected comma: %s must follow", item)
		case c == closing:
			r.i++
			r.open = r.open[:len(r.open)-1]
			return true
		case c == '}' || c == ']':
			return r.mismatch(closing)
		case c == ',':
			return r.unexpected(item)
		}
		if names != nil && !r.name(names) || !r.value() {
			return false
		}
		end := r.i
		if !r.space() {
			return false
		}
		switch c := r.peek(); {
		case c == ',':
			comma = r.i
			r.i++
		case c == closing: // the next round reads it
			comma = -1
		case r.ended():
			return r.unexpectedEnd()
		case c == '}' || c == ']':
			return r.mismatch(closing)
		case c == ':':
			return r.fail(r.i, "unexpected colon: it may only follow the name of a member")
		case c == '"' || c == '{' || c == '[' || startsNumber(c) || unicode.IsLetter(rune(c)):
			return r.fail(end, "missing comma after this value")
		default:
			return r.unexpected(fmt.Sprintf("',' or '%c'", closing))
		}
	}
}

func (r *reader) mismatch(closing byte) bool {
	return r.fail(r.i, "expected '%c' to close %s, found '%c'", closing, r.bracket(), r.peek())
}

// name reads the name of a member and the colon. names has those before it.
func (r *reader) name(names map[string]int) bool {
	switch c := r.peek(); c {
	case '"':
	case '{', '[':
		return r.fail(r.i, "expected a name in double quotes, found '%c'; or is %s a mistake?", c, r.bracket())
	default:
		return r.unexpected("a name in double quotes")
	}
	start := r.i
	if !r.str() {
		return false
	}
	end := r.i
	quoted := shortened(string(r.text[start:end]))
	name := rawjson.Unquote(r.text[start:end])
	if first, ok := names[name]; ok {
		return r.fail(start, "duplicate name %s: it is already used on line %d", quoted, r.line(first))
	}
	names[name] = start
	if !r.space() {
		return false
	}
	switch c := r.peek(); {
	case r.ended():
		return r.unexpectedEnd()
	case c == ':':
		r.i++
		return r.space()
	case c == '=':
		return r.fail(r.i, "expected ':' after the name %s, found '='", quoted)
	case c == ',' || c == '}':
		return r.fail(end, "the name %s has no value", quoted)
	}
	return r.fail(end, "missing colon after the name %s", quoted)
}
