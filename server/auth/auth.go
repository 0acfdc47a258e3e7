package auth

import (
	"context"
	"encoding/base64"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxWaiting is how many checks may wait for a processor.
const maxWaiting = 16

// busyPause is what a client is told to wait when more checks than that wait.
const busyPause = time.Second

// An Verifier decides who may use a service. It may be used by several goroutines
// at once, and by several Handlers.
//
// The price of a password's hash is paid once: credentials that were right are
// remembered for five minutes, as a keyed hash. No more checks run at a time
// than there are processors, and a source that keeps failing has to pause, up
// to a minute; what is remembered passes meanwhile.
type Verifier struct {
	throttle throttle
	slots    chan struct{} // one for each check that runs

	mu      sync.Mutex
	users   *Users           // guarded by mu
	memory  *memory          // guarded by mu; of users
	running map[mark]*flight // guarded by mu
	waiting int              // guarded by mu; checks that have not ended
}

// A flight is a check that runs. Who comes with the same credentials meanwhile
// waits for its outcome.
type flight struct {
	done chan struct{}
	ok   bool // to be read when done is closed
}

// New returns an Auth that lets users in.
func New(users *Users) *Verifier {
	a := &Verifier{slots: make(chan struct{}, runtime.GOMAXPROCS(0)), running: make(map[mark]*flight)}
	a.SetUsers(users)
	return a
}

// SetUsers replaces the users. What was remembered of the former ones is
// forgotten.
func (a *Verifier) SetUsers(users *Users) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.users, a.memory, a.running = users, newMemory(), make(map[mark]*flight)
}

// Check reports whether the credentials are good. remote is the address that
// they come from, as in http.Request.RemoteAddr. A pause that is not 0 says that
// they were not looked at, and how long the client does well to wait.
func (a *Verifier) Check(ctx context.Context, remote, user, password string) (ok bool, pause time.Duration) {
	user, password = norm.NFC.String(user), norm.NFC.String(password)
	a.mu.Lock()
	users, memory := a.users, a.memory
	a.mu.Unlock()
	key := memory.mark(user, password)
	if memory.knows(key) {
		return true, 0
	}
	from := sourceOf(remote)
	f, first, pause := a.flight(users, memory, key, from)
	if pause > 0 {
		return false, pause
	}
	if first {
		// The check is made whatever becomes of ctx: others may wait for it.
		a.slots <- struct{}{}
		f.ok = users.verify(user, password)
		<-a.slots
		if f.ok {
			a.throttle.succeeded(from)
			memory.remember(key)
		} else {
			a.throttle.failed(from)
		}
		a.land(f, key)
	}
	select {
	case <-f.done:
		return f.ok, 0
	case <-ctx.Done():
		return false, busyPause
	}
}

// flight returns the check that runs for these credentials. Where it is the
// first of them the caller makes the check and lets it land; a pause says that
// none is made.
func (a *Verifier) flight(users *Users, memory *memory, key mark, from netip.Prefix) (f *flight, first bool, pause time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f := a.running[key]; f != nil {
		return f, false, 0
	}
	if a.waiting >= maxWaiting+cap(a.slots) && !users.cheap {
		return nil, false, busyPause
	}
	if pause := a.throttle.begin(from); pause > 0 {
		return nil, false, pause
	}
	f = &flight{done: make(chan struct{})}
	a.waiting++
	if a.memory == memory { // else a key of former users would stay
		a.running[key] = f
	}
	return f, true, 0
}

// land tells the outcome of a check to those who wait for it.
func (a *Verifier) land(f *flight, key mark) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting--
	if a.running[key] == f {
		delete(a.running, key)
	}
	close(f.done)
}

// ParseBasic reads credentials as RFC 7617 section 2 has them: the scheme in any
// case, one or more spaces, the user up to the first colon, and no control
// characters.
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
