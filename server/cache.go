package server

import (
	"slices"

	"github.com/jellydator/ttlcache/v3"
)

// A responseCache caches bodies that were sent more than once, by entity tag. Equal tags mean equal
// bytes, so no entry is ever stale: a write changes the tag. The least recently used entries make
// room. Several goroutines may use a responseCache at once.
type responseCache struct {
	bodies *ttlcache.Cache[string, []byte] // nil: sent once
}

const (
	cacheSize      = 8 << 20 // bytes
	maxCachedBody  = 1 << 20 // bytes; building a larger body takes less time than sending
	cacheEntryCost = 512     // bytes of an entry in addition to the body
)

func newResponseCache() responseCache {
	cost := func(item ttlcache.CostItem[string, []byte]) uint64 {
		return uint64(cacheEntryCost + len(item.Value))
	}
	return responseCache{ttlcache.New(ttlcache.WithMaxCost(cacheSize, cost))}
}

// get returns the body with the tag, or nil.
func (s responseCache) get(tag string) []byte {
	item := s.bodies.Get(tag)
	if item == nil {
		return nil
	}
	return item.Value()
}

// offer stores a copy of a body at the second call with the same tag.
func (s responseCache) offer(tag string, body []byte) {
	if len(body) > maxCachedBody {
		return
	}
	if _, sent := s.bodies.GetOrSet(tag, nil); sent {
		s.bodies.Set(tag, slices.Clone(body), ttlcache.NoTTL)
	}
}
