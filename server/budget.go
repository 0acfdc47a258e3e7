package server

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
)

// The budget limits the memory of large bodies and responses in progress, the slots of
// withBuildSlot limit the memory of building responses, and cacheSize limits the cache (cache.go).

const (
	freeOfBudget  = 64 << 10  // bytes of a request that do not count
	recordCost    = 1 << 10   // bytes for creating a record, in addition to the text
	defaultBudget = 256 << 20 // minimum of the budget; the other minimum is four bodies of the maximum size
)

// A budget limits the memory of bodies and responses that wait for slow clients. Small ones do
// not count, so the server can always serve small requests.
type budget struct {
	limit    int64         // bytes
	used     atomic.Int64  // bytes
	builders chan struct{} // the slots of withBuildSlot
}

func newBudget(maxBody int64) budget {
	return budget{limit: max(defaultBudget, 4*maxBody), builders: make(chan struct{}, 4*runtime.GOMAXPROCS(0))}
}

var errNoMemory = errors.New("the budget is exhausted")

// buffers holds *[]byte for bodies, to save allocations.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const maxPooled = 4 << 20 // bytes; larger buffers are not reused
