package main

import (
	"os"
	"runtime/debug"
)

const (
	leastGarbage = 32 << 20 // bytes that may gather before they are collected
	largeFile    = 16 << 20 // from here on, the garbage of a load is much
)

// ballast counts as living for the collector, which runs when there is as much
// garbage as there are living bytes: with a small database, some thirty times a
// second under load. It is never touched, so it uses no memory. A higher GOGC
// would do the same, but would multiply what a growing database and large bodies
// need.
var ballast []byte

// tuneGC makes the collector run less often if the database at path is small,
// unless GOGC or GOMEMLIMIT is set. After a large load it returns the garbage to
// the system, because the next collection may be minutes away.
func tuneGC(path string) {
	var size int64
	if info, err := os.Stat(path); err == nil {
		size = info.Size()
	}
	if ballast == nil && os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		ballast = make([]byte, max(0, leastGarbage-2*size))
	}
	if size >= largeFile {
		debug.FreeOSMemory()
	}
}
