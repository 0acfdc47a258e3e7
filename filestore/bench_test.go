package filestore

import (
	"fmt"
	"strings"
	"testing"

	"pickup"
)

// BenchmarkCommit is one write of one record, alone, in each mode.
func BenchmarkCommit(b *testing.B) {
	for _, size := range []int{10 << 10, 1 << 20, 10 << 20} {
		for _, m := range []string{"exchange", "rename", "in place", "in place, folder"} {
			b.Run(fmt.Sprintf("%dKB/%s", size>>10, m), func(b *testing.B) {
				t := &testing.T{}
				path := b.TempDir() + "/db.json"
				put(t, path, ofSize(size))
				o := Options{sys: realCalls()}
				switch m {
				case "rename":
					o.sys = withoutExchange()
				case "in place, folder":
					o.JournalDir = b.TempDir()
					fallthrough
				case "in place":
					o.sys.isMount = func(string) bool { return true }
				}
				s, err := Open(b.Context(), path, o)
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				rev := s.rev
				for i := range b.N {
					if rev, err = s.Commit(b.Context(), rev, pickupChanges(i)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// ofSize returns a database of about n bytes.
func ofSize(n int) string {
	var b strings.Builder
	b.WriteString("{\n  \"schedules\": [\n")
	for i := 1; b.Len() < n; i++ {
		if i > 1 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, "    {\"id\": \"%d\", \"title\": \"Swimming lesson number %d of this long year\"}", i, i)
	}
	b.WriteString("\n  ]\n}\n")
	return b.String()
}

func pickupChanges(i int) []pickup.Change {
	return []pickup.Change{set("7", fmt.Sprint("title ", i))}
}
