package schema

import (
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// InferableFormats are the formats that Infer knows, the narrower ones first.
var InferableFormats = []string{"uuid", "date", "date-time", "iso-date-time", "email", "ipv4", "uri"}

// formatCheckers are schemas that ask for one format each, by its name.
var formatCheckers = sync.OnceValue(func() map[string]*jsonschema.Schema {
	checkers := make(map[string]*jsonschema.Schema)
	for _, name := range InferableFormats {
		compiler := jsonschema.NewCompiler()
		compiler.AssertFormat()
		compiler.RegisterFormat(isoDateTime)
		compiler.RegisterFormat(email)
		if err := compiler.AddResource("urn:"+name, map[string]any{"format": name}); err != nil {
			panic(err) // of our own making
		}
		checkers[name] = compiler.MustCompile("urn:" + name)
	}
	return checkers
})

// FormatsOf returns those of the formats that s has.
func FormatsOf(s string, formats []string) []string {
	return slices.DeleteFunc(slices.Clone(formats), func(name string) bool {
		// "room:12" is a URI too, but nobody means it as one.
		return formatCheckers()[name].Validate(s) != nil || name == "uri" && !strings.Contains(s, "://")
	})
}
