package server

import (
	"fmt"
	"sync"
	"testing"
)

func TestShelf(t *testing.T) {
	var s responseCache
	if s.get("a") != nil {
		t.Error("an empty responseCache has something")
	}
	body := []byte("body")
	s.offer("a", body)
	if s.get("a") != nil {
		t.Error("what was asked for once is kept")
	}
	s.offer("a", body)
	body[0] = 'x' // the buffer is used again
	if got := string(s.get("a")); got != "body" {
		t.Errorf("got %q", got)
	}
	s.offer("large", make([]byte, maxCachedBody+1))
	s.offer("large", make([]byte, maxCachedBody+1))
	if s.get("large") != nil {
		t.Error("a large body is kept")
	}
	// What is asked for stays, whatever else comes; the size has a bound.
	for i := range 100 {
		tag := fmt.Sprint(i)
		s.offer(tag, make([]byte, maxCachedBody))
		s.offer(tag, make([]byte, maxCachedBody))
		if s.get("a") == nil {
			t.Fatalf("what is in use is gone after %d others", i)
		}
		kept := 0
		for _, m := range []map[string][]byte{s.young, s.old} {
			for _, b := range m {
				kept += len(b)
			}
		}
		if kept > 2*cacheSize {
			t.Fatalf("%d bytes are kept", kept)
		}
	}
	if s.get("0") != nil {
		t.Error("nothing makes room")
	}
}

// TestShelfCrowd is for the race detector.
func TestShelfCrowd(t *testing.T) {
	var s responseCache
	var crowd sync.WaitGroup
	for w := range 8 {
		crowd.Go(func() {
			for i := range 2000 {
				tag := fmt.Sprint((i + w) % 50)
				if b := s.get(tag); b != nil && string(b[:len(tag)]) != tag {
					t.Errorf("%s has the body of another", tag)
				}
				s.offer(tag, append([]byte(tag), make([]byte, 200<<10)...))
			}
		})
	}
	crowd.Wait()
}
