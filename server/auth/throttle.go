package auth

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

// begin returns for how long the source has to wait, 0 if credentials of it are
// to be looked at now. Past the free failures that is one attempt at a time:
// the next pause begins before the outcome is known, or all that a source sends
// at the end of a pause would be looked at.
func (t *throttle) begin(from netip.Prefix) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, now := t.sources[from], time.Now()
	if s == nil || now.Sub(s.last) > forgetAfter {
		return 0
	}
	if pause := s.until.Sub(now); pause > 0 {
		return pause
	}
	if s.failures >= freeFailures {
		s.until = now.Add(pauseAfter(s.failures + 1))
	}
	return 0
}

// pauseAfter returns how long a source waits that has failed so often.
func pauseAfter(failures int) time.Duration {
	over := failures - freeFailures
	if over <= 0 {
		return 0
	}
	return min(longestPause, firstPause<<min(over-1, 10))
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
	s.until = now.Add(pauseAfter(s.failures))
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
