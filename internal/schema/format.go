package schema

import (
	_ "embed"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// isoDateTime is the format of a date and time of ISO 8601 with an optional
// zone. JSON Schema's date-time is RFC 3339, which requires one.
var isoDateTime = &jsonschema.Format{Name: "iso-date-time", Validate: func(v any) error {
	if s, ok := v.(string); ok {
		return checkDateTime(s)
	}
	return nil
}}

// formats has the formats in words.
//
//go:embed formats.json
var formats []byte

// errForm is the error of a text that is nothing like a date and time.
var errForm = errors.New("not a date and time")

// checkDateTime returns what is wrong with a date and time, as a clause.
func checkDateTime(s string) error {
	const local, zoned = "2006-01-02T15:04:05", "2006-01-02T15:04:05Z07:00"
	layout := zoned
	if len(s) <= len(local) {
		layout = local
	}
	t, err := time.Parse(layout, s)
	var parse *time.ParseError
	switch {
	case errors.As(err, &parse) && parse.Message != "":
		return errors.New(strings.TrimPrefix(parse.Message, ": "))
	case err != nil:
		return errForm
	// Parse accepts fractions, hours of one digit and an offset of 24 hours.
	case strings.ContainsAny(s, ".,"):
		return errors.New("fractions of a second are not accepted")
	case !strings.HasPrefix(s, t.Format(local)):
		return errForm
	case len(s) > len(zoned) || len(s) == len(local)+len("+00:00") && s[len(local)+1:len(local)+3] == "24":
		return errors.New("offset out of range")
	}
	return nil
}

// libraryEmail compiles the library's check of an email address.
var libraryEmail = sync.OnceValue(func() *jsonschema.Schema { return formatSchema("email") })

// email is JSON Schema's format: a mailbox of RFC 5321, section 4.1.2. The
// library accepts an empty local part and a final dot.
var email = &jsonschema.Format{Name: "email", Validate: func(v any) error {
	s, ok := v.(string)
	if ok && (strings.HasPrefix(s, "@") || strings.HasSuffix(s, ".") || libraryEmail().Validate(s) != nil) {
		return errors.New("not an email address")
	}
	return nil
}}

// formatSchema compiles a schema that demands a format, with the given formats
// in addition to the library's.
func formatSchema(name string, formats ...*jsonschema.Format) *jsonschema.Schema {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	for _, f := range formats {
		compiler.RegisterFormat(f)
	}
	if err := compiler.AddResource("urn:"+name, map[string]any{"format": name}); err != nil {
		panic(err) // the resource is valid
	}
	return compiler.MustCompile("urn:" + name)
}

// InferableFormats are the formats that inference knows, the narrower first.
var InferableFormats = []string{"uuid", "date", "date-time", "iso-date-time", "email", "ipv4", "uri"}

// formatSchemas are schemas that demand one format each, by its name.
var formatSchemas = sync.OnceValue(func() map[string]*jsonschema.Schema {
	schemas := make(map[string]*jsonschema.Schema)
	for _, name := range InferableFormats {
		schemas[name] = formatSchema(name, isoDateTime, email)
	}
	return schemas
})

// FormatsOf returns the formats that s matches.
func FormatsOf(s string, formats []string) []string {
	return slices.DeleteFunc(slices.Clone(formats), func(name string) bool {
		// "room:12" is a URI too, but is hardly meant as one.
		return formatSchemas()[name].Validate(s) != nil || name == "uri" && !strings.Contains(s, "://")
	})
}
