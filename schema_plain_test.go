package pickup

import (
	"encoding/json"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestPlain(t *testing.T) {
	in := ` { "a" : [ 1 , "x\n\u00fc" , true , false , null , { } , [ ] ] , "\u0062" : -1.50 } `
	want, err := jsonschema.UnmarshalJSON(strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	if got := plain([]byte(in)); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A number keeps its value, exactly, up to a thousand digits and powers of
// ten; beyond, its sign, and that it is huge, tiny or whole.
func TestJudgeable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	digits := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('0' + r.IntN(10))
		}
		b[0] = byte('1' + r.IntN(9))
		return string(b)
	}
	for range 2000 {
		s := digits(1 + r.IntN(40))
		if r.IntN(2) == 0 {
			s = "-" + s
		}
		if r.IntN(2) == 0 {
			s += "." + digits(1+r.IntN(40))
		}
		if r.IntN(2) == 0 {
			s += []string{"e", "E", "e+", "e-", "E+", "E-"}[r.IntN(6)] + strconv.Itoa(r.IntN(900))
		}
		got, _ := new(big.Rat).SetString(string(judgeable(s)))
		want, _ := new(big.Rat).SetString(s)
		if got == nil || got.Cmp(want) != 0 {
			t.Fatalf("%s became %s", s, judgeable(s))
		}
	}
	long := strings.Repeat("7", 2000)
	for s, want := range map[string]json.Number{
		"1e1000000000000000000000":   "1e2000",
		"-1e1000000000000000000000":  "-1e2000",
		"1e-1000000000000000000000":  "1e-2000",
		"0e1000000000000000000000":   "0",
		"-0.000e-100000000000000000": "0",
		"25e100000":                  "25e2000",
		long:                         json.Number(long[:1000] + "e1000"),
		"0." + long:                  json.Number(long[:1000] + "e-1000"),
	} {
		if got := judgeable(s); got != want {
			t.Errorf("%.40s: got %.40s", s, got)
		}
	}
}

// The costliest number that a body may hold is judged in no time.
func TestNumbersAreCheap(t *testing.T) {
	s := compiled(t, `{"properties":{"a":{"items":{"properties":{"n":{"items":{"type":"integer","multipleOf":7,"maximum":1e308,"enum":[1,2]}}}}}}}`)
	start := time.Now()
	for _, n := range []string{"1e999999", "1e-999999", "9e99999999999999999999", strings.Repeat("9", 1<<20), "0." + strings.Repeat("1", 1<<20)} {
		if f := s.checkReplace("a", []byte(`{"n":[`+n+strings.Repeat(","+n[:min(len(n), 30)], 100)+`]}`)); len(f) != 101 {
			t.Errorf("%.20s: %d faults", n, len(f))
		}
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
}
