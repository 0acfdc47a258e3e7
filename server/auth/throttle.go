package auth

import (
	"net/netip"
	"sync"
	"time"

	"github.com/jellydator/ttlcache/v3"
)

// Ten failures of a source with the same user name are free, and a hundred failures of a source
// with any names. Each further failure doubles the pause, from one second up to a minute. An
// hour without a failure clears the count.
const (
	freeFailures = 10
	freeOfSource = 10 * freeFailures
	firstPause   = time.Second
	longestPause = time.Minute
	forgetAfter  = time.Hour
	maxTallies   = 20_000 // the least recently used tally makes room
)

// A throttle slows down sources of wrong credentials. A source is an address or a network, not a
// user: otherwise anybody could lock a user out.
type throttle struct {
	mu      sync.Mutex
	tallies *ttlcache.Cache[tallyKey, *tally] // guarded by mu, with the tallies in it
}

// A tallyKey is a source and a user name, or the source alone if user is the zero mark.
type tallyKey struct {
	from netip.Prefix
	user mark
}

// A tally counts failures.
type tally struct {
	failures int
	running  int       // attempts in progress
	until    time.Time // end of the pause
}

// An attempt is a check of credentials in progress, with two tallies: for the source, and for
// the source and the user name.
type attempt struct {
	source, named tallyRef
}

// A tallyRef is a tally with its key.
type tallyRef struct {
	*tally
	key  tallyKey
	next time.Time // end of the pause set by the attempt
}

func newThrottle() *throttle {
	return &throttle{tallies: ttlcache.New(
		ttlcache.WithTTL[tallyKey, *tally](forgetAfter),
		ttlcache.WithCapacity[tallyKey, *tally](maxTallies),
		ttlcache.WithDisableTouchOnHit[tallyKey, *tally]())}
}

// find returns the tally of a key. It does not store a new tally, so that waiting attempts
// displace no other tallies. The caller has mu.
func (t *throttle) find(key tallyKey) tallyRef {
	if item := t.tallies.Get(key); item != nil {
		return tallyRef{tally: item.Value(), key: key}
	}
	return tallyRef{tally: new(tally), key: key}
}

// start returns the remaining pause of the source. If the pause is 0, the caller must check the
// credentials now and then call end. After the free failures start allows one attempt at a time:
// the next pause starts before the outcome is known, because otherwise all attempts at the end
// of a pause would be checked. An attempt in progress counts as a failure of the user name. It
// does not count for the source alone, from which many people may log in at once.
func (t *throttle) start(from netip.Prefix, user mark) (a *attempt, pause time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a = &attempt{source: t.find(tallyKey{from: from}), named: t.find(tallyKey{from, user})}
	now := time.Now()
	pause = max(a.source.until.Sub(now), a.named.until.Sub(now))
	if pause > 0 {
		return nil, pause
	}

	t.tallies.GetOrSet(a.source.key, a.source.tally)
	t.tallies.GetOrSet(a.named.key, a.named.tally)
	a.source.running++
	a.named.running++
	a.source.pause(now, a.source.failures+1-freeOfSource)
	a.named.pause(now, a.named.failures+a.named.running-freeFailures)
	return a, 0
}

// pause sets the pause after a number of failures that are not free.
func (r *tallyRef) pause(now time.Time, failures int) {
	r.next = now.Add(pauseAfter(failures))
	r.until = r.next
}

// end ends an attempt with the error of the check. Wrong credentials are a failure. Correct
// credentials clear the failures of the user name from that source, and no others.
func (t *throttle) end(a *attempt, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a.source.running--
	a.named.running--
	if err == errWrong {
		now := time.Now()
		a.source.failures++
		a.named.failures++
		a.source.pause(now, a.source.failures-freeOfSource)
		a.named.pause(now, a.named.failures+a.named.running-freeFailures)
		t.tallies.Set(a.source.key, a.source.tally, ttlcache.DefaultTTL)
		t.tallies.Set(a.named.key, a.named.tally, ttlcache.DefaultTTL)
		return
	}

	if err == nil {
		a.source.failures = max(0, a.source.failures-a.named.failures)
		a.named.failures = 0
		a.named.until = time.Time{}
	}
	for _, r := range []tallyRef{a.source, a.named} {
		if r.until.Equal(r.next) { // no other attempt has started since
			r.until = time.Time{}
		}
		if r.failures == 0 && r.running == 0 {
			t.tallies.Delete(r.key)
		}
	}
}

// pauseAfter returns the pause after a number of failures that are not free.
func pauseAfter(failures int) time.Duration {
	if failures <= 0 {
		return 0
	}
	return min(longestPause, firstPause<<min(failures-1, 10))
}

// sourceOf returns the source of a remote address: an IPv4 address, or the /64 network of an
// IPv6 address, because providers usually assign a /64 to each customer. All malformed
// addresses are the same source.
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
