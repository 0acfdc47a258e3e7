//go:build unix

package main

import "syscall"

// spareFiles is how many open files the service needs beside its connections:
// the database, its drafts, its watches, the log.
const spareFiles = 256

// connectionsWithin returns how many of n connections the system lets the
// process have. The runtime has raised the limit as far as it may: beyond it
// not even the database could be opened any more.
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
