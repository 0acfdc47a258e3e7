package schema

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"pickup/internal/jsonsyntax"
	"pickup/internal/rawjson"
)

// Compile compiles the rules in data, the contents of file. The error is an
// *Error with the line and column of the mistake. References must stay within data:
// Compile reads no other file, and fetches nothing.
func Compile(file string, data []byte) (*Schema, error) {
	c := &compilation{file: file, data: data, base: "file:///" + url.PathEscape(filepath.Base(file))}
	if err := c.parse(); err != nil {
		return nil, err
	}
	// The first pass checks the schema against the whole meta-schema. A compiler
	// with another vocabulary, as in the second pass, omits the part of the
	// meta-schema that describes annotations such as readOnly and examples.
	if _, err := c.compile(nil); err != nil {
		return nil, err
	}
	s := &Schema{file: file, data: c.data, at: make(locations)}
	root, err := c.compile(s.at)
	if err != nil {
		return nil, err
	}
	s.root = root
	if err := s.readRules(data); err != nil {
		return nil, c.broken(err.pointer, "%s", err.reason)
	}
	return s, nil
}

// maxDepth is the maximum nesting of arrays and objects in a schema: the limit of package jsontext.
const maxDepth = 10_000

// A compilation turns a file into a schema, or finds the first mistake.
type compilation struct {
	file string
	data []byte
	base string // the URL of the file, for references to the file name
}

// parse checks that the file is one JSON object (or true or false).
func (c *compilation) parse() error {
	c.data = bytes.TrimPrefix(c.data, []byte("\xef\xbb\xbf")) // a byte order mark
	offset, reason, _ := jsonsyntax.Grammar{Noun: "file", MaxDepth: maxDepth}.Explain(c.data)
	if reason != "" {
		return c.brokenAt(offset, "%s", reason)
	}
	switch v := jsontext.Value(c.data); v.Kind() {
	case '{', 't', 'f':
		return nil
	default:
		return c.brokenAt(0, "a schema must be a JSON object, not %s", rawjson.KindName(v))
	}
}

// compile runs the compiler. If at is not nil, compile reads the extension keywords
// and adds each schema to at.
func (c *compilation) compile(at locations) (root *jsonschema.Schema, err error) {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	compiler.RegisterFormat(isoDateTime)
	compiler.RegisterFormat(email)
	compiler.UseLoader(noLoader{})
	if at != nil {
		compiler.RegisterVocabulary(at.vocabulary())
		compiler.AssertVocabs()
	}
	if err := compiler.AddResource(c.base, plain(c.data)); err != nil {
		return nil, c.explain(err)
	}
	if root, err = compiler.Compile(c.base); err != nil {
		return nil, c.explain(err)
	}
	return root, nil
}

// noLoader refuses to read other files.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("not this file") }

// explain returns the *Error for an error of the compiler.
func (c *compilation) explain(err error) error {
	switch e := err.(type) {
	case *schemaMistake:
		return c.broken(e.pointer, "%s", e.reason)
	case *jsonschema.SchemaValidationError:
		return c.explainMeta(e)
	case *jsonschema.InvalidRegexError:
		return c.broken(fragment(e.URL), "%q is not a regular expression of RE2: %v", rawjson.Shorten(e.Regex), e.Err)
	case *jsonschema.LoadURLError:
		file, _, _ := strings.Cut(e.URL, "#")
		at, ref := c.reference(func(ref string) bool {
			u, _, _ := strings.Cut(ref, "#")
			return u != "" && strings.HasSuffix(file, u)
		})
		if strings.HasSuffix(at, "/$schema") {
			return c.broken(at, "%q is not a supported draft of JSON Schema; use %s",
				rawjson.Shorten(ref), jsonschema.Draft2020)
		}
		return c.broken(at, "%q refers to another file; "+
			"only references within this file are supported, such as #/$defs/name", rawjson.Shorten(ref))
	case *jsonschema.JSONPointerNotFoundError:
		return c.badReference(e.URL, "%q refers to nothing: the file has no such value")
	case *jsonschema.AnchorNotFoundError:
		return c.badReference(e.Reference, "%q refers to nothing: the file has no such anchor")
	case *jsonschema.InvalidJsonPointerError:
		return c.badReference(e.URL, "%q is not a JSON Pointer: ~ must be followed by 0 or 1")
	case *jsonschema.DuplicateIDError:
		return c.broken(e.Ptr1+"/$id", "%q is also the $id of another schema", e.ID)
	case *jsonschema.ParseIDError:
		return c.broken(fragment(e.URL)+"/$id", "this is not a URL")
	case *jsonschema.DuplicateAnchorError:
		return c.broken(e.Ptr1+"/$anchor", "another schema has the same $anchor")
	}
	return c.brokenAt(0, "this is not a JSON Schema: %s", rawjson.Shorten(strings.ReplaceAll(err.Error(), c.base, "")))
}

// badReference returns the error of the first reference to the fragment of url.
func (c *compilation) badReference(url, format string) error {
	at, ref := c.reference(func(ref string) bool { return fragment(ref) == fragment(url) })
	return c.broken(at, format, rawjson.Shorten(ref))
}

// explainMeta returns the first fault of the file by the meta-schema.
func (c *compilation) explainMeta(err *jsonschema.SchemaValidationError) error {
	within := fragment(err.URL)
	invalid, ok := err.Err.(*jsonschema.ValidationError)
	if !ok {
		return c.broken(within, "this is not a JSON Schema")
	}
	r := newReport(nil, rawjson.At(c.data, within))
	r.add(invalid)
	detail, at := "this is not a JSON Schema", len(c.data)
	for _, f := range r.found {
		if offset := rawjson.Offset(c.data, within+f.Pointer); offset < at {
			detail, at = f.Detail, offset
		}
	}
	return c.brokenAt(at, "%s", detail)
}

// reference returns the first reference in the file that match accepts.
func (c *compilation) reference(match func(ref string) bool) (at, ref string) {
	for pointer, tok := range rawjson.Tokens(c.data) {
		switch pointer[strings.LastIndexByte(pointer, '/')+1:] {
		case "$ref", "$dynamicRef", "$recursiveRef", "$schema":
			if tok.Kind() == '"' && match(tok.String()) {
				return pointer, tok.String()
			}
		}
	}
	return "", ""
}

func (c *compilation) broken(pointer, format string, args ...any) error {
	return c.brokenAt(rawjson.Offset(c.data, pointer), format, args...)
}

func (c *compilation) brokenAt(offset int, format string, args ...any) error {
	line, column := rawjson.LineColumn(c.data, offset)
	reason := fmt.Sprintf(format, args...)
	return &Error{File: c.file, Line: line, Column: column, Reason: reason, Excerpt: rawjson.ExcerptAt(c.data, offset)}
}

// fragment returns the fragment of a URL, unescaped.
func fragment(u string) string {
	_, f, _ := strings.Cut(u, "#")
	if unescaped, err := url.PathUnescape(f); err == nil {
		return unescaped
	}
	return f
}

// An Error is the first mistake in a schema file.
type Error struct {
	File         string // as given to Compile
	Line, Column int    // from 1; the column counts characters (code points)
	Reason       string // one sentence without the position
	Excerpt      rawjson.Excerpt
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Reason)
}
