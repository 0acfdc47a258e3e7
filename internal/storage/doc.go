// Package store says what keeps a database durably, and how it tells what has
// changed.
package storage
