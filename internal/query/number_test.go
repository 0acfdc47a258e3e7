package query

import (
	"bytes"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// TestNumbers compares the order and equality of numbers with exact fractions.
func TestNumbers(t *testing.T) {
	rnd := rand.New(rand.NewPCG(rand.Uint64(), 0))
	spell := func() string {
		var b strings.Builder
		if rnd.IntN(2) == 0 {
			b.WriteByte('-')
		}
		digits := func(n int) {
			for range n {
				b.WriteByte("0012999"[rnd.IntN(7)])
			}
		}
		if rnd.IntN(3) == 0 {
			b.WriteByte('0')
		} else {
			b.WriteByte("19"[rnd.IntN(2)])
			digits(rnd.IntN(18))
		}
		if rnd.IntN(2) == 0 {
			b.WriteByte('.')
			digits(1 + rnd.IntN(4))
		}
		if rnd.IntN(3) == 0 {
			fmt.Fprintf(&b, "%c%s%d", "eE"[rnd.IntN(2)], []string{"", "+", "-", "-0"}[rnd.IntN(4)], rnd.IntN(20))
		}
		return b.String()
	}
	pairs := 20_000
	if os.Getenv("PICKUP_LONG") != "" {
		pairs = 1_000_000
	}
	for range pairs {
		a, b := spell(), spell()
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		want := x.Cmp(y)
		if got, ok := newOperand(b).order(jsontext.Value(a)); got != want || !ok {
			t.Fatalf("%s and %s compare as %d, not %d", a, b, got, want)
		}
		if got := newOperand(b).equals(jsontext.Value(a)); got != (want == 0) {
			t.Fatalf("%s equals %s: %t", a, b, got)
		}
		if got := bytes.Compare(appendOrderKey(nil, jsontext.Value(a), OrderKeyLen), appendOrderKey(nil, jsontext.Value(b), OrderKeyLen)); got != want {
			t.Fatalf("%s and %s have keys in the order %d, not %d", a, b, got, want)
		}
		if got := rawjson.CanonicalNumber(a) == rawjson.CanonicalNumber(b); got != (want == 0) {
			t.Fatalf("%s and %s are %s and %s", a, b, rawjson.CanonicalNumber(a), rawjson.CanonicalNumber(b))
		}
		if z, ok := new(big.Rat).SetString(rawjson.CanonicalNumber(a)); !ok || z.Cmp(x) != 0 {
			t.Fatalf("%s is not %s", rawjson.CanonicalNumber(a), a)
		}
	}
	// Exponents of any length.
	far, farther := "1e"+strings.Repeat("9", 30), "-1e-"+strings.Repeat("9", 30)
	for _, test := range []struct {
		a, b string
		want int
	}{
		{a: far, b: "1e400", want: 1},
		{a: "-" + far, b: "-1e400", want: -1},
		{a: farther, b: "0", want: -1},
		{a: farther, b: "-1e-400", want: 1},
		{a: far, b: far},
		{a: "0e" + strings.Repeat("9", 30), b: "-0"},
		{a: "1e000000000000000000000001", b: "10"},
	} {
		if got, _ := newOperand(test.b).order(jsontext.Value(test.a)); got != test.want {
			t.Errorf("%s and %s compare as %d", test.a, test.b, got)
		}
	}
}
