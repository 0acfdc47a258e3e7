package server

import (
	"strconv"
	"strings"

	"pickup/internal/storage"
)

// A resumePoint is the point at which a client wants a stream to start.
type resumePoint struct {
	now bool        // with the next change
	run string      // after the state at rev of this run; "": with a reset
	rev storage.Rev // of run

	request uint64 // the latest request that the client has; 0: none
}

func parseEventID(id string) (resumePoint, bool) {
	i := strings.LastIndexByte(id, '-')
	if i <= 0 {
		return resumePoint{}, false
	}
	rev, err := strconv.ParseUint(id[i+1:], 10, 64)
	return resumePoint{run: id[:i], rev: storage.Rev(rev)}, err == nil
}
