package main

import (
	"os"
	"runtime/debug"
)

const (
	smallFile = 1 << 20  // up to here, a heap of five times the living bytes is little
	largeFile = 16 << 20 // from here on, the garbage of a load is much
)

// tuneGC makes the collector run less often while the database at path is small,
// unless GOGC is set: with the default, it runs some thirty times a second under
// load. After a large load tuneGC returns its garbage to the system, because the
// next collection may be minutes away.
func tuneGC(path string) {
	var size int64
	if info, err := os.Stat(path); err == nil {
		size = info.Size()
	}
	if os.Getenv("GOGC") == "" {
		percent := 100
		if size <= smallFile {
			percent = 400
		}
		debug.SetGCPercent(percent)
	}
	if size >= largeFile {
		debug.FreeOSMemory()
	}
}
