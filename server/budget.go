package server

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	freeOfBudget  = 64 << 10  // bytes of a request that do not count
	recordCost    = 1 << 10   // bytes that creating a record needs in addition to its text
	defaultBudget = 256 << 20 // or four bodies of the maximum size, if that is more
)

// A budget limits the memory for bodies and answers that wait for slow clients.
// Small ones do not count, so they are served even if large ones use it up.
type budget struct {
	limit    int64         // bytes
	used     atomic.Int64  // bytes
	builders chan struct{} // the slots of withBuildSlot
}

func newBudget(maxBody int64) budget {
	return budget{limit: max(defaultBudget, 4*maxBody), builders: make(chan struct{}, 4*runtime.GOMAXPROCS(0))}
}

var errNoMemory = errors.New("the budget is used up")

// buffers holds *[]byte for bodies, so that they need not grow for each list.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const maxPooled = 4 << 20 // bytes; a larger buffer is not reused
