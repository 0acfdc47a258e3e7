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
			if os.Getenv("PICKUP_LONG") != "" {
				c.n *= 10
			}
			testTiming(t, c.line(t, "anna")+c.line(t, "bert"), c.n)
		})
	}
}

func testTiming(t *testing.T, text string, n int) {
	users, err := ParseHtpasswd([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var usual time.Duration // the median of known users
	tell := func(verify func(user, password string) bool) float64 {
		var times []time.Duration
		longer := 0 // pairs in which the known user took longer
		for i := range n {
			var took [2]time.Duration // of the known user, of the unknown
			first := rand.IntN(2)
			for _, which := range []int{first, 1 - first} {
				start := time.Now()
				if verify([]string{"anna", "otto"}[which], fmt.Sprintf("wrong%08d", i)) {
					t.Fatal("a wrong password passes")
				}
				took[which] = time.Since(start)
			}
			if took[0] > took[1] {
				longer++
			}
			times = append(times, took[0])
		}
		slices.Sort(times)
		usual = times[n/2]
		return (float64(longer) - float64(n)/2) / (math.Sqrt(float64(n)) / 2)
	}
	// Another process may disturb one measurement, not three in a row.
	var v float64
	for range 3 {
		if v = tell(users.verify); math.Abs(v) < 4.5 {
			break
		}
	}
	t.Logf("%.2f standard deviations in %d pairs of %v", v, n, usual)
	if math.Abs(v) >= 4.5 {
		t.Errorf("unknown users can be told from known ones: %.1f", v)
	}
	// The measurement must detect even a small difference.
	careless := func(user, password string) bool {
		known := users.byName[user]
		return known != nil && known.hash(password)
	}
	if v := tell(careless); math.Abs(v) < 4.5 {
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
		if v = tell(slower); math.Abs(v) >= 4.5 {
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
