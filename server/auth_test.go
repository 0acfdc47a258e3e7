package server_test

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/bcrypt"

	"pickup/server"
	"pickup/server/auth"
)

// line returns an htpasswd line whose hash costs next to nothing.
func line(tb testing.TB, user, password string) string {
	tb.Helper()
	h, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		tb.Fatal(err)
	}
	return user + ":" + string(h) + "\n"
}

func usersOf(tb testing.TB, text string) *auth.Users {
	tb.Helper()
	users, err := auth.ParseHtpasswd([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return users
}

const here = "192.0.2.1:4711"

// TestUsers checks that the output of pickup passwd, a line of htpasswd -B and
// the test vector of the argon2 reference program are all accepted.
func TestUsers(t *testing.T) {
	made, err := auth.HashArgon2id("dora", strings.Repeat("lang ", 40))
	if err != nil {
		t.Fatal(err)
	}
	madeToo, err := auth.HashBcrypt("emil", "ü: colon")
	if err != nil {
		t.Fatal(err)
	}
	a := auth.New(usersOf(t, "\uFEFF# the family\n\n"+line(t, "anna", "a b")+
		strings.Replace(line(t, "bert", "x"), "$2a$", "$2y$", 1)+
		"carl:$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4\r\n"+made+"\n"+madeToo))
	for _, c := range []struct {
		user, password string
		ok             bool
	}{
		{user: "anna", password: "a b", ok: true},
		{user: "anna", password: "a  b"},
		{user: "Anna", password: "a b"},
		{user: "bert", password: "x", ok: true},
		{user: "bert", password: "a b"},
		{user: "carl", password: "password", ok: true},
		{user: "carl", password: "Password"},
		{user: "dora", password: strings.Repeat("lang ", 40), ok: true},
		{user: "dora", password: strings.Repeat("lang ", 39)},
		{user: "emil", password: "ü: colon", ok: true},
		{user: "emil", password: "u\u0308: colon", ok: true}, // the same letter, composed of two
		{user: "emil", password: "ü"},
		{user: "fritz", password: "a b"},
		{user: "", password: ""},
	} {
		account, pause := login(a, here, c.user, c.password)
		if account != nil != c.ok || pause != 0 {
			t.Errorf("%q %q: %v, %v", c.user, c.password, account, pause)
		}
	}
}

// TestBcryptLength checks that a password that is right in its first 72 bytes and
// longer is rejected: bcrypt ignores the rest.
func TestBcryptLength(t *testing.T) {
	long := strings.Repeat("7", 72)
	a := auth.New(usersOf(t, line(t, "anna", long)))
	for password, want := range map[string]bool{long: true, long + "8": false, long[:71]: false} {
		if account, _ := login(a, here, "anna", password); account != nil != want {
			t.Errorf("%d bytes: %v", len(password), account)
		}
	}
	if _, err := auth.HashBcrypt("anna", long+"8"); err == nil {
		t.Error("a password of 73 bytes is hashed")
	}
}

func TestBadUsers(t *testing.T) {
	good := line(t, "anna", "x")
	salt, key := "c29tZXNhbHQ", "CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	for text, want := range map[string]string{
		"":                                     "no users",
		"# nobody\n":                           "no users",
		good + "bert":                          "line 2: expected name:hash",
		good + "bert:secret":                   "line 2: a password in plain text",
		good + "bert:sec:read-only":            "line 2: a password in plain text",
		strings.TrimSpace(good) + ":admin":     "line 1: only this may follow the hash: :read-only",
		strings.TrimSpace(good) + ":":          "line 1: only this may follow the hash: :read-only",
		strings.TrimSpace(good) + ":Read-Only": "line 1: only this may follow the hash: :read-only",
		strings.TrimSpace(good) + ":read-only:read-only": "line 1: only this may follow the hash: :read-only",
		"b:$apr1$x$y":                "line 1: Apache's MD5",
		"b:{SHA}x":                   "line 1: SHA-1",
		"b:$6$x$y":                   "line 1: SHA-512 crypt",
		"b:$2x$" + good[9:]:          "line 1: the faulty bcrypt",
		"b:$2a$31$" + good[12:]:      "line 1: the bcrypt cost 31 is above",
		strings.TrimSpace(good)[:50]: "line 1: the bcrypt hash is truncated",
		good[:20] + "!" + good[21:]:  "line 1: the bcrypt hash is truncated or has an invalid character",
		good[:64] + "=" + good[65:]:  "line 1: the bcrypt hash is truncated or has an invalid character",
		good + good:                  "line 2: the user has another line above",
		":" + good:                   "line 1: a user name",
		"a\x01b" + good[4:]:          "line 1: a user name",
		"b:$argon2i$v=19$m=64,t=1,p=1$" + salt + "$" + key:          "line 1: argon2i is not accepted",
		"b:$argon2id$v=16$m=64,t=1,p=1$" + salt + "$" + key:         "expected $argon2id$v=19",
		"b:$argon2id$v=19$m=99999999,t=1,p=1$" + salt + "$" + key:   "m of at most",
		"b:$argon2id$v=19$m=64,t=9999,p=1$" + salt + "$" + key:      "m of at most",
		"b:$argon2id$v=19$m=64,t=1,p=0$" + salt + "$" + key:         "p from 1",
		"b:$argon2id$v=19$m=64,t=1,p=1$" + salt + "$!":              "Base64",
		"b:$argon2id$v=19$m=64,t=1":                                 "expected $argon2id$v=19",
		"b:$argon2id$v=19$m=64,t=1,p=1,data=eA$" + salt + "$" + key: "expected $argon2id$v=19",
	} {
		_, err := auth.ParseHtpasswd([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error contains the password: %v", text, err)
		}
	}
}

func FuzzUsers(f *testing.F) {
	f.Add([]byte(line(f, "anna", "x")))
	f.Add([]byte("b:$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if users, err := auth.ParseHtpasswd(text); (err == nil) != (users != nil) {
			t.Errorf("%v, %v", users, err)
		}
	})
}

// TestThrottle checks that a source has ten attempts and then has to wait, for
// a minute at most, while verified credentials and other sources are served.
func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := auth.New(usersOf(t, line(t, "anna", "x")+line(t, "bert", "y")))
		check := func(remote, user, password string) (bool, time.Duration) {
			account, pause := login(a, remote, user, password)
			return account != nil, pause
		}
		want := func(remote, user, password string, ok bool, pause time.Duration) {
			t.Helper()
			if o, p := check(remote, user, password); o != ok || p != pause {
				t.Errorf("%s %s: %v after %v, want %v after %v", remote, user, o, p, ok, pause)
			}
		}
		want(here, "bert", "y", true, 0)
		for range 11 {
			want(here, "anna", "wrong", false, 0)
		}
		for _, pause := range []int{1, 2, 4, 8, 16, 32, 60, 60, 60} {
			p := time.Duration(pause) * time.Second
			want(here, "anna", "wrong", false, p)
			want(here, "anna", "x", false, p)
			want("192.0.2.1:99", "anna", "x", false, p)
			want(here, "bert", "y", true, 0)
			want("192.0.2.2:4711", "anna", "nearly", false, 0)
			want("192.0.2.2:4711", "anna", "x", true, 0) // and a new beginning there
			a.SetUsers(usersOf(t, line(t, "anna", "x")+line(t, "bert", "y")))
			time.Sleep(p)
			want(here, "anna", "wrong", false, 0)
			want("192.0.2.3:1", "bert", "y", true, 0) // remembered again, from elsewhere
		}
		time.Sleep(time.Minute)
		want(here, "anna", "x", true, 0)
		want(here, "anna", "wrong", false, 0)

		// A customer usually has a whole /64 of IPv6.
		for i := range 11 {
			want(fmt.Sprintf("[2001:db8::%x]:1", i), "anna", "wrong", false, 0)
		}
		want("[2001:db8::ffff]:1", "anna", "wrong", false, time.Second)
		want("[2001:db8:0:1::1]:1", "anna", "wrong", false, 0)
		want("[::ffff:192.0.2.1]:5", "anna", "x", true, 0)
	})
}

