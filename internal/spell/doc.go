// Package spell words messages: it suggests the known word that a misspelled
// one was probably meant to be, and counts things.
package spell
