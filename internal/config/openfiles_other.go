//go:build !unix

package config

// ConnectionsWithin returns how many of n connections the system allows, and its limit
// on open files, 0 if there is none.
func ConnectionsWithin(n int) (connections int, files uint64) { return n, 0 }