// TestThrottleElsewhere guesses the password of a user who is logged in. From another address
// the right one passes at the end of a pause only, as a wrong one is checked then only.
func TestThrottleElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := auth.New(usersOf(t, line(t, "anna", "x")))
		const guesser = "192.0.2.66:1"
		if account, _ := login(a, here, "anna", "x"); account == nil {
			t.Fatal("the right password is refused")
		}
		for i := range 11 {
			login(a, guesser, "anna", fmt.Sprint(i))
		}
		for _, password := range []string{"wrong", "x", "wrong", "x"} {
			if account, pause := login(a, guesser, "anna", password); account != nil || pause != time.Second {
				t.Errorf("%q during a pause: %v, %v", password, account, pause)
			}
		}
		if account, _ := login(a, here, "anna", "x"); account == nil {
			t.Error("the user has to wait for a guesser elsewhere")
		}
		time.Sleep(time.Second)
		if account, pause := login(a, guesser, "anna", "x"); account == nil {
			t.Errorf("after the pause: %v", pause)
		}
	})
}

// TestThrottleOwnAccount guesses the password of another user, and logs in to an account of the
// guesser's own in between, with the header spelled in many ways.
func TestThrottleOwnAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := auth.New(usersOf(t, line(t, "anna", "x")+line(t, "bert", "y")))
		checked := 0
		for i := range 320 {
			if account, pause := login(a, here, "anna", fmt.Sprint("guess", i)); account == nil && pause == 0 {
				checked++
			}
			scheme := []byte("basic")
			for bit := range scheme {
				scheme[bit] -= byte(i>>bit&1) << 5
			}
			own := string(scheme) + " " + base64.StdEncoding.EncodeToString([]byte("bert:y"))
			if account, pause, err := a.Check(here, own); account == nil {
				t.Fatalf("%s: %v, %v", scheme, pause, err)
			}
		}
		if checked != 11 {
			t.Errorf("%d guesses are checked, want 11", checked)
		}
	})
}

