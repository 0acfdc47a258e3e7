package auth

import (
	"encoding/base64"
	"net/netip"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"golang.org/x/sync/singleflight"
	"golang.org/x/text/unicode/norm"
)

// maxWaiting is the number of checks that may wait for a processor.
const maxWaiting = 16

// busyPause is how long a client is asked to wait when the queue is full.
const busyPause = time.Second

// A Verifier decides who may use a service. It may be used by several
// goroutines at once, and by several servers.
//
// A password is hashed once: credentials that were right are remembered for five
// minutes. No more checks run at once than there are processors. A source that
// keeps failing has to pause, for up to a minute; remembered credentials pass
// meanwhile.
type Verifier struct {
	current  atomic.Pointer[generation]
	throttle *throttle
	checks   singleflight.Group // by mark: equal credentials share one check
	queue    chan struct{}      // one for each check that waits or runs
	slots    chan struct{}      // one for each check that runs
}

// A generation is a set of users, and the credentials that it has verified.
type generation struct {
	users    *Users
	verified *verifiedCache
}

// New returns a Verifier of the users.
func New(users *Users) *Verifier {
	n := runtime.GOMAXPROCS(0)
	v := &Verifier{throttle: newThrottle(), queue: make(chan struct{}, maxWaiting+n), slots: make(chan struct{}, n)}
	v.SetUsers(users)
	return v
}

// SetUsers replaces the users and forgets the credentials of the previous ones.
func (v *Verifier) SetUsers(users *Users) {
	v.current.Store(&generation{users, newVerifiedCache()})
}

// Check reports whether the credentials are right. remote is the address of the
// client, as in http.Request.RemoteAddr. A positive pause means that the
// credentials were not checked, and how long the client should wait.
func (v *Verifier) Check(remote, user, password string) (ok bool, pause time.Duration) {
	user, password = norm.NFC.String(user), norm.NFC.String(password)
	now := v.current.Load()
	key := now.verified.mark(user, password)
	if now.verified.has(key) {
		return true, 0
	}
	// The mark depends on a key of this generation, so no check is shared with
	// the previous users.
	shared, _, _ := v.checks.Do(string(key[:]), func() (any, error) {
		ok, pause := v.verify(now, key, sourceOf(remote), user, password)
		return outcome{ok, pause}, nil
	})
	result := shared.(outcome)
	return result.ok, result.pause
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
	now.verified.add(key)
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
