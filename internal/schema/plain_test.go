package schema

import (
	"encoding/json"
	"fmt"
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

// TestLimitedNumbers checks that a number of ordinary size keeps its exact value,
// and any other its sign and whether it is huge, tiny or an integer.
func TestLimitedNumbers(t *testing.T) {
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
			s += []string{"e", "E", "e+", "e-", "E+", "E-"}[r.IntN(6)] + strconv.Itoa(r.IntN(320))
		}
		got, _ := new(big.Rat).SetString(string(limited(s)))
		want, _ := new(big.Rat).SetString(s)
		if got == nil || got.Cmp(want) != 0 {
			t.Fatalf("%s became %s", s, limited(s))
		}
	}
	long := strings.Repeat("7", 2000)
	for s, want := range map[string]json.Number{
		"1e1000000000000000000000":   "1e1000",
		"-1e1000000000000000000000":  "-1e1000",
		"1e-1000000000000000000000":  "1e-1001",
		"0e1000000000000000000000":   "0",
		"-0.000e-100000000000000000": "0",
		"25e100000":                  "25e1000",
		long:                         json.Number(long[:1000] + "e1000"),
		"0." + long:                  json.Number(long[:1000] + "e-1000"),
	} {
		if got := limited(s); got != want {
			t.Errorf("%.40s: got %.40s", s, got)
		}
	}
}

// TestManyFaultsAreCheap checks that faults do not make a body slow to check.
func TestManyFaultsAreCheap(t *testing.T) {
	s := compiled(t, `{"properties":{"a":{"items":{"properties":{
		"n":{"items":{"anyOf":[{"type":"string","maxLength":1},{"type":"string","minLength":3}]}}},
		"additionalProperties":{"type":"null"}}}}}`)
	record := []byte(`{"n":["xx"` + strings.Repeat(`,"xx"`, 3e4) + `]`)
	for i := range int(3e4) {
		record = fmt.Appendf(record, `,"m%d":0`, i)
	}
	record = append(record, '}')
	start := time.Now()
	faults := replaced(s.Member("a"), record)
	if len(faults) != maxFaults+1 {
		t.Fatalf("%d faults", len(faults))
	}
	wantFaults(t, append(faults[:1:1], faults[maxFaults:]...),
		"/m0: 0 is not null",
		"59901 more errors are not listed")
	if d := time.Since(start); d > time.Minute { // quadratic time takes far longer
		t.Errorf("took %v", d)
	}
}

// TestNumbersAreCheap checks the most expensive numbers that a body may have.
func TestNumbersAreCheap(t *testing.T) {
	s := compiled(t, `{"properties":{"a":{"items":{"properties":{"n":{"items":{"type":"integer","multipleOf":7,"maximum":1e308,"enum":[1,2]}}}}}}}`)
	start := time.Now()
	for _, n := range []string{"1e999999", "1e-999999", "9e99999999999999999999", strings.Repeat("9", 1<<20), "0." + strings.Repeat("1", 1<<20)} {
		if f := replaced(s.Member("a"), []byte(`{"n":[`+n+strings.Repeat(","+n[:min(len(n), 30)], 100)+`]}`)); len(f) != maxFaults+1 {
			t.Errorf("%.20s: %d faults", n, len(f))
		}
	}
	if d := time.Since(start); d > time.Minute { // quadratic time takes far longer
		t.Errorf("took %v", d)
	}
}
