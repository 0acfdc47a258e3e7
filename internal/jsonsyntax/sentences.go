package jsonsyntax

import (
	_ "embed"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"pickup/internal/rawjson"
)

// A sentence explains an error by the state of the reader and the text at the error.
type sentence struct {
	states string // see below; with <, the error is at the end of the token before
	found  *regexp.Regexp
	text   string // with $ before the names of parts; see expand
}

// sentences returns the sentences. The first call reads these from sentences.txt. Each line has
// three columns, between tabs: states, a regular expression for the text at the error, and the
// sentence. The first match counts.
//
// A state is a letter for the expected token: o for the Root, v for another value, i for an
// element of an array, n for a name, I and N for the same after a comma, : for a colon, a comma
// for a comma or a closing bracket, e for the end. In an invalid token, the state is 0 for a
// number, s for a string and E for an unterminated string. The state is u for UTF-16, b for a
// byte order mark, r for an empty text, d for a duplicate name.
var sentences = sync.OnceValue(parseSentences)

//go:embed sentences.txt
var sentencesText string

func parseSentences() (all []sentence) {
	for line := range strings.Lines(sentencesText) {
		columns := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(columns) == 3 {
			all = append(all, sentence{columns[0], found(columns[1]), columns[2]})
		}
	}
	return all
}

const notUTF8 = "the byte $byte is not UTF-8; the $noun must be UTF-8"

// longer matches text that must not follow a word or a number.
var longer = sync.OnceValue(func() *regexp.Regexp { return found(`[\pL\p{Nd}_$-]+`) })

func found(pattern string) *regexp.Regexp { return regexp.MustCompile("^(?:" + pattern + ")") }

// explain sets the error at i, or at before if the sentence says so.
func (e *explainer) explain(i int, state rune, before int) {
	e.offset = i
	if c := e.at(i); !e.Comments && (c == '/' || c == '#') && strings.ContainsRune("vin:,e", state) {
		e.reason = "JSON has no comments"
		e.unquoted = e.reason
		return
	}
	for _, s := range sentences() {
		m := s.found.FindSubmatch(e.text[i:])
		if m == nil || !strings.ContainsRune(s.states, state) {
			continue
		}
		if strings.HasSuffix(s.states, "<") {
			e.offset = before
		}
		if n := rawjson.ValidUTF8(m[0]); n < len(m[0]) {
			e.offset = i + n
			s.text = notUTF8
			m[0] = m[0][n:]
		}
		e.reason = e.expand(s.text, state, m, false)
		e.unquoted = e.expand(s.text, state, m, true)
		return
	}
}

// expand replaces the names of parts in a sentence. m is the match of the pattern.
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
		case "found": // harmless
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
			return e.wanted(state)
		case "quotes":
			return e.quotes()
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

// wanted names the token that the state expects.
func (e *explainer) wanted(state rune) string {
	switch state {
	case 'o':
		return "'{'"
	case 'n':
		if e.JSON5 {
			return "a name"
		}
		return "a name in " + e.quotes()
	case ',':
		return fmt.Sprintf("',' or '%c'", e.closing())
	}
	return "a value"
}

// quotes names the quotes of strings.
func (e *explainer) quotes() string {
	if e.JSON5 {
		return "quotes"
	}
	return "double quotes"
}
