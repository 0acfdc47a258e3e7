package server

import (
	"slices"
	"sync"
)

// A responseCache caches bodies that were sent more than once, by entity tag. Equal tags mean equal
// bytes, so no entry is ever stale: a write changes the tag, and the cache drops unused entries. The
// zero value is empty. Several goroutines may use a responseCache at once.
type responseCache struct {
	mu    sync.Mutex
	young map[string][]byte // guarded by mu; nil: sent once
	old   map[string][]byte // guarded by mu; the previous young
	size  int               // guarded by mu; of young, in bytes
}

const (
	cacheSize      = 4 << 20 // bytes of young, and at most as many of old
	maxCachedBody  = 1 << 20 // bytes; building a larger body takes less time than sending
	cacheEntryCost = 128     // bytes of an entry in addition to the body
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

// offer stores a copy of a body at the second call with the same tag.
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
	s.size += cacheEntryCost + len(body)
	if s.young == nil || s.size > cacheSize {
		s.old, s.young = s.young, make(map[string][]byte)
		s.size = cacheEntryCost + len(body)
	}
	s.young[tag] = body
}
