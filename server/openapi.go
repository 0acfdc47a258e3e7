package server

import (
	"strings"

	"pickup/internal/describe"
	"pickup/server/openapi"
)

// openAPI serves GET /_/openapi.json.
func (req *request) openAPI() error {
	return req.sendDescription(openapi.JSONType, func() []byte {
		return openapi.Document(req.snap, openapi.Options{
			Version: req.Version, ReadOnly: req.ReadOnly, Auth: req.Auth != nil, Prefix: req.Prefix, Answers: req.Answers, SessionPath: req.sessionPath,
			Serves: func(path string) bool {
				return req.offers(path) && (req.MaxSessions >= 0 || !strings.HasPrefix(path, openapi.SessionsPath+"/"))
			},
		})
	})
}

// sendDescription sends a description of the current database.
func (req *request) sendDescription(contentType string, text func() []byte) error {
	return req.sendTagged(contentType, "", func(b []byte) ([]byte, error) { return append(b, text()...), nil })
}

// inferSchema serves GET /_/schema.json: the schema that pickup schema would make from
// the data.
func (req *request) inferSchema() error {
	return req.sendDescription(openapi.SchemaType, func() []byte { return describe.InferSchema(req.snap) })
}

// schema serves GET /_/schemas/NAME: the JSON Schema of a record or of a singular
// resource, with everything that it refers to.
func (req *request) schema() error {
	name := req.Param("collection")
	text, ok := openapi.RecordSchema(req.snap, name)
	if !ok {
		return req.noCollection(req.snap, name)
	}
	return req.sendDescription(openapi.SchemaType, func() []byte { return append(text, '\n') })
}

// types serves GET /_/types.d.ts: TypeScript types for records, request bodies and the
// whole database.
func (req *request) types() error {
	return req.sendDescription(openapi.TypesType, func() []byte { return openapi.TypeScript(req.snap, req.Answers) })
}
