// Package agents serves coding agents by the Model Context Protocol. Its tools read by
// requests to the API, so they have its rules, limits and errors; text.go makes their answers short.
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

// A Service is the API as the request of an agent sees it.
type Service interface {
	// Do sends a request, with a preference unless prefer is empty. A path below /_/ is one
	// of the service.
	Do(method, path string, body any, prefer string) (header http.Header, text []byte, err error)

	// Session returns the session in which the agent works, "" for the database.
	Session() string

	// IsObject reports whether a name is the name of an object, not of a collection. It returns
	// an error if it is neither.
	IsObject(name string) (bool, error)

	// ReviewURL returns what a person opens to commit a session.
	ReviewURL() string

	// Recovered returns the error for a value with which a tool has panicked.
	Recovered(v any) error
}

// An Operation is a step of a transaction.
type Operation struct {
	Op         string          `json:"op" jsonschema:"create, update, replace, delete, set, remove, rename or unset"`
	Collection string          `json:"collection" jsonschema:"for set and remove any top-level field"`
	ID         ID              `json:"id,omitempty" jsonschema:"of the record; an object has none"`
	Record     json.RawMessage `json:"record,omitempty" jsonschema:"all fields of a new record, those that change in an update"`
	Unset      []string        `json:"unset,omitempty" jsonschema:"fields that an update removes"`
	If         json.RawMessage `json:"if,omitempty" jsonschema:"fields that must have these values before"`
	Value      jsontext.Value  `json:"value,omitempty" jsonschema:"of set: the whole collection or object"`
	Field      string          `json:"field,omitempty" jsonschema:"of rename and unset: the field of all records"`
	To         string          `json:"to,omitempty" jsonschema:"of rename: the new name of the field or, without field, of the collection"`
}

// An ID is the id of a record as text. In JSON it may be a number, as in the record.
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

const instructions = `pickup serves data as the REST API of the front end that you work on. Begin with describe. ` +
	`Prefer fields and limit to long answers. A write is checked by the rules; a refusal names every fault and often what was meant.`

type serviceKey struct{}

// With returns a context for a request to a Handler, whose tools work on s.
func With(ctx context.Context, s Service) context.Context {
	return context.WithValue(ctx, serviceKey{}, s)
}

// Handler returns a handler of MCP requests by streamable HTTP. It has no state.
func Handler(o Options) http.Handler {
	m := mcp.NewServer(&mcp.Implementation{Name: "pickup", Version: o.Version}, &mcp.ServerOptions{Instructions: instructions, Capabilities: &mcp.ServerCapabilities{}})
	add(m, true, "describe", "Lists the collections with their fields as TypeScript and their relations, and says what becomes of your writes. With a collection: its JSON Schema.", describe)
	add(m, true, "query", "Reads records, filtered, sorted, in parts. Long texts are cut; with id one record is whole.", query)
	add(m, true, "changes", "Lists what has changed: in a session what is not committed, else the latest revisions.", changes)
	add(m, true, "check", "Lists what breaks a rule, with line, column and what was probably meant.", check)
	if o.Requests {
		add(m, true, "requests", "Lists the latest requests of the front end, the newest first, and why one was refused. With id: one with its bodies.", requests)
	}
	if !o.ReadOnly {
		add(m, false, "write", "Creates, updates (merges fields), replaces and deletes records, sets, removes and renames collections: all or none, in one transaction.", write)
		add(m, false, "undo", "Reverts the newest change through the API, or the one with a revision.", undo)
		add(m, false, "generate", "Adds made-up records that fit the rules.", generate)
		if o.Simulate {
			add(m, false, "simulate", "Sets the rules for slow, failing and fixed answers in place of earlier ones; an empty list removes them.", simulate)
		}
	}
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, DisableLocalhostProtection: true, MaxRequestBodyBytes: o.MaxBody})
}

// add adds a tool. Its error is text for the agent.
func add[In any](m *mcp.Server, reads bool, name, about string, run func(Service, In) (string, error)) {
	schema, err := jsonschema.For[In](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[json.RawMessage](): {Type: "object"}, reflect.TypeFor[jsontext.Value](): {}}})
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
		d := json.NewDecoder(strings.NewReader(cmp.Or(string(r.Params.Arguments), "{}"))) // as they are: 1.10 stays
		d.DisallowUnknownFields()
		text, err := "", d.Decode(&in)
		if err == nil {
			text, err = recovered(s, in, run)
		} else {
			err = fmt.Errorf("%s; the arguments of %s are %s", strings.TrimPrefix(err.Error(), "json: "), name, strings.Join(slices.Sorted(maps.Keys(schema.Properties)), ", "))
		}
		if err != nil {
			text = err.Error()
		}
		return &mcp.CallToolResult{IsError: err != nil, Content: []mcp.Content{&mcp.TextContent{Text: clip(text)}}}, nil
	})
}

// recovered runs a tool. A panic is an error: the SDK calls tools in goroutines of its own,
// where it would end the program.
func recovered[In any](s Service, in In, run func(Service, In) (string, error)) (text string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = s.Recovered(v)
		}
	}()
	return run(s, in)
}
