package database_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/storage"
)

// TestKeysModel assigns keys to ids in many orders and compares them with a map.
func TestKeysModel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 500 {
		keys, seen := storage.NewKeys("id"), make(map[string]bool)
		id := r.IntN(20)
		for i := range 60 {
			switch r.IntN(1 + round%5) {
			case 0:
				id++
			case 1:
				id = r.IntN(40)
			case 2: // the same again
			case 3:
				id += 100
			default:
				id = -r.IntN(5)
			}
			text, value := strconv.Itoa(id), fmt.Sprintf(`{"id":%d}`, id)
			if r.IntN(3) == 0 {
				value = fmt.Sprintf(`{"id":"%d"}`, id)
			}
			want := text
			if seen[text] {
				want = "\x00" + strconv.Itoa(i)
			}
			seen[text] = true
			if got := keys.Next(jsontext.Value(value)); got != want {
				t.Fatalf("round %d, element %d, %s: %q, not %q", round, i, value, got, want)
			}
		}
	}
}

// TestKeysAreNotForged has ids that look like position keys.
func TestKeysAreNotForged(t *testing.T) {
	keys, seen := storage.NewKeys("id"), make(map[string]bool)
	for i, value := range []string{`{"id":"\u00002"}`, `{"id":"\u00000"}`, `7`, `{"id":"\u00002"}`, `{"id":""}`} {
		if id, ok := storage.ID(jsontext.Value(value), "id"); id != "" || ok {
			t.Errorf("%s has the id %q", value, id)
		}
		key := keys.Next(jsontext.Value(value))
		if key != "\x00"+strconv.Itoa(i) || seen[key] {
			t.Errorf("element %d, %s: %q", i, value, key)
		}
		seen[key] = true
	}
}
