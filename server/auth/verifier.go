package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
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
// A password is hashed once: credentials that were right are remembered for five minutes. No
// more checks run at once than there are processors. A source that keeps failing has to pause,
// for up to a minute; remembered credentials pass meanwhile.
type Verifier struct {
	users    atomic.Pointer[Users]
	setting  sync.Mutex                   // held by SetUsers
	key      [32]byte                     // of marks
	marks    *ttlcache.Cache[mark, *user] // of credentials that were right; wrong ones are not kept
	checks   singleflight.Group           // by mark and user: equal credentials share one check
	throttle *throttle
	queue    chan struct{} // one for each check that waits or runs
	slots    chan struct{} // one for each check that runs
}

// An Account is what a user may do.
type Account struct {
	Name     string
	ReadOnly bool          // change nothing
	revoked  chan struct{} // closed by SetUsers
}

// Revoked returns a channel that is closed when the credentials are no longer
// accepted, or the user may do something else.
func (a *Account) Revoked() <-chan struct{} { return a.revoked }

// A mark is a hash of an Authorization header, keyed with random bytes of this process:
// neither a password nor a hash that could be attacked offline is kept. (Marks never leave the
// process, so the length extension that HMAC guards against is not a concern.)
type mark [sha256.Size]byte

func (v *Verifier) mark(authorization string) mark {
	var room [256]byte // spares most calls an allocation
	return sha256.Sum256(append(append(room[:0], v.key[:]...), authorization...))
}

// New returns a Verifier of the users.
func New(users *Users) *Verifier {
	n := min(runtime.GOMAXPROCS(0), freeFailures) // those that run count as failures of their source until they succeed
	failing := ttlcache.New(ttlcache.WithTTL[netip.Prefix, *source](forgetAfter), ttlcache.WithCapacity[netip.Prefix, *source](maxSources),
		ttlcache.WithDisableTouchOnHit[netip.Prefix, *source]())
	v := &Verifier{throttle: &throttle{sources: failing}, queue: make(chan struct{}, maxWaiting+n), slots: make(chan struct{}, n),
		marks: ttlcache.New(ttlcache.WithTTL[mark, *user](verifiedFor), ttlcache.WithCapacity[mark, *user](maxVerified), ttlcache.WithDisableTouchOnHit[mark, *user]())}
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

// Check returns the account of the credentials in an Authorization header (RFC 7617), nil if
// they are wrong. remote is the address of the client, as in http.Request.RemoteAddr. A
// positive pause means that the credentials were not checked, and how long the client should
// wait. The only error is ErrMalformed.
func (v *Verifier) Check(remote, authorization string) (account *Account, pause time.Duration, err error) {
	key, users := v.mark(authorization), v.users.Load()
	if kept := v.marks.Get(key); kept != nil {
		if u := kept.Value(); users.byName[u.Name] == u {
			return &u.Account, 0, nil
		}
	}
	name, password, ok := (&http.Request{Header: http.Header{"Authorization": {authorization}}}).BasicAuth()
	if !ok {
		return nil, 0, ErrMalformed
	}
	name, password = norm.NFC.String(name), norm.NFC.String(password)
	known := users.byName[name]
	shared, err, _ := v.checks.Do(fmt.Sprintf("%s %p", key, known), func() (any, error) {
		return v.verify(users, key, sourceOf(remote), name, password)
	})
	if err != nil {
		return nil, shared.(time.Duration), nil
	}
	return &known.Account, 0, nil
}

// ErrMalformed is returned for a header that is not Basic, followed by the Base64 of
// user:password.
var ErrMalformed = errors.New("not Basic and the Base64 of user:password")

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
	v.marks.Set(key, users.byName[user], ttlcache.DefaultTTL)
	return 0, nil
}
