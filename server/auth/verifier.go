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
	verifiedFor = 5 * time.Minute // how long correct credentials are remembered
	maxVerified = 2048            // remembered credentials, counted for each source
	maxWaiting  = 64              // checks that wait for a processor, as when a class logs in
	busyPause   = time.Second     // pause of a client when more checks would wait
)

// A Verifier decides who may use a service. Several goroutines and several servers may use a
// Verifier at once.
//
// A password is hashed once: correct credentials are remembered for five minutes. The number of
// concurrent checks is limited to the number of processors. A source of repeated failures must
// pause, for up to a minute. During the pause only remembered credentials of the same source are
// accepted.
type Verifier struct {
	users    atomic.Pointer[Users]
	setting  sync.Mutex // held by SetUsers
	key      [32]byte   // see mark
	known    *ttlcache.Cache[known, *user]
	checks   singleflight.Group // equal credentials share one check
	throttle *throttle
	queue    chan struct{} // one for each check that waits or runs
	slots    chan struct{} // one for each check that runs
}

// A known is the key of remembered credentials. If from is zero, they are valid from any
// address. Wrong credentials are not remembered.
type known struct {
	mark mark
	from netip.Prefix
}

// An Account is the account of a user.
type Account struct {
	Name     string
	ReadOnly bool          // the user may change nothing
	revoked  chan struct{} // closed by SetUsers
}

// Revoked returns a channel that is closed when the credentials or the permissions of the
// account change.
func (a *Account) Revoked() <-chan struct{} { return a.revoked }

// A mark is a hash of a user name and a password, keyed with random bytes of this process. With
// marks the memory contains neither a password nor a hash that could be attacked offline. (Marks
// never leave the process, so length extension, which HMAC prevents, is not a concern.)
type mark [sha256.Size]byte

func (v *Verifier) mark(user, password string) mark {
	var room [256]byte // spares most calls an allocation
	b := append(room[:0], v.key[:]...)
	b = append(append(b, user...), ':') // no user name contains a colon
	return sha256.Sum256(append(b, password...))
}

// New returns a Verifier of the users.
func New(users *Users) *Verifier {
	n := runtime.GOMAXPROCS(0)
	v := &Verifier{
		throttle: newThrottle(),
		queue:    make(chan struct{}, maxWaiting+n),
		slots:    make(chan struct{}, n),
		known: ttlcache.New(
			ttlcache.WithTTL[known, *user](verifiedFor),
			ttlcache.WithCapacity[known, *user](maxVerified),
			ttlcache.WithDisableTouchOnHit[known, *user]()),
	}
	rand.Read(v.key[:]) // never fails
	v.users.Store(users)
	return v
}

// SetUsers replaces the users. It revokes the accounts of removed users and of users whose line
// has changed. The caller must not use users any more.
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

// Check returns the account of the credentials in an Authorization header (RFC 7617), nil if the
// credentials are wrong. remote is the address of the client, as in http.Request.RemoteAddr. If
// pause is positive, Check has not checked the credentials, and the client should wait for that
// time. The only error is ErrMalformed.
func (v *Verifier) Check(remote, authorization string) (account *Account, pause time.Duration, err error) {
	r := http.Request{Header: http.Header{"Authorization": {authorization}}}
	name, password, ok := r.BasicAuth()
	if !ok {
		return nil, 0, ErrMalformed
	}
	name = norm.NFC.String(name)
	password = norm.NFC.String(password)
	l := &login{users: v.users.Load(), name: name, password: password}
	l.known = known{v.mark(name, password), sourceOf(remote)}
	l.user = l.users.byName[name]
	if v.remembered(l, l.from) != nil {
		return &l.user.Account, 0, nil
	}

	// Equal credentials of the same source share an attempt.
	key := fmt.Sprintf("%s %s %p", l.mark, l.from, l.user)
	shared, err, _ := v.checks.Do(key, func() (any, error) { return v.attempt(l) })
	if err != nil {
		return nil, shared.(time.Duration), nil
	}
	return &l.user.Account, 0, nil
}

// ErrMalformed is the error of Check for a malformed header. The right form is Basic, followed
// by the Base64 of user:password.
var ErrMalformed = errors.New("not Basic and the Base64 of user:password")

// The reasons for rejecting credentials.
var (
	errWrong     = errors.New("the credentials are wrong")
	errUnchecked = errors.New("the credentials were not checked")
)

// A login has the credentials of a request.
type login struct {
	known
	users          *Users
	user           *user // nil: unknown
	name, password string
}

// remembered returns the remembered item of correct credentials of a source, nil if there is
// none.
func (v *Verifier) remembered(l *login, from netip.Prefix) *ttlcache.Item[known, *user] {
	if item := v.known.Get(known{l.mark, from}); item != nil && item.Value() == l.user {
		return item
	}
	return nil
}

// attempt checks credentials that are new from this source, unless the source must pause. The
// error is nil if the credentials are correct; pause is the pause of Check. During a pause
// attempt ignores the credentials: neither the response nor the time depends on whether the
// credentials are correct.
func (v *Verifier) attempt(l *login) (pause time.Duration, err error) {
	a, pause := v.throttle.start(l.from, v.mark(l.name, ""))
	if pause > 0 {
		return pause, errUnchecked
	}
	remembered := verifiedFor
	if item := v.remembered(l, netip.Prefix{}); item != nil {
		remembered = max(time.Until(item.ExpiresAt()), 1) // 0 and less have other meanings in the cache
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

// verify hashes the password, and remembers correct credentials.
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
