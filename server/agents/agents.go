// Package agents serves coding agents by the Model Context Protocol. The tools send requests to the
// API, so that the rules, limits and errors of the API apply. text.go shortens the responses.
package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Service is the API for the request of an agent.
type Service interface {
	// Do sends a request, with a preference unless prefer is empty. Paths below /_/ belong to
	// the service, other paths to the data.
	Do(method, path string, body any, prefer string) (header http.Header, text []byte, err error)

	// Session returns the session in which the agent works, "" for the database.
	Session() string

	// IsObject reports whether a field is an object. A field that is neither an object nor a
	// collection is an error.
	IsObject(name string) (bool, error)

	// ReviewURL returns the URL at which a person commits a session.
	ReviewURL() string

	// Recovered returns the error for the value of a panic.
	Recovered(v any) error
}

// An Operation is a step of a transaction.
type Operation struct {
	Op         string          `json:"op" jsonschema:"create, update, replace, delete, set, remove, rename or unset"`
	Collection string          `json:"collection" jsonschema:"for set and remove any top-level field"`
	ID         ID              `json:"id,omitempty" jsonschema:"of the record; an object has none"`
	Path       []string        `json:"path,omitempty" jsonschema:"as in query"`
	Record     json.RawMessage `json:"record,omitempty" jsonschema:"all fields of a new record, the changed fields in an update"`
	Unset      []string        `json:"unset,omitempty" jsonschema:"fields that an update removes"`
	If         json.RawMessage `json:"if,omitempty" jsonschema:"fields that must have these values before"`
	Value      jsontext.Value  `json:"value,omitempty" jsonschema:"of set: the whole collection or object"`
	Field      string          `json:"field,omitempty" jsonschema:"of rename and unset: the field of all records"`
	To         string          `json:"to,omitempty" jsonschema:"of rename: the new name"`
}

// An ID is the id of a record as text. In JSON an ID may be a number, as in the record.
type ID string

// UnmarshalJSON implements json.Unmarshaler.
func (id *ID) UnmarshalJSON(text []byte) error {
	if text[0] == '-' || '0' <= text[0] && text[0] <= '9' {
		*id = ID(text)
		return nil
	}
	return json.Unmarshal(text, (*string)(id))
}

// Options say which tools there are.
type Options struct {
	Version                      string
	MaxBody                      int64 // bytes
	ReadOnly, Requests, Simulate bool
}

const instructions = `pickup serves data as the REST API of the front end that you work on. Start with describe. ` +
	`Use fields and limit to keep responses short. The rules check every write; a refusal lists all faults ` +
	`and often a suggestion.`

type serviceKey struct{}

// With returns a context for a request to a Handler. The tools work on s.
func With(ctx context.Context, s Service) context.Context {
	return context.WithValue(ctx, serviceKey{}, s)
}

// Handler returns a handler of MCP requests by streamable HTTP. The handler has no state.
func Handler(o Options) http.Handler {
	m := mcp.NewServer(
		&mcp.Implementation{Name: "pickup", Version: o.Version},
		&mcp.ServerOptions{Instructions: instructions, Capabilities: &mcp.ServerCapabilities{}})
	add(m, true, "describe", describe, "Lists the collections with their fields as TypeScript and their "+
		"relations, and says what becomes of your writes. With a collection: its JSON Schema.")
	add(m, true, "query", query, "Reads records, filtered, sorted, in parts. Long texts are cut; "+
		"with id one record is whole.")
	add(m, true, "changes", changes, "Lists changes: in a session the uncommitted ones, else the latest revisions.")
	add(m, true, "check", check, "Lists violations of the rules, with line, column and a suggestion.")
	if o.Requests {
		add(m, true, "requests", requests, "Lists the latest requests of the front end, the newest first, "+
			"and why a request was refused. With id: one request with its bodies.")
	}
	if !o.ReadOnly {
		add(m, false, "write", write, "Creates, updates (merges fields), replaces and deletes records, "+
			"sets, removes and renames collections: all or none, in one transaction.")
		add(m, false, "undo", undo, "Reverts the newest change through the API, or the given revision.")
		add(m, false, "generate", generate, "Adds made-up records that fit the rules.")
		if o.Simulate {
			add(m, false, "simulate", simulate, "Replaces the rules for slow, failing and fixed responses; "+
				"an empty list removes them.")
		}
	}
	return mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return m },
		&mcp.StreamableHTTPOptions{
			Stateless:                  true,
			JSONResponse:               true,
			DisableLocalhostProtection: true,
			MaxRequestBodyBytes:        o.MaxBody,
		})
}

// schemaTypes maps types to the schemas of their values.
var schemaTypes = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[json.RawMessage](): {Type: "object"},
	reflect.TypeFor[jsontext.Value]():  {},
}

// add adds a tool. An error of run is text for the agent.
func add[In any](m *mcp.Server, reads bool, name string, run func(Service, In) (string, error), about string) {
	schema, err := jsonschema.For[In](&jsonschema.ForOptions{TypeSchemas: schemaTypes})
	if err != nil {
		panic(err) // a type of this package has no JSON Schema
	}
	for _, p := range schema.Properties {
		if len(p.Types) == 2 && p.Types[0] == "null" { // some clients know single types only
			p.Type, p.Types = p.Types[1], nil
		}
	}
	tool := &mcp.Tool{Name: name, Description: about, InputSchema: schema}
	if reads {
		tool.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true}
	}
	m.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s, _ := ctx.Value(serviceKey{}).(Service)
		var in In
		// The SDK would change numbers such as 1.10.
		d := json.NewDecoder(strings.NewReader(cmp.Or(string(r.Params.Arguments), "{}")))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil {
			known := strings.Join(slices.Sorted(maps.Keys(schema.Properties)), ", ")
			reason := strings.TrimPrefix(err.Error(), "json: ")
			return result(fmt.Sprintf("%s; the arguments of %s are %s", reason, name, known), true)
		}
		text, err := recovered(s, in, run)
		if err != nil {
			text = err.Error()
		}
		return result(text, err != nil)
	})
}

// result returns the result of a tool, clipped.
func result(text string, isError bool) (*mcp.CallToolResult, error) {
	content := &mcp.TextContent{Text: clip(text)}
	return &mcp.CallToolResult{IsError: isError, Content: []mcp.Content{content}}, nil
}

// recovered runs a tool. It turns a panic into an error. Otherwise the panic would end the program,
// because the SDK calls tools in other goroutines than the handler's.
func recovered[In any](s Service, in In, run func(Service, In) (string, error)) (text string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = s.Recovered(v)
		}
	}()
	return run(s, in)
}
