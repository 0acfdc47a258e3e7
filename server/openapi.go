package server

import (
	"pickup/internal/describe"
	"pickup/server/internal/httpx"
	"pickup/server/openapi"
)

// openAPI serves GET /_/openapi.json.
func (req *request) openAPI() error {
	return req.sendDescription(openapi.JSONType, append(openapi.Document(req.snap, openapi.Options{
		Version: req.Version, ReadOnly: req.ReadOnly, Auth: req.Auth != nil, Loopback: req.Loopback, Metrics: req.Metrics != nil,
		Sessions: req.MaxSessions >= 0, SessionPath: req.sessionPath, Prefix: req.Prefix, Simulate: req.Simulate != nil, Simulated: req.simulated(),
		Findings: req.Findings != nil, Requests: req.Requests, Page: !req.NoPage,
	}), '\n'))
}

// sendDescription sends a description of the current database.
func (req *request) sendDescription(contentType string, text []byte) error {
	tag := httpx.Tag(text)
	if req.sendNotModified(tag) {
		return nil
	}
	return req.sendBody(contentType, tag, text)
}

// inferSchema serves GET /_/schema.json: the rules that pickup schema would make from
// the data.
func (req *request) inferSchema() error {
	var text []byte
	req.withBuildSlot(func() { text = describe.InferSchema(req.snap) })
	return req.sendDescription(openapi.SchemaType, text)
}

// schema serves GET /_/schemas/NAME: the JSON Schema of a record or of a singular
// resource, with everything that it refers to.
func (req *request) schema() error {
	name := req.Param("collection")
	if text, ok := openapi.RecordSchema(req.snap, name); ok {
		return req.sendDescription(openapi.SchemaType, append(text, '\n'))
	}
	return req.noCollection(req.snap, name)
}

// types serves GET /_/types.d.ts: TypeScript types of what is stored, of what
// requests take, and of the whole database.
func (req *request) types() error {
	return req.sendDescription(openapi.TypesType, openapi.TypeScript(req.snap))
}
