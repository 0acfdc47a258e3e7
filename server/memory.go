package server

import (
	"errors"
	"runtime"
	"slices"
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

// A responseCache caches bodies that were sent more than once, by entity tag, and
// the first events of streams, by event id and query. Equal tags mean equal bytes,
// so no entry is ever stale: a write changes the tag, and entries that are no
// longer used make room. The zero value is empty. It may be used by several
// goroutines at once.
type responseCache struct {
	mu    sync.Mutex
	young map[string][]byte // guarded by mu; nil: sent once
	old   map[string][]byte // guarded by mu; the previous young
	size  int               // guarded by mu; of young, in bytes
}

const (
	cacheSize      = 4 << 20 // bytes of young, and at most as many of old
	maxCachedBody  = 1 << 20 // bytes; building a larger one is cheaper than sending it
	cacheEntryCost = 128     // bytes of an entry in addition to its body
)

// get returns the body with the tag, or nil.
func (s *responseCache) get(tag string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.young[tag]; b != nil {
		return b
	}
	b := s.old[tag]
	if b != nil {
		s.putLocked(tag, b)
	}
	return b
}

// offer stores a copy of a body when it is called with its tag a second time.
func (s *responseCache) offer(tag string, body []byte) {
	if len(body) > maxCachedBody {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, young := s.young[tag]
	_, old := s.old[tag]
	if !young && !old {
		s.putLocked(tag, nil)
	} else if s.young[tag] == nil {
		s.putLocked(tag, slices.Clone(body))
	}
}

func (s *responseCache) putLocked(tag string, body []byte) {
	if s.size += cacheEntryCost + len(body); s.young == nil || s.size > cacheSize {
		s.old, s.young = s.young, make(map[string][]byte)
		s.size = cacheEntryCost + len(body)
	}
	s.young[tag] = body
}
