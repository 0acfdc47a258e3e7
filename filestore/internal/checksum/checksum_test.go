package checksum

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestAppend sums texts part by part.
func TestAppend(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 300_000)
	for i := range text {
		text[i] = byte(random.Uint32())
	}
	for range 200 {
		var w Writer
		for rest := text; len(rest) > 0; {
			n := min(len(rest), random.IntN(1<<random.IntN(18)))
			if part := rest[:n]; random.IntN(2) == 0 {
				w.Write(part)
			} else {
				middle := random.IntN(n + 1)
				w.Append(PartOf(part[:middle], part[middle:]))
			}
			rest = rest[n:]
		}
		if got, want := w.Sum(), Of(text); got != want {
			t.Fatalf("%v, want %v", got, want)
		}
	}
	// The sums are in the names of files that other versions left.
	if got := Of([]byte("123456789")).String(); got != "e3069283cbf43926" {
		t.Errorf("the sum of 123456789 is %v", got)
	}
	large := bytes.Repeat(text, 20)
	var w Writer
	w.Append(PartOf(large[:1]))
	w.Append(PartOf(large[1:]))
	if w.Sum() != Of(large) {
		t.Error("a large part has another sum")
	}
}

func BenchmarkAppend(b *testing.B) {
	part := PartOf(make([]byte, 10_000))
	var w Writer
	for b.Loop() {
		w.Append(part)
	}
}
