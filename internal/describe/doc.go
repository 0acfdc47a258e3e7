// Package describe describes in JSON Schema what a database stores and accepts.
//
// Database returns a Description of a snapshot: four schemas for each resource (Record, Create,
// Replace, MergePatch), taken from the rules or else inferred from the data. Package openapi makes
// documents from the schemas. InferSchema returns a first rules file for a database without rules.
//
// Start at Database. copy.go copies schemas out of the rules, body.go has the schemas of request
// bodies, and infer.go infers schemas.
package describe
