package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/openapi"
)

// Limits of a body, in addition to its size.
const (
	maxValues = 1_000_000 // objects, arrays and scalars
	maxName   = 1 << 10   // bytes of a field's name
	maxNumber = 1_000     // characters of a number
)

// A body is a parsed request body: one object, or an array of objects.
type body struct {
	array   bool
	objects []jsontext.Value // slices of the text
	within  string           // pointer of the envelope's field
	other   string           // pointer of the first element that is not an object
}

// readBody reads and checks the request body. The error is a problem.
func (req *request) readBody() (*body, error) {
	text, err := req.readText()
	if err != nil {
		return nil, err
	}
	if len(text) <= freeOfBudget { // small bodies do not wait for large bodies
		return req.parseText(text)
	}
	var b *body
	req.withBuildSlot(func() { b, err = req.parseText(text) })
	return b, err
}

// parseText parses the text of a body, and unwraps the envelope.
func (req *request) parseText(text []byte) (*body, error) {
	b, err := parseBody(text, req.MaxDepth)
	if err != nil {
		return nil, err
	}
	if !b.array && req.Request.Method != methodQuery {
		if v, pointer := req.form.Unwrap(b.objects[0]); v != nil {
			b, err = parseBody(v, req.MaxDepth)
			if err != nil {
				return nil, err
			}
			b.within = pointer
		}
	}
	// A body of 3 MB can have a million records, which need a gigabyte.
	if !req.reserve(int64(len(b.objects)) * recordCost) {
		return nil, problem.NoMemory()
	}
	return b, nil
}

// readText reads the request body, and checks its type and size.
func (req *request) readText() ([]byte, error) {
	if err := checkMedia(req.Request); err != nil {
		return nil, err
	}
	if req.Request.ContentLength > req.MaxBody {
		return nil, problem.TooLarge(req.MaxBody)
	}
	reader := http.MaxBytesReader(req.Writer, req.Request.Body, req.MaxBody)
	text, err := io.ReadAll(&budgetReader{Reader: reader, request: req})
	if err == nil {
		return text, nil
	}
	_, over := errors.AsType[*http.MaxBytesError](err)
	switch {
	case over:
		return nil, problem.TooLarge(req.MaxBody)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, problem.New(http.StatusRequestTimeout, "The body took too long to arrive.")
	case errors.Is(err, errNoMemory):
		return nil, problem.NoMemory()
	}
	return nil, problem.BadRequest("The body ended before its announced length.")
}

// isNothing reports whether the text of a body is empty or {}.
func isNothing(text []byte) bool {
	return len(text) == 0 || string(bytes.Join(bytes.Fields(text), nil)) == "{}"
}

// readJSON reads a body of any shape, such as a JSON Patch. The caller checks the shape.
func (req *request) readJSON() (jsontext.Value, error) {
	text, err := req.readText()
	if err != nil {
		return nil, err
	}
	b, err := decodeBody(text, req.MaxDepth)
	if err != nil {
		return nil, err
	}
	if !req.reserve(int64(len(b.objects)) * recordCost) { // each object may create a record
		return nil, problem.NoMemory()
	}
	return text, nil
}

// readSingle is readBody for a change of a single record or object.
func (req *request) readSingle() (*body, error) {
	b, err := req.readBody()
	if err == nil && len(b.objects) > 1 {
		return nil, problem.BadRequest("the request changes one record, but the array has several: " +
			"send an object, or an array of one")
	}
	return b, err
}

// readMembers reads an optional object, which may have only fields of the given names, and returns
// the fields. The first field must be a string; the caller checks the others.
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
		return nil, problem.BadRequest(`the body is empty or an object, as in {"` + names[0] + `": "…"}`)
	}
	values := make(map[string]jsontext.Value)
	for name, v := range rawjson.Fields(b.objects[0]) {
		if !slices.Contains(names, name) {
			return nil, problem.BadRequestAt(rawjson.Pointer(name), "the body takes only "+strings.Join(names, ", "))
		}
		if name == names[0] && (v.Kind() != '"' || string(v) == `""`) {
			return nil, problem.BadRequestAt(rawjson.Pointer(name), "must be a string of at least one character")
		}
		values[name] = v
	}
	return values, nil
}

// parseBody parses a body that is an object or an array of objects. The error for other JSON wraps
// ErrShape.
func parseBody(text []byte, maxDepth int) (*body, error) {
	b, err := decodeBody(text, maxDepth)
	if err != nil {
		return nil, err
	}
	var p *problem.Problem
	switch {
	case b.other != "":
		p = problem.BadRequestAt(b.other, "a record is a JSON object, as in {\"title\": \"Vet\"}")
	case !b.array && len(b.objects) == 0:
		p = problem.BadRequest("the body must be a JSON object, or an array of objects")
	case len(b.objects) == 0:
		p = problem.BadRequest("the array is empty: it must contain an object")
	default:
		return b, nil
	}
	return nil, errors.Join(p, storage.ErrShape)
}

