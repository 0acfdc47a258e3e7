package disk

import (
	"fmt"
	"hash/crc32"
	"os"
	"time"
)

// A State is a state of a file.
type State struct {
	Info os.FileInfo // nil: there is no file
	Sum  Sum
	Sure bool // every later write changes Info
}

// Same reports whether a and b show the same file in the same state, as far as
// that is visible without reading it: inode, size and time of the last write.
// The time of the last change to the inode does not count, because a rename
// changes it.
func Same(a, b os.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) &&
		a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// Is reports whether info shows the file in the state s.
func (s State) Is(info os.FileInfo) bool { return s.Sure && Same(info, s.Info) }

// Untouched is a stricter Is for a file that has kept its name. It also detects
// a write after which the time of the last write was set back.
func (s State) Untouched(info os.FileInfo) bool {
	return s.Is(info) && changed(info) == changed(s.Info)
}

// SureAt reports whether info, read at now, differs from what a later write
// leaves. The kernel's clock for files advances in steps of 1 to 10 ms, and two
// writes within one step look the same.
func SureAt(info os.FileInfo, now time.Time) bool {
	return now.Sub(info.ModTime()) > 20*time.Millisecond
}

// Identify returns the state of a file that this process has just written to
// path. The state is sure at once: its time of the last write is set back to
// one that no write can have given it.
func (c *Calls) Identify(f *os.File, path string, sum Sum) (State, error) {
	written, err := c.Fstat(f)
	if err != nil {
		return State{}, err
	}
	if c.SetModTime(path, written.ModTime().Add(-1)) != nil {
		return State{Info: written, Sum: sum}, nil
	}
	info, err := c.Fstat(f)
	if err != nil {
		return State{}, err
	}
	return State{info, sum, !info.ModTime().Equal(written.ModTime())}, nil
}

// A Sum is a checksum of 64 bits of the content of a file: CRC-32C and CRC-32 side
// by side. It is the same in each process, so it can be part of the names of dot
// files. The processor computes it six times faster than SHA-256, which matters
// because each load sums the whole file. It detects accidents, not forgery: everyone
// who can write to the directory can write to the file.
type Sum uint64

func (s Sum) String() string { return fmt.Sprintf("%016x", uint64(s)) }

// Castagnoli is the table of CRC-32C.
var Castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A SumWriter computes the Sum of what is written to it.
type SumWriter struct{ castagnoli, ieee uint32 }

func (s *SumWriter) Write(b []byte) (int, error) {
	const block = 64 << 10 // small enough to be in the cache at the second pass
	for p := b; len(p) > 0; {
		n := min(len(p), block)
		s.castagnoli = crc32.Update(s.castagnoli, Castagnoli, p[:n])
		s.ieee = crc32.Update(s.ieee, crc32.IEEETable, p[:n])
		p = p[n:]
	}
	return len(b), nil
}

// Sum returns the Sum of what has been written.
func (s *SumWriter) Sum() Sum { return Sum(s.castagnoli)<<32 | Sum(s.ieee) }

// SumOf returns the Sum of parts, which follow one another.
func SumOf(parts ...[]byte) Sum {
	var s SumWriter
	for _, p := range parts {
		s.Write(p)
	}
	return s.Sum()
}

// An IncrementalSum sums successive versions of a text. It does not sum again
// what a version shares in memory with the beginning of the version before. The
// zero value has summed nothing yet.
type IncrementalSum struct {
	parts [][]byte    // of the last version
	after []SumWriter // the state after each part
}

// sumPart is the most that is summed again where a part was cut.
const sumPart = 1 << 20

// Sum returns the Sum of text.
func (t *IncrementalSum) Sum(text [][]byte) Sum {
	var s SumWriter
	n, shared := 0, true
	for _, run := range text {
		for len(run) > 0 {
			p := run[:min(len(run), sumPart)]
			run = run[len(p):]
			if shared = shared && n < len(t.parts) && len(p) == len(t.parts[n]) && &p[0] == &t.parts[n][0]; shared {
				s = t.after[n]
			} else {
				s.Write(p)
				t.parts, t.after = append(t.parts[:n], p), append(t.after[:n], s)
			}
			n++
		}
	}
	t.parts, t.after = t.parts[:n], t.after[:n]
	return s.Sum()
}
