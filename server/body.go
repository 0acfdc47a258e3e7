package server

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits of a body, beside its size.
const (
	maxValues = 1_000_000 // objects, arrays and scalars: each costs memory of its own
	maxName   = 1 << 10   // bytes of a member's name
	maxNumber = 1_000     // characters of a number
)

// A body is what a write has sent: one object, or an array of objects.
type body struct {
	array   bool
	objects []jsontext.Value // slices of what was sent
	other   string           // the pointer of the array's first element that is no object
}

// body reads and checks the request's body. The error is a problem.
func (req *request) readBody() (*body, error) {
	text, err := req.readText()
	if err != nil {
		return nil, err
	}
	var b *body
	parse := func() {
		// A body of 3 MB can be a million records, which are a gigabyte.
		if b, err = parseBody(text, req.MaxDepth); err == nil && !req.reserve(int64(len(b.objects))*recordCost) {
			err = noMemory()
		}
	}
	if len(text) > freeOfBudget {
		req.withBuildSlot(parse)
	} else { // what is small does not wait for what is large
		parse()
	}
	return b, err
}

// text reads the request's body, whose type and size it checks.
func (req *request) readText() ([]byte, error) {
	if err := checkMedia(req.Request, req.name == ""); err != nil {
		return nil, err
	}
	if req.Request.ContentLength > req.MaxBody {
		return nil, tooLarge(req.MaxBody)
	}
	text, err := io.ReadAll(req.budgeted(http.MaxBytesReader(req.Writer, req.Request.Body, req.MaxBody)))
	if err != nil {
		var over *http.MaxBytesError
		switch {
		case errors.As(err, &over):
			return nil, tooLarge(req.MaxBody)
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, tooSlow()
		case errors.Is(err, errNoMemory):
			return nil, noMemory()
		}
		return nil, cutShort()
	}
	return text, nil
}

// single is body for what is addressed as one record or object.
func (req *request) readSingle() (*body, error) {
	b, err := req.readBody()
	if err == nil && len(b.objects) > 1 {
		return nil, wrongShape("the request is for one record, but the array has more: send an object, or an array of one")
	}
	return b, err
}

// parseBody reads a body that is one object, or an array of objects.
func parseBody(text []byte, maxDepth int) (*body, error) {
	b, err := decodeBody(text, maxDepth)
	switch {
	case err != nil:
		return nil, err
	case b.other != "":
		return nil, wrongShapeAt(b.other, "a record is a JSON object, as in {\"title\": \"Vet\"}")
	case !b.array && len(b.objects) == 0:
		return nil, wrongShape("the body has to be a JSON object, or an array of objects")
	case len(b.objects) == 0:
		return nil, wrongShape("the array is empty: it has to hold an object")
	}
	return b, nil
}

// readBody reads a body of strict JSON (RFC 8259): UTF-8, no member twice in
// one object, nothing behind the value.
func decodeBody(text []byte, maxDepth int) (*body, error) {
	b := new(body)
	dec := jsontext.NewDecoder(bytes.NewBuffer(text)) // a *bytes.Buffer is read in place
	begin := int64(0)                                 // of the object that is being read
	limit := ""                                       // what is beyond one; told if the rest is valid
	for values := 0; ; {
		before, done := dec.InputOffset(), values > 0 && dec.StackDepth() == 0
		token, err := dec.ReadToken()
		if err == io.EOF && values > 0 {
			break
		}
		if err != nil || done { // the decoder would read one value after the other
			return nil, invalidJSON(text, maxDepth)
		}
		after, depth := dec.InputOffset(), dec.StackDepth()
		container, n := dec.StackIndex(depth)
		name := container == '{' && n%2 == 1 && token.Kind() == '"'
		size := after - before // and the comma or colon before it
		switch kind := token.Kind(); {
		case kind == '}' || kind == ']':
			if kind == '}' && (depth == 0 && !b.array || depth == 1 && b.array) {
				b.objects = append(b.objects, jsontext.Value(text[begin:after]))
			}
			continue
		case depth > maxDepth:
			return nil, invalidJSON(text, maxDepth)
		case name && size > maxName && len(token.String()) > maxName:
			limit = "a member's name is longer than 1024 bytes"
		case name:
			continue
		case kind == '0' && size > maxNumber && len(token.String()) > maxNumber:
			limit = "a number has more than 1000 digits"
		case kind == '{' && (depth == 1 || depth == 2 && b.array):
			begin = after - 1
		case kind == '[' && depth == 1:
			b.array = true
		case b.array && b.other == "" && (depth == 1 || kind == '[' && depth == 2):
			b.other = string(dec.StackPointer())
		}
		if values++; values > maxValues {
			return nil, tooManyValues(maxValues)
		}
	}
	if limit != "" {
		return nil, wrongShape(limit)
	}
	return b, nil
}
