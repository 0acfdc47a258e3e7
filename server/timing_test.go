package server

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

// A wrong password of a user that exists and any password of one that does not
// take the same time. The measurement is that of dudect (Reparaz, Balasch,
// Verbauwhede 2017): both kinds in random order, the slow tail cut off, Welch's
// t; beyond 4.5 they can be told apart.
func TestTiming(t *testing.T) {
	for _, c := range []struct {
		name string
		line func(t *testing.T, user string) string
		n    int // checks of each kind
	}{{"argon2id", argonLine, 3000}, {"bcrypt", bcryptLine, 100}} {
		t.Run(c.name, func(t *testing.T) {
			if os.Getenv("PICKUP_LONG") != "" {
				c.n *= 10
			}
			testTiming(t, c.line(t, "anna")+c.line(t, "bert"), c.n)
		})
	}
}

func testTiming(t *testing.T, text string, n int) {
	users, err := ParseUsers([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	tell := func(verify func(user, password string) bool) float64 {
		var known, unknown []float64
		for i := range 2 * n {
			user, times := "anna", &known
			if rand.IntN(2) == 0 {
				user, times = "otto", &unknown
			}
			password := fmt.Sprintf("wrong%08d", i)
			start := time.Now()
			if verify(user, password) {
				t.Fatal("a wrong password passes")
			}
			*times = append(*times, float64(time.Since(start)))
		}
		return welch(crop(known), crop(unknown))
	}
	// Another process may disturb one measurement, not three in a row.
	var v float64
	for range 3 {
		if v = tell(users.verify); math.Abs(v) < 4.5 {
			break
		}
	}
	t.Logf("t = %.2f of %d checks", v, 2*n)
	if math.Abs(v) >= 4.5 {
		t.Errorf("unknown users can be told from known ones: t = %.1f", v)
	}
	// The measurement must be able to tell what differs.
	careless := func(user, password string) bool {
		h, ok := users.hashes[user]
		return ok && h.matches(password)
	}
	if v := tell(careless); math.Abs(v) < 4.5 {
		t.Errorf("a check that leaves out unknown users is not found: t = %.1f", v)
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

// crop leaves out the slowest tenth, which the scheduler makes.
func crop(x []float64) []float64 {
	slices.Sort(x)
	return x[:len(x)*9/10]
}

func welch(a, b []float64) float64 {
	ma, va := moments(a)
	mb, vb := moments(b)
	return (ma - mb) / math.Sqrt(va/float64(len(a))+vb/float64(len(b)))
}

func moments(x []float64) (mean, variance float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x)-1)
	}
	return mean, variance
}
