package requestlog

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
)

// sizeOf returns how many requests a log keeps, their size, and the size that it counts.
func sizeOf(l *Log) (count int, size, counted int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.ring {
		size += e.size
	}
	return int(l.last - l.before), size, l.size
}

// TestLog adds more than a log holds.
func TestLog(t *testing.T) {
	var l Log
	for i := range 3 * maxRequests {
		l.Add(&Request{Path: "/a", At: time.Now(), Body: Excerpt{text: make([]byte, i%2)}})
	}
	more := l.More()
	list, last, whole := l.Since(3*maxRequests - 10)
	if len(list) != 10 || last != 3*maxRequests || whole || list[9].ID != "1500" {
		t.Errorf("%d requests up to %d", len(list), last)
	}
	if list, _, whole = l.Since(2*maxRequests - 1); len(list) != maxRequests || !whole {
		t.Errorf("%d requests (all: %v) after one that is gone", len(list), whole)
	}
	for range 3 * maxRequests {
		l.Add(&Request{Answer: Excerpt{text: make([]byte, maxBody)}, Body: Excerpt{text: make([]byte, maxBody)}})
	}
	select {
	case <-more:
	default:
		t.Error("nobody was woken")
	}
	if _, size, counted := sizeOf(&l); size != counted || size > maxSize || size < maxSize-3*maxBody {
		t.Errorf("%d bytes, counted as %d", size, counted)
	}
	l.Clear()
	if list, last, whole := l.Since(last); len(list) != 0 || last != 6*maxRequests+1 || !whole || l.size != 0 {
		t.Errorf("%d requests of %d bytes are left", len(list), l.size)
	}
}

// TestLogTogether has many who add requests and one who follows them: each request comes
// once and in order, unless so many came that all are sent again.
func TestLogTogether(t *testing.T) {
	const writers, each = 8, 2000
	var l Log
	var adding sync.WaitGroup
	for range writers {
		adding.Go(func() {
			for range each {
				l.Add(&Request{Path: "/a"})
			}
		})
	}
	done := make(chan struct{})
	go func() {
		adding.Wait()
		close(done)
	}()
	seen := uint64(0)
	for ended := false; ; {
		more := l.More()
		list, last, whole := l.Since(seen)
		if len(list) > 0 && !whole && list[0].number != seen+1 {
			t.Fatalf("%d comes after %d", list[0].number, seen)
		}
		for i, e := range list {
			if e.number != list[0].number+uint64(i) || e.ID == "" {
				t.Fatalf("%d is in place %d after %d", e.number, i, list[0].number)
			}
		}
		if last < seen {
			t.Fatalf("%d is the latest after %d", last, seen)
		}
		seen = last
		if ended {
			break
		}
		select {
		case <-more:
		case <-done:
			ended = true
		}
	}
	count, size, counted := sizeOf(&l)
	if seen != writers*each || count != maxRequests || size != counted {
		t.Errorf("%d requests up to %d, of %d bytes counted as %d", count, seen, size, counted)
	}
}

// TestLogMemory keeps requests whose parts other than the bodies are large.
func TestLogMemory(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, e := range []Request{
		{Session: long},
		{Problem: &problem.Problem{Detail: long}},
		{Problem: &problem.Problem{Errors: []problem.Fault{{Pointer: &long}}}},
		{Problem: &problem.Problem{Errors: []problem.Fault{{Detail: long}}}},
		{Problem: &problem.Problem{Collections: []string{long}}},
		{Query: strings.Repeat("key&", 1<<18)},
		{Body: Excerpt{text: []byte(`{` + strings.Repeat(`"key":0,`, 1<<16) + `"a":0}`)}},
	} {
		var l Log
		for range 20 {
			l.Add(new(e))
		}
		size := 0
		list, _, _ := l.Since(0)
		for _, e := range list {
			size += len(httpx.Marshal(e)) + len(e.Body.text)
		}
		if size > maxSize*5/4 {
			t.Errorf("%.80s: %d requests hold %d bytes", httpx.Marshal(list[0]), len(list), size)
		}
	}
}

// TestRequestsRedacted: what may be secret is hidden soon after a request, also if
// nobody reads it, and the size is that of what is kept.
func TestRequestsRedacted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log
		add := func(n int) {
			for range n {
				l.Add(&Request{Query: "token=hunter2", Body: Excerpt{text: []byte(`{"password": "hunter2"}`)}})
			}
		}
		check := func(want int) {
			t.Helper()
			l.mu.Lock()
			list := slices.Clone(l.ring[:])
			l.mu.Unlock()
			for _, e := range list {
				if kept := fmt.Sprint(e.Query, string(e.Body.text)); e.number > 0 && kept != `token=…{"password":"…"}` {
					t.Fatalf("kept is %s", kept)
				}
			}
			if count, size, counted := sizeOf(&l); count != want || counted != size {
				t.Errorf("%d requests of %d bytes, counted as %d", count, size, counted)
			}
		}
		add(1)
		time.Sleep(redactAfter + 1)
		check(1)
		add(2 * maxRequests)
		time.Sleep(redactAfter + 1)
		check(maxRequests)
		add(1)
		l.Clear()
		time.Sleep(redactAfter + 1)
		check(0)
	})
}
