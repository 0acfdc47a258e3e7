package server

import (
	"slices"
	"sync"
)

// A responseCache keeps bodies that were asked for more than once under their entity
// tags. Equal tags are equal bytes, so nothing on it is ever out of date: after
// a write the tag is another, and what nobody asks for any more makes room.
// Its zero value is empty. It may be used by several goroutines at once.
type responseCache struct {
	mu    sync.Mutex
	young map[string][]byte // guarded by mu; nil: asked for once
	old   map[string][]byte // guarded by mu; was young until that was full
	size  int               // guarded by mu; of young, in bytes
}

const (
	cacheSize      = 4 << 20 // bytes of young, and at most as many of old
	maxCachedBody  = 1 << 20 // bytes; the sending of more costs more than its making
	cacheEntryCost = 128     // bytes that an entry costs beside its body
)

// get returns the body that has the tag, nil where it is not kept.
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

// offer keeps a copy of a body at the second time.
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
