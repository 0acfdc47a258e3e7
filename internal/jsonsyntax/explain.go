package jsonsyntax

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// A Grammar describes valid texts: JSON (RFC 8259) in UTF-8, without duplicate names.
type Grammar struct {
	Noun     string // the name of the text in messages, as in "file"
	Root     string // if not empty, the text must be an object, with this name in messages
	Comments bool   // allow comments, trailing commas and a byte order mark
	JSON5    bool   // JSON5 instead of JSON, with all that Comments allows
	MaxDepth int    // of nested arrays and objects
}

// Explain returns the offset of the first error in text and the reason, one sentence that is
// not capitalized. The reason is empty if there is no error. unquoted is the reason with "…"
// for quotations from the text.
func (g Grammar) Explain(text []byte) (offset int, reason, unquoted string) {
	e := &explainer{Grammar: g, source: text, text: text}
	e.origin = func(offset int) int { return offset }
	if g.JSON5 {
		e.text, e.origin = rawjson.FromJSON5(text)
	} else if g.Comments {
		e.text = rawjson.Blanked(text)
	}
	if e.checkStart() {
		e.read()
	}
	return e.origin(e.offset), e.reason, e.unquoted
}

// An explainer reads a text up to the first error and chooses a sentence for the error.
type explainer struct {
	Grammar
	source []byte
	text   []byte               // of JSON, with spaces for comments and trailing commas
	origin func(offset int) int // the offset in source of an offset in text
	open   []int                // offsets of the open brackets

	name  int // offset of the name at the error, or before the error
	first int // offset of an earlier use of the same name

	offset           int // of the error
	reason, unquoted string
}

// checkStart checks the start of the text. It returns false after an error.
func (e *explainer) checkStart() bool {
	i := rawjson.SkipSpace(e.text, 0)
	switch {
	case bytes.HasPrefix(e.text, []byte("\xff\xfe")), bytes.HasPrefix(e.text, []byte("\xfe\xff")):
		e.explain(0, 'u', 0)
	case bytes.HasPrefix(e.text, []byte(byteOrderMark)):
		e.explain(0, 'b', 0)
	case e.Root != "" && (i == len(e.text) || e.text[i] != '{'):
		e.explain(i, 'o', i)
	case i == len(e.text):
		e.explain(i, 'r', i)
	}
	return e.reason == ""
}

const byteOrderMark = "\ufeff"

// read reads the text up to its first error.
func (e *explainer) read() {
	dec := jsontext.NewDecoder(bytes.NewBuffer(e.text))
	for {
		tok, err := dec.ReadToken()
		if err != nil {
			fault, _ := err.(*jsontext.SyntacticError)
			e.explainToken(dec, fault)
			return
		}
		end := int(dec.InputOffset())
		switch tok.Kind() {
		case '{', '[':
			e.open = append(e.open, end-1)
			if len(e.open) > e.MaxDepth {
				e.explain(end-1, 'v', end-1)
				return
			}
		case '}', ']':
			e.open = e.open[:len(e.open)-1]
		case '0', 't', 'f', 'n':
			if longer().Match(e.text[end:]) || tok.Kind() == '0' && e.at(end) == '.' {
				e.explainValue(end-len(tok.String()), 'v', nil)
				return
			}
		}
		if len(e.open) == 0 {
			if i := rawjson.SkipSpace(e.text, end); i < len(e.text) {
				e.explain(i, 'e', i)
			}
			return
		}
	}
}

// explainToken explains why there is no next token.
func (e *explainer) explainToken(dec *jsontext.Decoder, fault *jsontext.SyntacticError) {
	kind, n := dec.StackIndex(dec.StackDepth())
	end := int(dec.InputOffset())
	i := rawjson.SkipSpace(e.text, end)
	state := 'i'
	if kind == '{' {
		state = 'n'
	}
	comma := -1
	switch {
	case len(e.open) == 0:
		state = 'v'
	case kind == '{' && n%2 == 1: // after a name
		e.name = rawjson.Offset(e.text, string(dec.StackPointer()))
		if e.at(i) != ':' {
			e.explain(i, ':', end)
			return
		}
		state = 'v'
		i = rawjson.SkipSpace(e.text, i+1)
	case n > 0:
		if e.at(i) != ',' {
			e.explain(i, ',', end)
			return
		}
		comma = i
		i = rawjson.SkipSpace(e.text, i+1)
	}

	switch c := e.at(i); {
	case comma >= 0 && c == e.closing():
		e.explain(comma, state+'A'-'a', comma)
	case c == '"' && fault.Err == jsontext.ErrDuplicateName:
		e.name = i
		e.first = rawjson.Offset(e.text, string(fault.JSONPointer))
		e.explain(i, 'd', i)
	default:
		e.explainValue(i, state, fault)
	}
}

// explainValue explains why there is no valid value at i.
func (e *explainer) explainValue(i int, state rune, fault *jsontext.SyntacticError) {
	switch c := e.at(i); {
	case c == '"' && fault.Err == io.ErrUnexpectedEOF:
		e.explain(i, 'E', i)
	case c == '"':
		e.explain(int(fault.ByteOffset), 's', i)
	case state != 'n' && (c == '-' || '0' <= c && c <= '9'):
		e.explain(i, '0', i)
	default:
		e.explain(i, state, i)
	}
}

// at returns the byte at i, or 0 at the end.
func (e *explainer) at(i int) byte {
	if i < len(e.text) {
		return e.text[i]
	}
	return 0
}

func (e *explainer) line(offset int) int {
	line, _ := rawjson.LineColumn(e.source, e.origin(offset))
	return line
}

// closing returns the bracket that closes the innermost open bracket, or 0.
func (e *explainer) closing() byte {
	if len(e.open) == 0 {
		return 0
	}
	return rawjson.Closing(e.text[e.open[len(e.open)-1]])
}
