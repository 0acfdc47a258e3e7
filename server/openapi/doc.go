// Package openapi describes the service that serves a database: as an OpenAPI
// document (3.1.1), as JSON Schemas and as TypeScript types.
//
// Package describe describes a snapshot, and this package writes the forms that
// clients read: Document returns the OpenAPI document, RecordSchema the JSON Schema
// of one resource, TypeScript the types.
//
// Start at Document. paths.go fills in resource.json for each resource. service.json,
// components.json, introduction.md and errors.md are the same for every database. names.go
// has the paths and media types that the server uses, too.
package openapi
