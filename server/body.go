package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/server/internal/problem"
)

// Limits of a body, in addition to its size.
const (
	maxValues = 1_000_000 // objects, arrays and scalars: each needs memory
	maxName   = 1 << 10   // bytes of a member's name
	maxNumber = 1_000     // characters of a number
)

// A body is a parsed request body: one object, or an array of objects.
type body struct {
	array   bool
	objects []jsontext.Value // slices of the text
	other   string           // the pointer of the first element that is not an object
}

// readBody reads and checks the request body. The error is a problem.
func (req *request) readBody() (*body, error) {
	text, err := req.readText()
	if err != nil {
		return nil, err
	}
	var b *body
	parse := func() {
		// A body of 3 MB can be a million records, which need a gigabyte.
		if b, err = parseBody(text, req.MaxDepth); err == nil && !req.reserve(int64(len(b.objects))*recordCost) {
			err = problem.NoMemory()
		}
	}
	if len(text) > freeOfBudget {
		req.withBuildSlot(parse)
	} else { // small bodies do not wait for large ones
		parse()
	}
	return b, err
}

// readText reads the request body, and checks its type and size.
func (req *request) readText() ([]byte, error) {
	if err := checkMedia(req.Request, req.name == "" && req.Request.Method == http.MethodPatch); err != nil {
		return nil, err
	}
	if req.Request.ContentLength > req.MaxBody {
		return nil, problem.TooLarge(req.MaxBody)
	}
	text, err := io.ReadAll(req.budgeted(http.MaxBytesReader(req.Writer, req.Request.Body, req.MaxBody)))
	if err != nil {
		var over *http.MaxBytesError
		switch {
		case errors.As(err, &over):
			return nil, problem.TooLarge(req.MaxBody)
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, problem.New(http.StatusRequestTimeout, "The body took too long to arrive.")
		case errors.Is(err, errNoMemory):
			return nil, problem.NoMemory()
		}
		return nil, problem.New(http.StatusBadRequest, "The body ended before its announced length.")
	}
	return text, nil
}

// readSingle is readBody for a change of one record or object.
func (req *request) readSingle() (*body, error) {
	b, err := req.readBody()
	if err == nil && len(b.objects) > 1 {
		return nil, problem.WrongShape("the request changes one record, but the array has several: send an object, or an array of one")
	}
	return b, err
}

// readMember reads a body that is empty, or an object that may have one member
// of that name, a string, which it returns.
func (req *request) readMember(name string) (value string, err error) {
	v, err := req.readMembers(name)
	value, _ = rawjson.Text(v[name])
	return value, err
}

// readMembers reads a body that is empty, or an object that may have members of these
// names, which it returns. The first is a string; the caller checks the others.
func (req *request) readMembers(names ...string) (map[string]jsontext.Value, error) {
	text, err := req.readText()
	if err != nil || len(text) == 0 {
		return nil, err
	}
	b, err := decodeBody(text, req.MaxDepth)
	if err != nil {
		return nil, err
	}
	if b.array || len(b.objects) != 1 {
		return nil, problem.WrongShape(`the body is empty or an object, as in {"` + names[0] + `": "…"}`)
	}
	values := make(map[string]jsontext.Value)
	for quoted, v := range rawjson.Members(b.objects[0]) {
		switch name := rawjson.Unquote(quoted); {
		case !slices.Contains(names, name):
			return nil, problem.WrongShapeAt(rawjson.Pointer(name), "the body can only have the member "+strings.Join(names, " or "))
		case name == names[0] && (v.Kind() != '"' || string(v) == `""`):
			return nil, problem.WrongShapeAt(rawjson.Pointer(name), "it is a string of at least one character")
		default:
			values[name] = v
		}
	}
	return values, nil
}

// parseBody parses a body that is one object, or an array of objects.
func parseBody(text []byte, maxDepth int) (*body, error) {
	b, err := decodeBody(text, maxDepth)
	switch {
	case err != nil:
		return nil, err
	case b.other != "":
		return nil, problem.WrongShapeAt(b.other, "a record is a JSON object, as in {\"title\": \"Vet\"}")
	case !b.array && len(b.objects) == 0:
		return nil, problem.WrongShape("the body must be a JSON object, or an array of objects")
	case len(b.objects) == 0:
		return nil, problem.WrongShape("the array is empty: it must contain an object")
	}
	return b, nil
}

// decodeBody parses a body of strict JSON (RFC 8259): UTF-8, unique member names
// within an object, nothing after the value.
func decodeBody(text []byte, maxDepth int) (*body, error) {
	b := new(body)
	dec := jsontext.NewDecoder(bytes.NewBuffer(text)) // a *bytes.Buffer is read in place
	begin := int64(0)                                 // of the current object
	limit := ""                                       // the limit that is exceeded; reported if the rest is valid
	for values := 0; ; {
		before, done := dec.InputOffset(), values > 0 && dec.StackDepth() == 0
		token, err := dec.ReadToken()
		if err == io.EOF && values > 0 {
			break
		}
		if err != nil || done { // the decoder would read one value after the other
			return nil, problem.InvalidJSON(text, maxDepth)
		}
		after, depth := dec.InputOffset(), dec.StackDepth()
		container, n := dec.StackIndex(depth)
		name := container == '{' && n%2 == 1 && token.Kind() == '"'
		size := after - before // with the comma or colon before it
		switch kind := token.Kind(); {
		case kind == '}' || kind == ']':
			if kind == '}' && (depth == 0 && !b.array || depth == 1 && b.array) {
				b.objects = append(b.objects, jsontext.Value(text[begin:after]))
			}
			continue
		case depth > maxDepth:
			return nil, problem.InvalidJSON(text, maxDepth)
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
			return nil, problem.New(http.StatusRequestEntityTooLarge, fmt.Sprintf("The body has more than %d values.", maxValues))
		}
	}
	if limit != "" {
		return nil, problem.WrongShape(limit)
	}
	return b, nil
}
