package server

import (
	"context"
	"encoding/base64"
	"runtime"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/gin-gonic/gin"
	"golang.org/x/text/unicode/norm"
)

// maxWaiting is how many checks may wait for a processor.
const maxWaiting = 16

// busyPause is what a client is told to wait when more checks than that wait.
const busyPause = time.Second

// An Auth decides who may use a service. It may be used by several goroutines
// at once, and by several Handlers.
//
// The price of a password's hash is paid once: credentials that were right are
// remembered for five minutes, as a keyed hash. No more checks run at a time
// than there are processors, and a source that keeps failing has to pause, up
// to a minute; what is remembered passes meanwhile.
type Auth struct {
	throttle throttle
	slots    chan struct{} // one for each check that runs

	mu      sync.Mutex
	users   *Users           // guarded by mu
	memory  *memory          // guarded by mu; of users
	running map[mark]*flight // guarded by mu
	waiting int              // guarded by mu; checks that have no slot yet
}

// A flight is a check that runs. Who comes with the same credentials meanwhile
// waits for its outcome.
type flight struct {
	done chan struct{}
	ok   bool // to be read when done is closed
	busy bool // it did not run, there were too many
}

// NewAuth returns an Auth that lets users in.
func NewAuth(users *Users) *Auth {
	a := &Auth{slots: make(chan struct{}, runtime.GOMAXPROCS(0)), running: make(map[mark]*flight)}
	a.SetUsers(users)
	return a
}

// SetUsers replaces the users. What was remembered of the former ones is
// forgotten.
func (a *Auth) SetUsers(users *Users) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.users, a.memory, a.running = users, newMemory(), make(map[mark]*flight)
}

// Check reports whether the credentials are good. remote is the address that
// they come from, as in http.Request.RemoteAddr. A pause that is not 0 says that
// they were not looked at, and how long the client does well to wait.
func (a *Auth) Check(ctx context.Context, remote, user, password string) (ok bool, pause time.Duration) {
	user, password = norm.NFC.String(user), norm.NFC.String(password)
	a.mu.Lock()
	users, memory := a.users, a.memory
	a.mu.Unlock()
	key, from := memory.mark(user, password), sourceOf(remote)
	if memory.knows(key) {
		return true, 0
	}
	if pause := a.throttle.wait(from); pause > 0 {
		return false, pause
	}
	if users.cheap {
		ok = users.verify(user, password)
	} else {
		f := a.fly(ctx, users, memory, key, user, password)
		if f == nil || f.busy {
			return false, busyPause
		}
		ok = f.ok
	}
	if !ok {
		a.throttle.failed(from)
		return false, 0
	}
	a.throttle.succeeded(from)
	memory.remember(key)
	return true, 0
}

// fly returns the outcome of a check, its own or that of one which runs for the
// same credentials; nil where ctx has ended first.
func (a *Auth) fly(ctx context.Context, users *Users, memory *memory, key mark, user, password string) *flight {
	a.mu.Lock()
	if f := a.running[key]; f != nil {
		a.mu.Unlock()
		select {
		case <-f.done:
			return f
		case <-ctx.Done():
			return nil
		}
	}
	f := &flight{done: make(chan struct{})}
	defer close(f.done)
	if a.waiting >= maxWaiting+cap(a.slots) {
		a.mu.Unlock()
		f.busy = true
		return f
	}
	a.waiting++
	current := a.memory == memory // else a key of former users would stay
	if current {
		a.running[key] = f
	}
	a.mu.Unlock()

	// The check is made whatever becomes of ctx: others may wait for it.
	a.slots <- struct{}{}
	f.ok = users.verify(user, password)
	<-a.slots

	a.mu.Lock()
	a.waiting--
	if a.running[key] == f {
		delete(a.running, key)
	}
	a.mu.Unlock()
	return f
}

// authenticate asks for credentials (RFC 7617) before anything else is read.
// Preflights have been answered by now; livez and readyz need
// none, but what readyz tells at length is about the contents.
func (s *server) authenticate(c *gin.Context) {
	switch path := strings.TrimSuffix(c.Request.URL.EscapedPath(), "/"); {
	case s.Auth == nil, path == livezPath, path == readyzPath && !verbose(c.Request):
		return
	}
	values := c.Request.Header["Authorization"]
	if len(values) == 0 {
		s.fail(c, noCredentials("The service asks for a user and a password (HTTP Basic)."))
		return
	}
	user, password, ok := basic(values)
	if !ok {
		s.fail(c, noCredentials("The Authorization header has to be Basic and the Base64 of user:password."))
		return
	}
	switch ok, pause := s.Auth.Check(c.Request.Context(), c.Request.RemoteAddr, user, password); {
	case pause > 0:
		s.fail(c, tooManyFailures(pause))
	case !ok:
		s.fail(c, noCredentials("The user or the password is wrong."))
	}
}

// basic reads credentials as RFC 7617 section 2 has them: the scheme in any
// case, one or more spaces, the user up to the first colon, and no control
// characters.
func basic(values []string) (user, password string, ok bool) {
	if len(values) != 1 {
		return "", "", false
	}
	scheme, rest, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Basic") {
		return "", "", false
	}
	text, err := base64.StdEncoding.DecodeString(strings.Trim(rest, " "))
	if err != nil || strings.ContainsFunc(string(text), unicode.IsControl) {
		return "", "", false
	}
	return strings.Cut(string(text), ":")
}
