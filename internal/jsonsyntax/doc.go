// Package jsonsyntax explains errors in JSON to people: where the first one is
// and what would be right. It is slow, so callers use it only after another
// parser has found an error.
package jsonsyntax
