package jsonsyntax

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json/jsontext"

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
	e := &explainer{Grammar: g, text: text}
	if g.Comments {
		e.text = rawjson.Blanked(text)
	}
	if e.begin() {
		e.read()
	}
	return e.offset, e.reason, e.unquoted
}

// An explainer reads a text up to its first error and chooses a sentence for it.
type explainer struct {
	Grammar
	text []byte // with spaces for comments and trailing commas, if they are allowed
	open []int  // offsets of the open brackets

	name, first int // offsets of the name before the error, and of the same name before it

	offset           int // of the error
	reason, unquoted string
}

// begin checks how the text begins. It returns false after an error.
func (e *explainer) begin() bool {
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
			e.token(dec, fault)
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
			if longer.Match(e.text[end:]) || tok.Kind() == '0' && e.at(end) == '.' {
				e.value(end-len(tok.String()), 'v', nil)
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

// token explains why there is no next token.
func (e *explainer) token(dec *jsontext.Decoder, fault *jsontext.SyntacticError) {
	kind, n := dec.StackIndex(dec.StackDepth())
	end := int(dec.InputOffset())
	i := rawjson.SkipSpace(e.text, end)
	item, comma := 'i', -1
	if kind == '{' {
		item = 'n'
	}
	switch c := e.at(i); {
	case len(e.open) == 0:
		item = 'v'
	case kind == '{' && n%2 == 1:
		e.name = rawjson.Offset(e.text, string(dec.StackPointer()))
		if c != ':' {
			e.explain(i, ':', end)
			return
		}
		item, i = 'v', rawjson.SkipSpace(e.text, i+1)
	case n > 0:
		if c != ',' {
			e.explain(i, ',', end)
			return
		}
		comma, i = i, rawjson.SkipSpace(e.text, i+1)
	}
	switch c := e.at(i); {
	case comma >= 0 && c == e.closing():
		e.explain(comma, item+'A'-'a', comma)
	case c == '"' && fault.Err == jsontext.ErrDuplicateName:
		e.name, e.first = i, rawjson.Offset(e.text, string(fault.JSONPointer))
		e.explain(i, 'd', i)
	default:
		e.value(i, item, fault)
	}
}

// value explains what is at i in place of a valid value.
func (e *explainer) value(i int, state rune, fault *jsontext.SyntacticError) {
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
	line, _ := rawjson.LineColumn(e.text, offset)
	return line
}

// closing returns the bracket that closes the innermost open one, or 0.
func (e *explainer) closing() byte {
	if len(e.open) == 0 {
		return 0
	}
	return rawjson.Closing(e.text[e.open[len(e.open)-1]])
}
