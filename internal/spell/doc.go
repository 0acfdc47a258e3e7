// Package spell words messages: it suggests the known word that a misspelled
// one, or a misspelled file, was probably meant to be, counts things, quotes names
// for a terminal, and gives the singular of English words.
package spell
