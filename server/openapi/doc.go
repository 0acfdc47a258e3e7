// Package openapi describes the service that serves a database: as an OpenAPI
// document, as JSON Schemas and as TypeScript types.
package openapi
