//go:build unix

package main

import "syscall"

// spareFiles is the number of open files for everything but connections: the
// database, its drafts, its watches, the log.
const spareFiles = 256

// connectionsWithin returns how many of n connections the system allows. The Go
// runtime has raised the soft limit of open files already; beyond it, not even the
// database could be opened.
func connectionsWithin(n int) int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return n
	}
	most := uint64(l.Cur)
	if most > 2*spareFiles {
		most -= spareFiles
	} else {
		most /= 2
	}
	return int(max(1, min(uint64(n), most)))
}
