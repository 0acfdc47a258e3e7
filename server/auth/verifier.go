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
	maxVerified = 2048            // of them, with the sources that have shown them
	maxWaiting  = 64              // checks that wait for a processor, as of a class that logs in
	busyPause   = time.Second     // for which a client is asked to wait if more would
)

// A Verifier decides who may use a service. It may be used by several
// goroutines at once, and by several servers.
//
// A password is hashed once: right credentials are remembered for five minutes. No more checks
// run at once than there are processors. A source that keeps failing has to pause, for up to a
// minute. Meanwhile only credentials pass that the same source has shown before.
type Verifier struct {
	users    atomic.Pointer[Users]
	setting  sync.Mutex // held by SetUsers
	key      [32]byte   // of marks
	known    *ttlcache.Cache[known, *user]
	checks   singleflight.Group // equal credentials share one check
	throttle *throttle
	queue    chan struct{} // one for each check that waits or runs
	slots    chan struct{} // one for each check that runs
}

// A known is the key of right credentials that a source has shown, or any source if from is
// the zero Prefix. Wrong credentials are not remembered.
type known struct {
	mark mark
	from netip.Prefix
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

// A mark is a hash of a user name and a password, keyed with random bytes of this process:
// neither a password nor a hash that could be attacked offline is kept. (Marks never leave the
// process, so the length extension that HMAC guards against is not a concern.)
type mark [sha256.Size]byte

func (v *Verifier) mark(user, password string) mark {
	var room [256]byte // spares most calls an allocation
	b := append(room[:0], v.key[:]...)
	b = append(append(b, user...), ':') // which no user name has
	return sha256.Sum256(append(b, password...))
}

// New returns a Verifier of the users.
func New(users *Users) *Verifier {
	n := runtime.GOMAXPROCS(0)
	v := &Verifier{throttle: newThrottle(), queue: make(chan struct{}, maxWaiting+n), slots: make(chan struct{}, n)}
	v.known = ttlcache.New(ttlcache.WithTTL[known, *user](verifiedFor), ttlcache.WithCapacity[known, *user](maxVerified),
		ttlcache.WithDisableTouchOnHit[known, *user]())
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
	name, password, ok := (&http.Request{Header: http.Header{"Authorization": {authorization}}}).BasicAuth()
	if !ok {
		return nil, 0, ErrMalformed
	}
	name, password = norm.NFC.String(name), norm.NFC.String(password)
	l := &login{users: v.users.Load(), name: name, password: password}
	l.known = known{v.mark(name, password), sourceOf(remote)}
	l.user = l.users.byName[name]
	if v.remembered(l, l.from) != nil {
		return &l.user.Account, 0, nil
	}

	// Equal credentials of one source are one attempt.
	key := fmt.Sprintf("%s %s %p", l.mark, l.from, l.user)
	shared, err, _ := v.checks.Do(key, func() (any, error) { return v.attempt(l) })
	if err != nil {
		return nil, shared.(time.Duration), nil
	}
	return &l.user.Account, 0, nil
}

// ErrMalformed is returned for a header that is not Basic, followed by the Base64 of
// user:password.
var ErrMalformed = errors.New("not Basic and the Base64 of user:password")

// The reasons why credentials do not pass.
var (
	errWrong     = errors.New("the credentials are wrong")
	errUnchecked = errors.New("the credentials were not checked")
)

// A login is credentials that a source shows.
type login struct {
	known
	users          *Users
	user           *user // nil: there is no such user
	name, password string
}

// remembered returns the item of the credentials if they were right from a source, nil if not.
func (v *Verifier) remembered(l *login, from netip.Prefix) *ttlcache.Item[known, *user] {
	if kept := v.known.Get(known{l.mark, from}); kept != nil && kept.Value() == l.user {
		return kept
	}
	return nil
}

// attempt checks credentials that their source has not shown yet, unless it has to pause. It
// returns an error with the pause of Check, nil if they are right. During a pause it does not
// look at them: neither the answer nor its time depends on whether they are right.
func (v *Verifier) attempt(l *login) (pause time.Duration, err error) {
	a, pause := v.throttle.begin(l.from, v.mark(l.name, ""))
	if pause > 0 {
		return pause, errUnchecked
	}
	remembered := verifiedFor
	if kept := v.remembered(l, netip.Prefix{}); kept != nil {
		remembered = max(time.Until(kept.ExpiresAt()), 1) // to the cache, 0 and less have other meanings
	} else {
		key := fmt.Sprintf("%s %p", l.mark, l.user)
		_, err, _ = v.checks.Do(key, func() (any, error) { return nil, v.verify(l) })
	}
	v.throttle.end(a, err)
	switch err {
	case errUnchecked:
		return busyPause, err
	case nil:
		v.known.Set(l.known, l.user, remembered)
	}
	return 0, err
}

// verify hashes the password, and remembers credentials that are right.
func (v *Verifier) verify(l *login) error {
	select {
	case v.queue <- struct{}{}:
		defer func() { <-v.queue }()
	default:
		return errUnchecked
	}
	v.slots <- struct{}{}
	defer func() { <-v.slots }()
	if !l.users.verify(l.name, l.password) {
		return errWrong
	}
	v.known.Set(known{mark: l.mark}, l.user, ttlcache.DefaultTTL)
	return nil
}
