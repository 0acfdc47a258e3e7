package server

import (
	"fmt"
	"sync"
	"testing"
)

func TestResponseCache(t *testing.T) {
	var s responseCache
	if s.get("a") != nil {
		t.Error("an empty responseCache has something")
	}
	body := []byte("body")
	s.offer("a", body)
	if s.get("a") != nil {
		t.Error("a body that was sent once is cached")
	}
	s.offer("a", body)
	body[0] = 'x' // the buffer is used again
	if got := string(s.get("a")); got != "body" {
		t.Errorf("got %q", got)
	}
	s.offer("large", make([]byte, maxCachedBody+1))
	s.offer("large", make([]byte, maxCachedBody+1))
	if s.get("large") != nil {
		t.Error("a large body is cached")
	}
	// An entry in use stays while others are offered, and the size is limited.
	for i := range 100 {
		tag := fmt.Sprint(i)
		s.offer(tag, make([]byte, maxCachedBody))
		s.offer(tag, make([]byte, maxCachedBody))
		if s.get("a") == nil {
			t.Fatalf("the entry in use is gone after %d others", i)
		}
		kept := 0
		for _, m := range []map[string][]byte{s.young, s.old} {
			for _, b := range m {
				kept += len(b)
			}
		}
		if kept > 2*cacheSize {
			t.Fatalf("%d bytes are cached", kept)
		}
	}
	if s.get("0") != nil {
		t.Error("unused entries make no room")
	}
}

// TestResponseCacheConcurrent is for the race detector.
func TestResponseCacheConcurrent(t *testing.T) {
	var s responseCache
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 200 {
				tag := fmt.Sprint((i + w) % 50)
				if b := s.get(tag); b != nil && string(b[:len(tag)]) != tag {
					t.Errorf("%s has the body of another", tag)
				}
				s.offer(tag, append([]byte(tag), make([]byte, 200<<10)...))
			}
		})
	}
	wg.Wait()
}
