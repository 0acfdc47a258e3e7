package main

import (
	"math"
	"os"
	"runtime/debug"
)

// leastGarbage is how many bytes of garbage gather before they are collected,
// however small the database is.
const leastGarbage = 32 << 20

// ballast returns bytes that count as living for the collector, which comes when
// there is as much garbage as there are living bytes: beside a database of 1 MB
// some thirty times a second under load, for an eighth of the processor time of
// a GET. Nobody touches them, so the system has no memory to give for them. A
// file so large that its records bring the room themselves gets none, and none
// is there where GOMEMLIMIT says how much memory there is.
func ballast(file string) []byte {
	if debug.SetMemoryLimit(-1) != math.MaxInt64 {
		return nil
	}
	var size int64
	if info, err := os.Stat(file); err == nil {
		size = info.Size()
	}
	return make([]byte, max(0, leastGarbage-2*size))
}

// giveBack gives memory back to the system after a load of a large file, which
// leaves as much garbage as the file has bytes: the collector comes when there
// is as much as there are living bytes, so for a file that nobody edits again it
// may not come for minutes.
func giveBack(file string) {
	if info, err := os.Stat(file); err == nil && info.Size() >= leastGarbage/2 {
		debug.FreeOSMemory()
	}
}
