package auth

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"
)

// TestTiming checks that rejecting a wrong password of an existing user takes as
// long as rejecting any password of an unknown one. Both are checked in pairs, in
// random order, and a sign test counts which of a pair took longer: a busy machine
// slows down both or one of them at random, whereas it would distort means and
// variances. Beyond 4.5 standard deviations the two differ.
func TestTiming(t *testing.T) {
	for _, c := range []struct {
		name string
		line func(t *testing.T, user string) string
		n    int // pairs
	}{
		{name: "argon2id", line: argonLine, n: 1500},
		{name: "bcrypt", line: bcryptLine, n: 300},
	} {
		t.Run(c.name, func(t *testing.T) {
			patience := 5 * time.Second
			if os.Getenv("PICKUP_LONG") != "" {
				c.n, patience = c.n*10, 10*patience
			}
			testTiming(t, c.line(t, "anna")+c.line(t, "bert"), c.n, patience)
		})
	}
}

// enoughPairs are so many that a difference in nearly all of them is found.
const enoughPairs = 30

func testTiming(t *testing.T, text string, n int, patience time.Duration) {
	users, err := ParseHtpasswd([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var usual time.Duration // the median of known users
	pairs := 0              // of the latest measurement
	// A measurement ends early if the two differ, or with enough pairs to tell when time is up:
	// with the race detector, bcrypt takes a hundred times as long.
	tell := func(verify func(user, password string) bool, limit time.Duration) (v float64) {
		var times []time.Duration
		longer := 0 // pairs in which the known user took longer
		begin := time.Now()
		for pairs = 0; pairs < n && (pairs < enoughPairs || math.Abs(v) < 4.5 && time.Since(begin) < limit); {
			var took [2]time.Duration // of the known user, of the unknown
			first := rand.IntN(2)
			for _, which := range []int{first, 1 - first} {
				start := time.Now()
				if verify([]string{"anna", "otto"}[which], fmt.Sprintf("wrong%08d", pairs)) {
					t.Fatal("a wrong password passes")
				}
				took[which] = time.Since(start)
			}
			if took[0] > took[1] {
				longer++
			}
			times = append(times, took[0])
			pairs++
			v = (float64(longer) - float64(pairs)/2) / (math.Sqrt(float64(pairs)) / 2)
		}
		slices.Sort(times)
		usual = times[pairs/2]
		return v
	}
	// Another process may disturb one measurement, not three in a row.
	var v float64
	for range 3 {
		if v = tell(users.verify, patience); math.Abs(v) < 4.5 {
			break
		}
	}
	t.Logf("%.2f standard deviations in %d pairs of %v", v, pairs, usual)
	if math.Abs(v) >= 4.5 {
		t.Errorf("unknown users can be told from known ones: %.1f", v)
	}
	// The measurement must detect even a small difference.
	careless := func(user, password string) bool {
		known := users.byName[user]
		return known != nil && known.hash(password)
	}
	if v := tell(careless, time.Hour); math.Abs(v) < 4.5 {
		t.Errorf("a check that leaves out unknown users is not found: %.1f", v)
	}
	more := usual / 5
	slower := func(user, password string) bool {
		ok := users.verify(user, password)
		for start := time.Now(); user == "otto" && time.Since(start) < more; {
		}
		return ok
	}
	for range 3 { // nor may it hide three differences in a row
		if v = tell(slower, time.Hour); math.Abs(v) >= 4.5 {
			break
		}
	}
	if math.Abs(v) < 4.5 {
		t.Errorf("a fifth more for unknown users is not found: %.1f", v)
	}
}

func argonLine(t *testing.T, user string) string {
	key := argon2.IDKey([]byte(user), []byte("saltsalt"), 1, 64, 1, 32)
	b64 := base64.RawStdEncoding.EncodeToString
	return user + ":$argon2id$v=19$m=64,t=1,p=1$" + b64([]byte("saltsalt")) + "$" + b64(key) + "\n"
}

func bcryptLine(t *testing.T, user string) string {
	h, err := bcrypt.GenerateFromPassword([]byte(strings.Repeat(user, 3)), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return user + ":" + string(h) + "\n"
}
