package ordered

import (
	"fmt"
	"testing"
)

// BenchmarkMap makes a Map, looks a key up, and changes one of its values and
// adds and deletes one in a copy, as a write does.
func BenchmarkMap(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		keys := make([]string, n)
		for i := range keys {
			keys[i] = fmt.Sprint(i + 1)
		}
		all := func(yield func(string, int) bool) {
			for i, key := range keys {
				yield(key, i)
			}
		}
		m := New(n, all)
		for _, bench := range []struct {
			name string
			do   func(key string)
		}{
			{"new", func(string) { New(n, all) }},
			{"get", func(key string) {
				if _, ok := m.Get(key); !ok {
					b.Fatal(key)
				}
			}},
			{"set", func(key string) { m.Copy().Set(key, 0) }},
			{"add", func(string) { m.Copy().Set("new", 0) }},
			{"delete", func(key string) { m.Copy().Delete(key) }},
		} {
			b.Run(fmt.Sprintf("%s/%d", bench.name, n), func(b *testing.B) {
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					i++
					bench.do(keys[i*7919%n])
				}
			})
		}
	}
}
