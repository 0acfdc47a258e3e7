package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jellydator/ttlcache/v3"
	"golang.org/x/sync/singleflight"
	"golang.org/x/text/unicode/norm"
)

const (
	verifiedFor = 5 * time.Minute // how long right credentials are remembered
	maxVerified = 1024            // of them
	maxWaiting  = 64              // checks that wait for a processor, as of a class that logs in
	busyPause   = time.Second     // for which a client is asked to wait if more would
)

// A Verifier decides who may use a service. It may be used by several
// goroutines at once, and by several servers.
//
// A password is hashed once: credentials that were right are remembered for five
// minutes. No more checks run at once than there are processors. A source that
// keeps failing has to pause, for up to a minute; remembered credentials pass
// meanwhile.
type Verifier struct {
	users    atomic.Pointer[Users]
	setting  sync.Mutex                      // held by SetUsers
	key      [32]byte                        // of marks
	marks    *ttlcache.Cache[mark, struct{}] // of credentials that were right; wrong ones are not kept
	checks   singleflight.Group              // by mark: equal credentials share one check
	throttle *throttle
	queue    chan struct{} // one for each check that waits or runs
	slots    chan struct{} // one for each check that runs
}

// An Account is what a user may do.
type Account struct {
	ReadOnly bool          // change nothing
	revoked  chan struct{} // closed by SetUsers
}

// Revoked returns a channel that is closed when the credentials are no longer
// accepted, or the user may do something else.
func (a *Account) Revoked() <-chan struct{} { return a.revoked }

// A mark is a hash of credentials and of the user's line, keyed with random bytes of this
// process: neither a password nor a hash that could be attacked offline is kept, and
// another line makes another mark. (Marks never leave the process, so the length extension
// that HMAC guards against is not a concern.)
type mark [sha256.Size]byte

// mark returns the mark of a user, who may be unknown and whose name has no colon, and a
// password.
func (v *Verifier) mark(known *user, name, password string) mark {
	var line [sha256.Size]byte
	if known != nil {
		line = known.line
	}
	var room [256]byte // spares most calls an allocation
	b := append(append(room[:0], v.key[:]...), line[:]...)
	b = append(append(append(b, name...), ':'), password...)
	return sha256.Sum256(b)
}

// New returns a Verifier of the users.
func New(users *Users) *Verifier {
	n := min(runtime.GOMAXPROCS(0), freeFailures) // those that run count as failures of their source until they succeed
	failing := ttlcache.New(ttlcache.WithTTL[netip.Prefix, *source](forgetAfter), ttlcache.WithCapacity[netip.Prefix, *source](maxSources),
		ttlcache.WithDisableTouchOnHit[netip.Prefix, *source]())
	v := &Verifier{throttle: &throttle{sources: failing}, queue: make(chan struct{}, maxWaiting+n), slots: make(chan struct{}, n),
		marks: ttlcache.New(ttlcache.WithTTL[mark, struct{}](verifiedFor), ttlcache.WithCapacity[mark, struct{}](maxVerified))}
	rand.Read(v.key[:]) // never fails
	v.users.Store(users)
	return v
}

// SetUsers replaces the users. The credentials of those that are gone, or have another
// line, are revoked. The Verifier owns users then.
func (v *Verifier) SetUsers(users *Users) {
	v.setting.Lock()
	defer v.setting.Unlock()
	last := v.users.Load()
	for name, u := range last.byName {
		if next := users.byName[name]; next != nil && next.line == u.line {
			users.byName[name] = u
		}
	}
	v.users.Store(users)
	for name, u := range last.byName {
		if users.byName[name] != u {
			close(u.revoked)
		}
	}
}

// Check returns the account of the user, nil if the credentials are wrong. remote is
// the address of the client, as in http.Request.RemoteAddr. A positive pause means that
// the credentials were not checked, and how long the client should wait.
func (v *Verifier) Check(remote, user, password string) (account *Account, pause time.Duration) {
	user, password = norm.NFC.String(user), norm.NFC.String(password)
	users := v.users.Load()
	known := users.byName[user]
	key := v.mark(known, user, password)
	if !v.marks.Has(key) {
		shared, err, _ := v.checks.Do(string(key[:]), func() (any, error) {
			return v.verify(users, key, sourceOf(remote), user, password)
		})
		if err != nil {
			return nil, shared.(time.Duration)
		}
	}
	return &known.Account, 0
}

var errWrong = errors.New("the credentials are wrong, or were not checked")

// verify returns errWrong with the pause of Check, nil if the credentials are right.
func (v *Verifier) verify(users *Users, key mark, from netip.Prefix, user, password string) (pause time.Duration, err error) {
	select {
	case v.queue <- struct{}{}:
		defer func() { <-v.queue }()
	default:
		return busyPause, errWrong
	}
	v.slots <- struct{}{}
	defer func() { <-v.slots }()
	if pause := v.throttle.begin(from); pause > 0 {
		return pause, errWrong
	}
	if !users.verify(user, password) {
		v.throttle.failed(from)
		return 0, errWrong
	}
	v.throttle.succeeded(from)
	v.marks.Set(key, struct{}{}, ttlcache.DefaultTTL)
	return 0, nil
}
