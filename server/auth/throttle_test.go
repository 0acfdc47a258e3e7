package auth

import (
	"encoding/base64"
	"fmt"
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
