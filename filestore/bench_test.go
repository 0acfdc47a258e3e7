package filestore

import (
	"fmt"
	"os"
	"testing"

	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// BenchmarkCommit is one write of one record, alone, in each mode.
func BenchmarkCommit(b *testing.B) {
	for _, size := range []int{10 << 10, 1 << 20, 10 << 20} {
		for _, m := range []string{"exchange", "rename", "in place"} {
			b.Run(fmt.Sprintf("%dKB/%s", size>>10, m), func(b *testing.B) {
				path := b.TempDir() + "/db.json"
				if err := os.WriteFile(path, []byte(lines(size)), 0o644); err != nil {
					b.Fatal(err)
				}
				o := Options{sys: disk.Real()}
				switch m {
				case "rename":
					o.sys = withoutExchange()
				case "in place":
					o.sys.IsMount = func(string) bool { return true }
				}
				s, err := Open(b.Context(), path, o)
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				rev := s.rev
				for i := range b.N {
					if rev, err = s.Commit(b.Context(), rev, []storage.Change{set("7", fmt.Sprint("title ", i))}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
