//go:build unix

package config

import "syscall"

// spareFiles is the number of open files for everything but connections: the
// database, its drafts, its watches, the log.
const spareFiles = 256

// ConnectionsWithin returns how many of n connections the system allows, and its limit
// on open files. The Go runtime has raised the soft limit already; beyond it, not even
// the database could be opened.
func ConnectionsWithin(n int) (connections int, files uint64) {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return n, 0
	}
	files = uint64(l.Cur)
	return int(max(1, min(uint64(n), files-min(spareFiles, files/2)))), files
}
