package document

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// position returns the line and the column, from 1 and in code points, of an
// offset. A byte order mark has no column.
func position(data []byte, off int) (line, column int) {
	before := data[:min(off, len(data))]
	line = 1 + bytes.Count(before, []byte("\n"))
	before = before[bytes.LastIndexByte(before, '\n')+1:]
	if line == 1 {
		before = bytes.TrimPrefix(before, byteOrderMark)
	}
	return line, 1 + utf8.RuneCount(before)
}

// explain returns where and why data does not parse. The parser knows that it
// does not; a person wants to know what is wrong and what would be right, so
// the text is read once more, slowly.
func explain(data []byte, err error) (off int, reason string) {
	var syntax *jsontext.SyntacticError
	errors.As(err, &syntax)
	if errors.Is(err, jsontext.ErrDuplicateName) {
		p := string(syntax.JSONPointer)
		reason = fmt.Sprintf(`the name "%s" stands twice in this object`, short(syntax.JSONPointer.LastToken()))
		if line, _, ok := Locate(data, p); ok {
			reason += fmt.Sprintf("; it is there since line %d", line)
		}
		return int(syntax.ByteOffset), reason
	}
	x := &explainer{b: data}
	if x.document(); x.reason != "" {
		return x.off, x.reason
	}
	if syntax != nil {
		return int(syntax.ByteOffset), "this is not valid JSON"
	}
	return 0, "this is not valid JSON"
}

// An explainer reads JSON with comments up to the first fault. Its methods
// return false after one.
type explainer struct {
	b      []byte
	i      int
	open   []int // where the brackets that are open stand
	off    int   // where the fault is
	reason string
}

func (x *explainer) fail(off int, format string, args ...any) bool {
	x.off, x.reason = off, fmt.Sprintf(format, args...)
	return false
}

// peek returns the next byte, or 0 at the end.
func (x *explainer) peek() byte {
	if x.i < len(x.b) {
		return x.b[x.i]
	}
	return 0
}

func (x *explainer) ended() bool { return x.i >= len(x.b) }

func (x *explainer) document() bool {
	if bytes.HasPrefix(x.b, []byte("\xff\xfe")) || bytes.HasPrefix(x.b, []byte("\xfe\xff")) {
		return x.fail(0, "the file is UTF-16; save it as UTF-8")
	}
	if bytes.HasPrefix(x.b, byteOrderMark) {
		x.i = len(byteOrderMark)
	}
	if !x.space() {
		return false
	}
	switch c, word := x.peek(), x.word(); {
	case x.ended():
		return x.fail(x.i, "the file is empty; an empty database is {}")
	case c == '[':
		return x.fail(x.i, `the file begins with an array; a database is an object of collections, such as {"schedules": [...]}`)
	case c == '"' || c == '-' || '0' <= c && c <= '9', word == "true", word == "false", word == "null":
		return x.fail(x.i, `the file begins with a single value; a database is an object of collections, such as {"schedules": [...]}`)
	case word != "":
		return x.fail(x.i, "the word %s stands where an opening { belongs", short(word))
	case c != '{':
		return x.unexpected("an opening { belongs here")
	}
	if !x.value() || !x.space() {
		return false
	}
	if !x.ended() {
		if c := x.peek(); c == '}' || c == ']' {
			return x.fail(x.i, "this %c closes nothing: everything is closed already", c)
		}
		return x.fail(x.i, "the database ends before this with its closing }; nothing may follow it")
	}
	return true
}

// space skips white space and comments.
func (x *explainer) space() bool {
	for !x.ended() {
		switch x.b[x.i] {
		case ' ', '\t', '\r', '\n':
			x.i++
		case '#':
			return x.fail(x.i, "# begins no comment; write // instead")
		case '/':
			end := commentEnd(x.b, x.i)
			if end < 0 {
				if x.i+1 < len(x.b) && x.b[x.i+1] == '*' {
					return x.fail(x.i, "this comment is never closed; */ would close it")
				}
				return x.fail(x.i, "a single / means nothing; comments begin with // or /*")
			}
			if !x.utf8(x.i, end) {
				return false
			}
			x.i = end
		default:
			return true
		}
	}
	return true
}

// utf8 checks a part of the text.
func (x *explainer) utf8(from, to int) bool {
	for i := from; i < to; {
		r, n := utf8.DecodeRune(x.b[i:to])
		if r == utf8.RuneError && n == 1 {
			return x.fail(i, "the byte 0x%02X is not UTF-8; save the file as UTF-8", x.b[i])
		}
		i += n
	}
	return true
}

// still says which bracket is open.
func (x *explainer) still() string {
	at := x.open[len(x.open)-1]
	line, _ := position(x.b, at)
	return fmt.Sprintf("the %c of line %d", x.b[at], line)
}

func (x *explainer) value() bool {
	c := x.peek()
	switch {
	case x.ended():
		return x.fail(x.i, "the file ends where a value should stand; %s is still open", x.still())
	case c == '{' || c == '[':
		return x.list()
	case c == '"':
		return x.str()
	case c == '-' || '0' <= c && c <= '9':
		return x.number()
	case c == ',':
		return x.fail(x.i, "a value is missing before this comma")
	case c == '}' || c == ']':
		return x.fail(x.i, "a value is missing before this %c", c)
	}
	for _, word := range []string{"true", "false", "null"} {
		if x.word() == word {
			x.i += len(word)
			return true
		}
	}
	return x.unexpected("a value belongs here")
}

