package server

import (
	"net/netip"
	"sync"
	"time"
)

// How long a source waits that keeps failing: ten failures are free, then each
// doubles the pause, from one second up to a minute. Nobody is locked out for
// longer, and an hour without a failure is a new beginning.
const (
	freeFailures = 10
	firstPause   = time.Second
	longestPause = time.Minute
	forgetAfter  = time.Hour
	maxSources   = 10_000 // that are remembered; the one that is quiet for longest is forgotten
)

// A throttle slows down sources of wrong credentials. A source is an address,
// or the network of one: not a user, or anybody could shut a user out.
type throttle struct {
	mu      sync.Mutex
	sources map[netip.Prefix]*source // guarded by mu
}

type source struct {
	failures int
	last     time.Time // of the failures
	until    time.Time // when the source may try again
}

// wait returns for how long the source has to wait, 0 if it need not.
func (t *throttle) wait(from netip.Prefix) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.sources[from]; s != nil {
		return max(0, time.Until(s.until))
	}
	return 0
}

// failed notes that the source has sent wrong credentials.
func (t *throttle) failed(from netip.Prefix) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	s := t.sources[from]
	if s == nil {
		if t.sources == nil {
			t.sources = make(map[netip.Prefix]*source)
		}
		if len(t.sources) >= maxSources {
			t.forgetLocked(now)
		}
		s = new(source)
		t.sources[from] = s
	}
	if now.Sub(s.last) > forgetAfter {
		s.failures = 0
	}
	s.failures, s.last = s.failures+1, now
	if over := s.failures - freeFailures; over > 0 {
		s.until = now.Add(min(longestPause, firstPause<<min(over-1, 10)))
	}
}

// succeeded notes that the source knows good credentials.
func (t *throttle) succeeded(from netip.Prefix) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.sources, from)
}

// forgetLocked makes room: the old sources, and if there are none the one that
// has been quiet for longest.
func (t *throttle) forgetLocked(now time.Time) {
	var oldest netip.Prefix
	for from, s := range t.sources {
		switch {
		case now.Sub(s.last) > forgetAfter:
			delete(t.sources, from)
		case !oldest.IsValid() || s.last.Before(t.sources[oldest].last):
			oldest = from
		}
	}
	if len(t.sources) >= maxSources {
		delete(t.sources, oldest)
	}
}

// sourceOf returns the source that a remote address belongs to: an IPv4
// address, or the /64 of an IPv6 one, which is what one customer is given.
func sourceOf(remote string) netip.Prefix {
	ap, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0) // all that have none are one
	}
	addr := ap.Addr().Unmap().WithZone("")
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	p, err := addr.Prefix(bits)
	if err != nil {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	return p
}
