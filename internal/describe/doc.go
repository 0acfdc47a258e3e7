// Package describe describes in JSON Schema what a database stores and accepts.
//
// Database returns a Description of a snapshot: four schemas for each resource
// (Record, Create, Replace, MergePatch), taken from the rules or else
// inferred from the data. Package openapi makes its documents from
// them. InferSchema returns a first rules file for a database without one.
//
// Start at Database. Copying a schema out of the rules is in copy.go,
// the forms of a request's body in body.go, inference in infer.go.
package describe