// TestThrottleNames guesses with other user names each time: after a hundred failures an address
// has to wait, except for those who logged in there before.
func TestThrottleNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := auth.New(usersOf(t, line(t, "anna", "x")+line(t, "bert", "y")))
		login(a, here, "anna", "x")
		for i := range 101 {
			if _, pause := login(a, here, fmt.Sprint("user", i), "wrong"); pause > 0 {
				t.Fatalf("name %d has to wait %v", i, pause)
			}
		}
		for name, want := range map[string]time.Duration{"user101": time.Second, "bert": time.Second, "anna": 0} {
			if account, pause := login(a, here, name, map[string]string{"anna": "x", "bert": "y"}[name]); pause != want {
				t.Errorf("%s: %v, %v", name, account, pause)
			}
		}
	})
}

// TestThrottleGuesses sends two hundred guesses at once: no more are checked than one by one.
func TestThrottleGuesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := auth.New(usersOf(t, line(t, "anna", "x")))
		_, wrong, paused := atOnce(t, a, 200, func(int) string { return here }, func(i int) string { return fmt.Sprint(i) })
		if wrong > 11 || paused < 189 {
			t.Errorf("%d guesses are checked, %d not", wrong, paused)
		}
	})
}

// TestThrottleOffice has many people behind one address for eight hours. Each has a mistyped
// password or two now and then. For an hour somebody guesses the password of one of them.
func TestThrottleOffice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const people = 60
		var text strings.Builder
		for i := range people {
			text.WriteString(line(t, fmt.Sprint("user", i), "x"))
		}
		a := auth.New(usersOf(t, text.String()))
		for minute := range 8 * 60 {
			name := fmt.Sprint("user", minute%people)
			if minute < 60 {
				login(a, here, "user0", fmt.Sprint("guess", minute))
			}
			for _, password := range []string{"mistyped", "mistyped again", "x", "x"}[minute%3:] {
				account, pause := login(a, here, name, password)
				if name != "user0" && ((account != nil) != (password == "x") || pause > 0) {
					t.Fatalf("minute %d: %s with %q: %v after %v", minute, name, password, account, pause)
				}
			}
			time.Sleep(time.Minute)
		}
	})
}

