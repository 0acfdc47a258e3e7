// Package spell words messages: it suggests known words for misspelled words and
// files, counts things, quotes names for a terminal, and returns the singular of
// English words.
package spell
