package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	leastGarbage  = 32 << 20    // bytes that gather before they are collected, if living ones are few
	maxPercent    = 400         // of the living bytes
	tuneCollector = time.Second // the time between two looks at the living bytes
)

// collectGarbage returns the garbage of the start to the system, and makes the
// collector run less often while the database is small, unless GOGC or GOMEMLIMIT is
// set, until ctx is done.
func collectGarbage(ctx context.Context) {
	debug.FreeOSMemory()
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	living := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for last := 0; ; {
		metrics.Read(living)
		if percent := garbagePercent(living[0].Value.Uint64()); percent != last {
			debug.SetGCPercent(percent)
			last = percent
		}
		select {
		case <-time.After(tuneCollector):
		case <-ctx.Done():
			return
		}
	}
}

// garbagePercent returns how much garbage may gather, in percent of the living bytes.
// The percentage of a small database would multiply what a large one needs.
func garbagePercent(living uint64) int {
	return int(min(maxPercent, max(100, leastGarbage*100/max(1, living))))
}
