// Package openapi describes the service that serves a database: as an OpenAPI
// document (3.1.1), as JSON Schemas and as TypeScript types.
//
// It is package describe put into the forms that clients read: Document is the
// OpenAPI document, RecordSchema the JSON Schema of one resource, TypeScript the
// types. All of them describe one snapshot, as it is.
//
// Start at Document. The operations of a resource are in paths.go; what
// they share is in tables: parameters.go, headers.go, errors.go and schemas.json.
// The paths and media types that the server uses too are in names.go.
package openapi
