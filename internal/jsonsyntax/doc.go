// Package jsonsyntax explains to people what is wrong with text that is not
// JSON: where the first error is, and what would be right. It is slow; callers
// parse with something else and ask only after an error.
package jsonsyntax