// TestTwoCredentials sends two Authorization headers. They are malformed, and not attempts to
// log in.
func TestTwoCredentials(t *testing.T) {
	_, h := open(t, `{"posts":[]}`, server.Options{Auth: single("ruth", "secret")})
	status := func(passwords ...string) int {
		r := httptest.NewRequest("GET", "/posts", nil)
		for _, p := range passwords {
			r.Header.Add("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("ruth:"+p)))
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	for range 30 {
		if got := status("wrong", "secret"); got != 401 {
			t.Fatal(got)
		}
	}
	if got := status("secret"); got != 200 {
		t.Errorf("%d after headers that were malformed", got)
	}
}

// TestRemember checks that verified credentials are remembered for five minutes,
// or until the line of their user changes.
func TestRemember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		anna := line(t, "anna", "x")
		a := auth.New(usersOf(t, anna))
		throttled := func() {
			for range 20 {
				login(a, here, "anna", "wrong")
			}
		}
		if account, _ := login(a, here, "anna", "x"); account == nil {
			t.Fatal("the right password is refused")
		}
		time.Sleep(5*time.Minute - time.Second)
		a.SetUsers(usersOf(t, line(t, "bert", "y")+anna))
		throttled() // what passes now is remembered
		if account, _ := login(a, here, "anna", "x"); account == nil {
			t.Error("forgotten too early")
		}
		time.Sleep(time.Second + 1)
		throttled()
		if account, pause := login(a, here, "anna", "x"); account != nil || pause == 0 {
			t.Error("remembered for too long")
		}
		time.Sleep(time.Hour)
		if account, _ := login(a, here, "anna", "x"); account == nil || account.ReadOnly {
			t.Fatalf("the right password: %v", account)
		}
		a.SetUsers(usersOf(t, strings.TrimSpace(anna)+":read-only\n"))
		throttled()
		if account, _ := login(a, here, "anna", "x"); account != nil {
			t.Error("remembered although the line has changed")
		}
		time.Sleep(time.Minute)
		if account, _ := login(a, here, "anna", "x"); account == nil || !account.ReadOnly {
			t.Errorf("a user who may only read: %v", account)
		}
		throttled()
		a.SetUsers(usersOf(t, line(t, "anna", "new")))
		time.Sleep(time.Minute)
		if account, _ := login(a, here, "anna", "x"); account != nil {
			t.Error("the former password passes")
		}
		time.Sleep(time.Minute)
		if account, _ := login(a, here, "anna", "new"); account == nil {
			t.Error("the new password is refused")
		}
	})
}

// TestAtOnce checks that the password of 200 clients that begin at once is
// hashed once and accepted, and that most of 200 wrong guesses are not hashed.
func TestAtOnce(t *testing.T) {
	h, err := auth.HashArgon2id("anna", "x")
	if err != nil {
		t.Fatal(err)
	}
	a := auth.New(usersOf(t, h))
	apart := func(i int) string { return fmt.Sprintf("10.0.%d.1:1", i) }
	if right, wrong, paused := atOnce(t, a, 200, apart, func(int) string { return "x" }); right != 200 {
		t.Errorf("the right password: %d right, %d wrong, %d paused", right, wrong, paused)
	}
	right, wrong, paused := atOnce(t, a, 200, apart, func(i int) string { return fmt.Sprint(i) })
	if right > 0 || paused < 100 || wrong == 0 {
		t.Errorf("guesses: %d right, %d wrong, %d paused", right, wrong, paused)
	}
}

// TestThrottleAtOnce checks that a source that has failed too often has one attempt
// at the end of each pause, even if it sends many at once, and that several
// concurrent requests with the right password from there are served.
func TestThrottleAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, users := range map[string]*auth.Users{"bcrypt": usersOf(t, line(t, "anna", "x")), "one": one(t, "anna", "x")} {
			a := auth.New(users)
			together := func(int) string { return here }
			for range 20 {
				login(a, here, "anna", "wrong")
				time.Sleep(time.Minute)
			}
			for range 5 {
				if _, wrong, _ := atOnce(t, a, 50, together, func(i int) string { return fmt.Sprint(i) }); wrong != 1 {
					t.Errorf("%s: %d guesses at once are looked at", name, wrong)
				}
				time.Sleep(time.Minute)
			}
			if right, wrong, paused := atOnce(t, a, 50, together, func(int) string { return "x" }); right != 50 {
				t.Errorf("%s: the right password: %d right, %d wrong, %d paused", name, right, wrong, paused)
			}
		}
	})
}

// TestFirstLogins checks that fifty users who log in at once from one address are all
// served.
func TestFirstLogins(t *testing.T) {
	var text strings.Builder
	for i := range 50 {
		text.WriteString(line(t, fmt.Sprint("user", i), "x"))
	}
	a := auth.New(usersOf(t, text.String()))
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if account, pause := login(a, here, fmt.Sprint("user", i), "x"); account == nil {
				t.Errorf("user %d: refused, with a pause of %v", i, pause)
			}
		})
	}
	wg.Wait()
}

