// Package spell finds the known word that a misspelled one was meant to be.
package spell
