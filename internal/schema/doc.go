// Package schema compiles the rules of a database, which are a JSON Schema with
// extension keywords, and reports in sentences what is wrong with a value.
//
// A Schema is the compiled file, Rules are what it says of one top-level member,
// a Fault is one thing that is wrong: a JSON Pointer and a sentence. The package
// judges one value at a time. References and uniqueness, which need the other
// records, are checked by package database.
//
// Start at Compile. Our own members are read in members.go and rules.go,
// writes are checked in check.go, and the sentences are in report.go and
// sentence.go.
package schema