// TestRevoke checks that credentials are revoked when the line of their user changes or
// goes, and only then.
func TestRevoke(t *testing.T) {
	anna, bert, carl := line(t, "anna", "x"), line(t, "bert", "y"), line(t, "carl", "z")
	a := auth.New(usersOf(t, anna+bert+carl))
	open := make(map[string]<-chan struct{})
	for user, password := range map[string]string{"anna": "x", "bert": "y", "carl": "z"} {
		account, _ := login(a, here, user, password)
		open[user] = account.Revoked()
	}
	for i, step := range []struct {
		users   string
		revoked []string
	}{
		{users: carl + anna + bert},
		{users: anna + line(t, "bert", "new") + carl, revoked: []string{"bert"}},
		{users: anna + bert, revoked: []string{"bert", "carl"}},
		{users: line(t, "dora", "x"), revoked: []string{"anna", "bert", "carl"}},
	} {
		a.SetUsers(usersOf(t, step.users))
		for user, revoked := range open {
			got := false
			select {
			case <-revoked:
				got = true
			default:
			}
			if got != slices.Contains(step.revoked, user) {
				t.Errorf("step %d: %s: %v", i, user, got)
			}
		}
	}
}

// atOnce counts how n checks of anna end that run at the same time.
func atOnce(t *testing.T, a *auth.Verifier, n int, from, password func(i int) string) (right, wrong, paused int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			account, pause := login(a, from(i), "anna", password(i))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case account != nil:
				right++
			case pause > 0:
				paused++
			default:
				wrong++
			}
		})
	}
	wg.Wait()
	return
}

func one(t *testing.T, user, password string) *auth.Users {
	u, err := auth.SingleUser(user, password)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestThrottleHTTP checks that a pause is 429 with Retry-After and that a request
// without credentials does not count as a failure.
func TestThrottleHTTP(t *testing.T) {
	_, h := open(t, `{"posts":[]}`, server.Options{Auth: single("anna", "x")})
	send := func(user, password string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest("GET", "/posts", nil), httptest.NewRecorder()
		if user != "" {
			r.SetBasicAuth(user, password)
		}
		h.ServeHTTP(w, r)
		return w
	}
	for range 50 {
		if w := send("", ""); w.Code != 401 {
			t.Fatal(w.Code)
		}
	}
	for range 11 {
		if w := send("anna", "y"); w.Code != 401 {
			t.Fatal(w.Code)
		}
	}
	w := send("anna", "x")
	if w.Code != 429 || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), "Too many attempts") {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if w := send("", ""); w.Code != 401 {
		t.Error(w.Code)
	}
}

// TestUnauthenticatedBody checks that a client without credentials gets its answer
// before it has sent its body, and that the connection is closed.
func TestUnauthenticatedBody(t *testing.T) {
	_, h := open(t, `{"posts":[]}`, server.Options{Auth: single("anna", "x")})
	s := httptest.NewServer(h)
	defer s.Close()
	right := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("anna:x")) + "\r\n"
	for _, c := range []struct {
		head, body string
		status     int
		closed     bool
	}{
		{head: "POST /posts HTTP/1.1\r\nContent-Length: 2\r\n", status: 401, closed: true},
		{head: "POST /posts HTTP/1.1\r\nTransfer-Encoding: chunked\r\n", status: 401, closed: true},
		{head: "POST /posts HTTP/1.1\r\nContent-Length: 2\r\nAuthorization: Basic eDp5\r\n", status: 401, closed: true},
		{head: "POST /posts HTTP/1.1\r\nContent-Length: 2\r\nOrigin: https://evil.example\r\n" + right, status: 403, closed: true},
		{head: "GET /_/livez HTTP/1.1\r\nContent-Length: 2\r\n", status: 200, closed: true},
		{head: "GET /_/livez HTTP/1.1\r\n", status: 200},
		{head: "POST /posts HTTP/1.1\r\nContent-Length: 2\r\n" + right, body: "{}", status: 201},
	} {
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := fmt.Fprintf(conn, "%sHost: localhost\r\n\r\n%s", c.head, c.body); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Errorf("%q: %v", c.head, err)
			continue
		}
		if resp.StatusCode != c.status || resp.Close != c.closed {
			t.Errorf("%q: %s, close %v", c.head, resp.Status, resp.Close)
		}
	}
}

// login checks the credentials of a user from a remote address.
func login(v *auth.Verifier, remote, user, password string) (*auth.Account, time.Duration) {
	account, pause, err := v.Check(remote, "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	if err != nil {
		panic(err) // of this test's own making
	}
	return account, pause
}
