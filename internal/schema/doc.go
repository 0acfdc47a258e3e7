// Package schema compiles the rules of a database, a JSON Schema with extension keywords, and
// reports faults of values in sentences.
//
// A Schema is the compiled file, Rules are the part for one top-level field, and
// a Fault is a JSON Pointer with a sentence. The package checks one value at a
// time; package database checks references and uniqueness.
//
// Start at Compile. Extension keywords are read in keywords.go and rules.go,
// writes are checked in check.go, and the sentences are in report.go and
// sentence.go. Package server answers faults with the status 422.
package schema
