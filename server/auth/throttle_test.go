package auth

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestThrottleRight has many users of one source, such as a proxy, who all sign in at once:
// right credentials are no failures. Wrong ones are, and the source has to wait then.
func TestThrottleRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = maxWaiting
		var file strings.Builder
		for i := range n {
			file.WriteString(bcryptLine(t, fmt.Sprintf("user%d", i)))
		}
		users, err := ParseHtpasswd([]byte(file.String()))
		if err != nil {
			t.Fatal(err)
		}
		v := New(users)
		login := func(user, password string) (*Account, time.Duration) {
			account, pause, err := v.Check("192.0.2.1:80", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
			if err != nil {
				t.Error(err)
			}
			return account, pause
		}
		for range cap(v.slots) { // all are checked at the same time
			v.slots <- struct{}{}
		}
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				name := fmt.Sprintf("user%d", i)
				if account, pause := login(name, strings.Repeat(name, 3)); account == nil {
					t.Errorf("%s with the right password has to wait %v", name, pause)
				}
			})
		}
		synctest.Wait()
		for range cap(v.slots) {
			<-v.slots
		}
		all.Wait()
		paused := time.Duration(0)
		for i := range freeFailures + 2 {
			_, paused = login("user1", fmt.Sprint("wrong", i))
		}
		if paused <= 0 {
			t.Errorf("%d wrong passwords are checked", freeFailures+2)
		}
	})
}

// TestThrottleFlood sends many user names during the pause of a source: they displace no tally,
// so the source has to wait on.
func TestThrottleFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		throttle := newThrottle()
		guesser, other := sourceOf("192.0.2.1:1"), sourceOf("192.0.2.2:1")
		for i := range freeOfSource + 1 {
			for _, from := range []netip.Prefix{guesser, other} {
				a, pause := throttle.start(from, mark{byte(i)})
				if pause > 0 {
					t.Fatalf("attempt %d has to wait %v", i, pause)
				}
				throttle.end(a, errWrong)
			}
		}
		for i := range 2 * maxTallies {
			if _, pause := throttle.start(guesser, mark{1, byte(i), byte(i >> 8), byte(i >> 16)}); pause == 0 {
				t.Fatalf("name %d is checked", i)
			}
		}
		if _, pause := throttle.start(other, mark{}); pause == 0 {
			t.Error("the tally of another source was displaced")
		}
	})
}

// TestHashes counts how often a password is hashed: once for each that is not remembered, and
// not for one that is, wherever it comes from.
func TestHashes(t *testing.T) {
	users, err := ParseHtpasswd([]byte(bcryptLine(t, "anna")))
	if err != nil {
		t.Fatal(err)
	}
	hashed := 0
	right := users.byName["anna"].hash
	users.byName["anna"].hash = func(password string) bool {
		hashed++
		return right(password)
	}
	v := New(users)
	for i, c := range []struct {
		remote, scheme, password string
		hashed                   int
	}{
		{remote: "192.0.2.1:1", scheme: "Basic", password: "annaannaanna", hashed: 1},
		{remote: "192.0.2.1:2", scheme: "Basic", password: "annaannaanna", hashed: 1},
		{remote: "192.0.2.1:3", scheme: "basic", password: "annaannaanna", hashed: 1},
		{remote: "192.0.2.2:1", scheme: "BASIC", password: "annaannaanna", hashed: 1},
		{remote: "192.0.2.2:1", scheme: "Basic", password: "wrong", hashed: 2},
		{remote: "192.0.2.2:1", scheme: "Basic", password: "annaannaanna", hashed: 2},
	} {
		header := c.scheme + " " + base64.StdEncoding.EncodeToString([]byte("anna:"+c.password))
		account, pause, err := v.Check(c.remote, header)
		if (account != nil) != (c.password != "wrong") || pause > 0 || err != nil || hashed != c.hashed {
			t.Errorf("step %d: %v, %v, %v after %d hashes, want %d", i, account, pause, err, hashed, c.hashed)
		}
	}
}
