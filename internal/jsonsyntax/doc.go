// Package jsonsyntax explains the first error of a JSON text to people: where the error is
// and what would be right. The package is slow: use it only after another parser has found an
// error.
package jsonsyntax