// word returns the letters and digits that come next.
func (x *explainer) word() string {
	n := bytes.IndexFunc(x.b[x.i:], func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '$' && r != '-'
	})
	if n < 0 {
		n = len(x.b) - x.i
	}
	return string(x.b[x.i : x.i+n])
}

// unexpected explains what stands where it should not.
func (x *explainer) unexpected(wanted string) bool {
	for _, mark := range []string{"<<<<<<<", "=======", ">>>>>>>"} {
		if bytes.HasPrefix(x.b[x.i:], []byte(mark)) {
			return x.fail(x.i, "this is the mark of a merge conflict; settle it and remove the mark")
		}
	}
	r, n := utf8.DecodeRune(x.b[x.i:])
	word := x.word()
	switch {
	case r == utf8.RuneError && n == 1:
		return x.utf8(x.i, x.i+1)
	case r == '\'' || r == '`':
		return x.fail(x.i, "text stands in double quotes, not in %c", r)
	case strings.ContainsRune("“”„«»‘’", r):
		return x.fail(x.i, `text stands in plain double quotes (") and not in %c`, r)
	case r == '+' || r == '.':
		return x.fail(x.i, "a number begins with a digit or a minus")
	case len(word) == 0:
		return x.fail(x.i, "%q means nothing here; %s", string(r), wanted)
	}
	switch lower := strings.ToLower(word); lower {
	case "true", "false", "null":
		return x.fail(x.i, "%s is written %s", word, lower)
	case "none", "nil", "undefined":
		return x.fail(x.i, "%s is written null", word)
	case "nan", "infinity":
		return x.fail(x.i, "%s is no JSON number; null or a text would be", word)
	}
	return x.fail(x.i, "the word %s must stand in double quotes", short(word))
}

// deepest is how many brackets may be open at once: what the parser allows.
const deepest = 10_000

// list reads an object or array.
func (x *explainer) list() bool {
	x.open = append(x.open, x.i)
	if len(x.open) > deepest {
		return x.fail(x.i, "this is nested deeper than %d brackets", deepest)
	}
	object := x.b[x.i] == '{'
	close := x.b[x.i] + 2
	x.i++
	for n := 0; ; n++ {
		if !x.space() {
			return false
		}
		c := x.peek()
		switch {
		case x.ended():
			return x.fail(x.i, "the file ends here, but %s is not closed", x.still())
		case c == close: // also behind a trailing comma
			x.i++
			x.open = x.open[:len(x.open)-1]
			return true
		case c == '}' || c == ']':
			return x.mismatch()
		case c == ',' && n == 0:
			return x.fail(x.i, "nothing stands before this comma")
		case c == ',':
			return x.fail(x.i, "nothing stands between this comma and the one before")
		}
		if object && !x.name() || !x.value() {
			return false
		}
		end := x.i
		if !x.space() {
			return false
		}
		switch c := x.peek(); {
		case c == ',':
			x.i++
		case c == close: // the next round closes
		case x.ended():
			return x.fail(x.i, "the file ends here, but %s is not closed", x.still())
		case c == '}' || c == ']':
			return x.mismatch()
		case c == ':':
			return x.fail(x.i, "a colon stands only between a name and its value")
		case c == '"' || c == '{' || c == '[' || c == '-' || '0' <= c && c <= '9' || unicode.IsLetter(rune(c)):
			return x.fail(end, "a comma is missing after this value")
		default:
			return x.unexpected(fmt.Sprintf("a comma or %c belongs here", close))
		}
	}
}

func (x *explainer) mismatch() bool {
	at := x.open[len(x.open)-1]
	return x.fail(x.i, "this %c does not close %s; %c would", x.b[x.i], x.still(), x.b[at]+2)
}

// name reads a member's name and the colon.
func (x *explainer) name() bool {
	if c := x.peek(); c != '"' {
		word := x.word()
		switch {
		case c == '{' || c == '[':
			return x.fail(x.i, "a name is missing before this %c, or the { of line %d is not meant to be one",
				c, lineOf(x.b, x.open[len(x.open)-1]))
		case word != "":
			return x.fail(x.i, `a name stands in double quotes: "%s"`, short(word))
		}
		return x.unexpected("a name in double quotes belongs here")
	}
	start := x.i
	if !x.str() {
		return false
	}
	end := x.i
	name := short(string(x.b[start:end]))
	if !x.space() {
		return false
	}
	switch c := x.peek(); c {
	case ':':
		x.i++
		return x.space()
	case '=':
		return x.fail(x.i, "a colon belongs between a name and its value, and no =")
	case ',', '}':
		return x.fail(end, "the name %s has no value", name)
	}
	return x.fail(end, "a colon is missing after the name %s", name)
}

func lineOf(b []byte, off int) int {
	line, _ := position(b, off)
	return line
}

// short cuts a piece of the file that goes into a message.
func short(s string) string {
	const most = 40
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}
