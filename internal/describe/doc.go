// Package describe says in JSON Schema what a database holds and takes: for the
// API's description, and as the first draft of a schema.
package describe
