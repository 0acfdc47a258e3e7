package server

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestRequestsRedacted: what may be secret is hidden soon after a request, also if
// nobody reads it, and the size is that of what is kept.
func TestRequestsRedacted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l requestLog
		add := func(n int) {
			for range n {
				l.add(&recorded{Query: "token=hunter2", body: excerpt{text: []byte(`{"password": "hunter2"}`)}})
			}
		}
		check := func(count int) {
			t.Helper()
			l.mu.Lock()
			defer l.mu.Unlock()
			size := 0
			for _, e := range l.list {
				if kept := fmt.Sprint(e.Query, string(e.body.text)); kept != `token=…{"password":"…"}` {
					t.Fatalf("kept is %s", kept)
				}
				size += e.size
			}
			if len(l.list) != count || l.size != size {
				t.Errorf("%d requests of %d bytes, not of %d", len(l.list), size, l.size)
			}
		}
		add(1)
		time.Sleep(redactAfter + 1)
		check(1)
		add(2 * maxRecorded)
		time.Sleep(redactAfter + 1)
		check(maxRecorded)
		add(1)
		l.clear()
		time.Sleep(redactAfter + 1)
		check(0)
	})
}
