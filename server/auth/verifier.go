package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/jellydator/ttlcache/v3"
	"golang.org/x/sync/singleflight"
	"golang.org/x/text/unicode/norm"
)

const (
	verifiedFor = 5 * time.Minute // how long right credentials are remembered
	maxVerified = 1024            // of them
	maxWaiting  = 16              // checks that wait for a processor
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
	current  atomic.Pointer[generation] // set by one SetUsers at a time
	setting  sync.Mutex
	throttle *throttle
	queue    chan struct{} // one for each check that waits or runs
	slots    chan struct{} // one for each check that runs
}

// A generation is a set of users, and the marks of the credentials that were right,
// so that a password is not hashed for each request. Wrong ones are not kept.
type generation struct {
	users    *Users
	accounts map[string]*Account           // by name; a user that stays has the same in the next generation
	key      [32]byte                      // the same in all generations
	marks    *ttlcache.Cache[mark, string] // names; the next generation keeps the marks of users that stay
	checks   singleflight.Group            // by mark: equal credentials share one check
}

// An Account is what a user may do.
type Account struct {
	ReadOnly bool          // change nothing
	revoked  chan struct{} // closed by SetUsers
}

// Revoked returns a channel that is closed when the credentials are no longer
// accepted, or the user may do something else.
func (a *Account) Revoked() <-chan struct{} { return a.revoked }

// A mark is a hash of credentials, keyed with random bytes of this process:
// neither a password nor a hash that could be attacked offline is kept. (Marks
// never leave the process, so the length extension that HMAC guards against is
// not a concern.)
type mark [sha256.Size]byte

// mark returns the mark of a user, whose name has no colon, and a password.
func (g *generation) mark(user, password string) mark {
	var room [256]byte // spares most calls an allocation
	b := append(room[:0], g.key[:]...)
	b = append(append(append(b, user...), ':'), password...)
	return sha256.Sum256(b)
}

// New returns a Verifier of the users.
func New(users *Users) *Verifier {
	n := runtime.GOMAXPROCS(0)
	v := &Verifier{throttle: newThrottle(), queue: make(chan struct{}, maxWaiting+n), slots: make(chan struct{}, n)}
	v.SetUsers(users)
	return v
}

// SetUsers replaces the users. The credentials of those that are gone, or have another
// line, are forgotten and revoked.
func (v *Verifier) SetUsers(users *Users) {
	v.setting.Lock()
	defer v.setting.Unlock()
	g := &generation{users: users, accounts: make(map[string]*Account), marks: ttlcache.New(
		ttlcache.WithTTL[mark, string](verifiedFor), ttlcache.WithCapacity[mark, string](maxVerified))}
	last := v.current.Load()
	for name := range users.hashes {
		if last != nil && last.users.keep(name, users) {
			g.accounts[name] = last.accounts[name]
		} else {
			g.accounts[name] = &Account{ReadOnly: users.reads[name], revoked: make(chan struct{})}
		}
	}
	if last == nil {
		rand.Read(g.key[:]) // never fails
		v.current.Store(g)
		return
	}
	g.key = last.key
	for key, item := range last.marks.Items() {
		name, left := item.Value(), time.Until(item.ExpiresAt())
		if left > 0 && last.users.keep(name, users) { // without time left it would never expire
			g.marks.Set(key, name, left)
		}
	}
	v.current.Store(g)
	for name, account := range last.accounts {
		if g.accounts[name] != account {
			close(account.revoked)
		}
	}
}

// Check returns the account of the user, nil if the credentials are wrong. remote is
// the address of the client, as in http.Request.RemoteAddr. A positive pause means that
// the credentials were not checked, and how long the client should wait.
func (v *Verifier) Check(remote, user, password string) (account *Account, pause time.Duration) {
	user, password = norm.NFC.String(user), norm.NFC.String(password)
	now := v.current.Load()
	key := now.mark(user, password)
	if now.marks.Has(key) {
		return now.accounts[user], 0
	}
	// No check is shared with the previous users.
	shared, _, _ := now.checks.Do(string(key[:]), func() (any, error) {
		ok, pause := v.verify(now, key, sourceOf(remote), user, password)
		return outcome{ok, pause}, nil
	})
	result := shared.(outcome)
	if !result.ok {
		return nil, result.pause
	}
	return now.accounts[user], 0
}

// An outcome is what Check returns, shared by all who sent the credentials at
// the same time.
type outcome struct {
	ok    bool
	pause time.Duration
}

func (v *Verifier) verify(now *generation, key mark, from netip.Prefix, user, password string) (ok bool, pause time.Duration) {
	if !now.users.cheap {
		select {
		case v.queue <- struct{}{}:
			defer func() { <-v.queue }()
		default:
			return false, busyPause
		}
	}
	if pause := v.throttle.begin(from); pause > 0 {
		return false, pause
	}
	v.slots <- struct{}{}
	defer func() { <-v.slots }()
	if !now.users.verify(user, password) {
		v.throttle.failed(from)
		return false, 0
	}
	v.throttle.succeeded(from)
	now.marks.Set(key, user, ttlcache.DefaultTTL)
	return true, 0
}

// ParseBasic parses an Authorization header of the Basic scheme (RFC 7617
// section 2): the scheme in any case, one or more spaces, and the Base64 of the
// user, a colon and the password, without control characters.
func ParseBasic(values []string) (user, password string, ok bool) {
	if len(values) != 1 {
		return "", "", false
	}
	scheme, rest, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Basic") {
		return "", "", false
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.Trim(rest, " "))
	text := string(decoded)
	if err != nil || strings.ContainsFunc(text, unicode.IsControl) {
		return "", "", false
	}
	return strings.Cut(text, ":")
}