// decodeBody parses a body of strict JSON (RFC 8259): UTF-8, unique field names within an object,
// and nothing after the value.
func decodeBody(text []byte, maxDepth int) (*body, error) {
	// The decoder reads a *bytes.Buffer in place.
	d := &bodyDecoder{text: text, dec: jsontext.NewDecoder(bytes.NewBuffer(text))}
	for values := 0; ; {
		before := d.dec.InputOffset()
		done := values > 0 && d.dec.StackDepth() == 0
		token, err := d.dec.ReadToken()
		if err == io.EOF && values > 0 {
			break
		}
		// The decoder would read a second value after the first.
		if err != nil || done || d.dec.StackDepth() > maxDepth {
			return nil, problem.InvalidJSON(text, maxDepth)
		}
		size := d.dec.InputOffset() - before // with the comma or colon before the token
		if !d.add(token, size) {
			continue
		}
		values++
		if values > maxValues {
			detail := fmt.Sprintf("The body has more than %d values.", maxValues)
			return nil, problem.New(http.StatusRequestEntityTooLarge, detail)
		}
	}
	if d.limit != "" {
		return nil, problem.BadRequest(d.limit)
	}
	return &d.body, nil
}

// A bodyDecoder collects the objects of a body.
type bodyDecoder struct {
	dec   *jsontext.Decoder
	text  []byte
	body  body
	start int64  // of the current object
	limit string // the exceeded limit; reported if the rest is valid
}

// add adds a token, and reports whether a value starts with the token.
func (d *bodyDecoder) add(token jsontext.Token, size int64) bool {
	depth := d.dec.StackDepth()
	kind := token.Kind()
	switch kind {
	case '}':
		if depth == 0 && !d.body.array || depth == 1 && d.body.array {
			d.body.objects = append(d.body.objects, jsontext.Value(d.text[d.start:d.dec.InputOffset()]))
		}
		return false
	case ']':
		return false
	case '"':
		container, n := d.dec.StackIndex(depth)
		if container == '{' && n%2 == 1 {
			if size > maxName && len(token.String()) > maxName {
				d.limit = "the name of a field is longer than 1024 bytes"
			}
			return false
		}
	case '0':
		if size > maxNumber && len(token.String()) > maxNumber {
			d.limit = "a number has more than 1000 digits"
		}
	}
	d.startElement(kind, depth)
	return true
}

// startElement notes where an object of the body starts, or which element is not an object.
func (d *bodyDecoder) startElement(kind jsontext.Kind, depth int) {
	b := &d.body
	switch {
	case kind == '{' && (depth == 1 || depth == 2 && b.array):
		d.start = d.dec.InputOffset() - 1
	case kind == '[' && depth == 1:
		b.array = true
	case b.array && b.other == "" && (depth == 1 || kind == '[' && depth == 2):
		b.other = string(d.dec.StackPointer())
	}
}

// checkMedia returns an error unless the Content-Type of the request is JSON, a
// type that ends in +json (RFC 6839), or missing.
func checkMedia(r *http.Request) error {
	header, accept := "Accept", "application/json"
	switch r.Method {
	case http.MethodPatch:
		header, accept = "Accept-Patch", acceptPatch
	case methodQuery:
		header, accept = "Accept-Query", acceptQuery
	}
	refuse := func(detail string) error {
		return problem.New(http.StatusUnsupportedMediaType, detail).With(header, accept)
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		header, accept = "Accept-Encoding", "identity"
		return refuse("Content-Encoding is not supported: send the body without it.")
	}
	value := r.Header.Get("Content-Type")
	if value == "" {
		// A page can send a body without type and without preflight, and the browser adds
		// remembered credentials.
		if isCrossOrigin(r) {
			return refuse("A request from a page of another origin needs Content-Type: application/json.")
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(value)
	patch := media == openapi.MergeType || media == openapi.PatchType
	switch {
	case err != nil:
		return refuse("The Content-Type does not parse. It should be application/json.")
	case media == openapi.JSONType, r.Method == http.MethodPatch && patch:
		return nil
	case media == "application/x-www-form-urlencoded":
		return refuse("The body must be JSON, but its Content-Type is for forms, as curl -d sends it. " +
			"Use curl --json, or add -H 'Content-Type: application/json'.")
	case r.Method == http.MethodPatch:
		return refuse("PATCH accepts " + acceptPatch + ".")
	case patch:
		return refuse("A patch is sent with PATCH. " + r.Method + " accepts application/json.")
	case strings.HasSuffix(media, "+json"):
		return nil
	}
	return refuse("The body must be application/json, not " + httpx.Clip(media) + ".")
}

// pointer returns the pointer to the i-th object in the body.
func (b *body) pointer(i int) string {
	if b.array {
		return fmt.Sprintf("%s/%d", b.within, i)
	}
	return b.within
}

const maxPeeked = 1 << 20 // maximum size of a body for stubs, in bytes

// peekBody returns the object in the body, nil if the body is not an object or is too large. The
// body can be read again afterwards.
func (req *request) peekBody() (jsontext.Value, error) {
	r := req.Request
	if r.ContentLength == 0 {
		return nil, nil
	}
	text, err := io.ReadAll(&budgetReader{Reader: io.LimitReader(r.Body, maxPeeked+1), request: req})
	r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(text), r.Body)) // r.Body returns the error again
	if errors.Is(err, errNoMemory) {
		return nil, problem.NoMemory()
	}
	b, err := decodeBody(text, req.MaxDepth)
	if err != nil || b.array || len(b.objects) != 1 || len(text) > maxPeeked {
		return nil, nil
	}
	return rawjson.Compact(b.objects[0]), nil
}

// A budgetReader reads a body and reserves memory as the body arrives. Reserving the announced
// length would let a stalling client block other clients.
type budgetReader struct {
	io.Reader
	request *request
	read    int64 // unreserved bytes
}

func (r *budgetReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.read += int64(n)
	if r.read > freeOfBudget {
		if !r.request.reserve(r.read) {
			return n, errNoMemory
		}
		r.read = 0
	}
	return n, err
}
