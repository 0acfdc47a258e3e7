package auth

import (
	"net/netip"
	"sync"
	"time"

	"github.com/jellydator/ttlcache/v3"
)

// Ten failures of a source are free. Each one after them doubles the pause, from
// one second up to a minute. An hour without a failure clears the count.
const (
	freeFailures = 10
	firstPause   = time.Second
	longestPause = time.Minute
	forgetAfter  = time.Hour
	maxSources   = 10_000 // the least recently seen one makes room
)

// A throttle slows down sources of wrong credentials. A source is an address or
// a network. It is not a user: otherwise anybody could lock a user out.
type throttle struct {
	mu      sync.Mutex
	sources *ttlcache.Cache[netip.Prefix, *source] // guarded by mu, with the sources in it
}

type source struct {
	failures int
	until    time.Time // when the source may try again
}

// begin returns how long the source has to wait, 0 if its credentials are to be
// checked now. After the free failures it allows one attempt at a time: the next
// pause begins before the outcome is known, otherwise everything that a source
// sends at the end of a pause would be checked.
func (t *throttle) begin(from netip.Prefix) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	item := t.sources.Get(from)
	if item == nil {
		return 0
	}
	s := item.Value()
	pause := max(0, time.Until(s.until))
	if pause == 0 {
		s.until = time.Now().Add(pauseAfter(s.failures + 1))
	}
	return pause
}

// failed counts wrong credentials of the source.
func (t *throttle) failed(from netip.Prefix) {
	t.mu.Lock()
	defer t.mu.Unlock()
	item, _ := t.sources.GetOrSet(from, new(source))
	s := item.Value()
	s.failures++
	s.until = time.Now().Add(pauseAfter(s.failures))
	t.sources.Set(from, s, ttlcache.DefaultTTL)
}

// pauseAfter returns the pause after a number of failures.
func pauseAfter(failures int) time.Duration {
	over := failures - freeFailures
	if over <= 0 {
		return 0
	}
	return min(longestPause, firstPause<<min(over-1, 10))
}

// succeeded clears the count of a source that has sent right credentials.
func (t *throttle) succeeded(from netip.Prefix) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sources.Delete(from)
}

// sourceOf returns the source of a remote address: an IPv4 address, or the /64
// network of an IPv6 address, which is what one customer is usually assigned.
// All addresses that do not parse are one source.
func sourceOf(remote string) netip.Prefix {
	ap, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	addr := ap.Addr().Unmap().WithZone("")
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	return netip.PrefixFrom(addr, bits).Masked()
}
