package rawjson

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// values returns the words of a text.
func values(text string) (all []jsontext.Value) {
	for _, word := range strings.Fields(text) {
		all = append(all, jsontext.Value(word))
	}
	return all
}

func TestEdits(t *testing.T) {
	for _, test := range []struct{ old, v, want string }{
		{"1 2 3", "1 2 3", "[]"},
		{"", "1", "[{0 0 0 1}]"},
		{"12.5 41.9", "12.5 42.0", "[{1 2 1 2}]"},
		{"1 2 3 4", "2 3 4 5", "[{0 1 0 0} {4 4 3 4}]"},
		{"1 2 3 4 5", "1 9 3 5", "[{1 2 1 2} {3 4 3 3}]"},
		{"1 2 3", "2 2 9", "[{0 1 0 1} {2 3 2 3}]"}, // each has one in its place
		{"0 0 0 1", "0 0 1", "[{2 3 2 2}]"},
		{"1 2", "3 4 5", "[{0 2 0 3}]"},
	} {
		if got := fmt.Sprint(Edits(values(test.old), values(test.v))); got != test.want {
			t.Errorf("%s to %s: %s, want %s", test.old, test.v, got, test.want)
		}
	}
}

// TestEditsLead makes the edits between random arrays: they lead from one to the other,
// and no two touch.
func TestEditsLead(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	random := func() (all []jsontext.Value) {
		for range r.IntN(9) {
			all = append(all, jsontext.Value([]string{"0", "1", "2", "3"}[r.IntN(4)]))
		}
		return all
	}
	for range 2000 {
		old, v := random(), random()
		made := slices.Clone(old)
		edits := Edits(old, v)
		for i, e := range slices.Backward(edits) {
			made = slices.Replace(made, e.From, e.To, v[e.At:e.End]...)
			if i > 0 && edits[i-1].To >= e.From {
				t.Fatalf("%s to %s: %v touch", old, v, edits)
			}
		}
		if !slices.EqualFunc(made, v, func(a, b jsontext.Value) bool { return string(a) == string(b) }) {
			t.Fatalf("%s to %s: %v lead to %s", old, v, edits, made)
		}
	}
}

// TestEditsOfLongArrays aligns arrays that differ at both ends of a long part.
func TestEditsOfLongArrays(t *testing.T) {
	old := values(strings.Repeat("1 2 3 ", 100_000))
	v := slices.Concat(values("0"), old[1:len(old)-1], values("4 5"))
	begin := time.Now()
	if got := fmt.Sprint(Edits(old, v)); got != "[{0 300000 0 300001}]" {
		t.Error(got)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}
