package disk

import (
	"fmt"
	"hash/crc32"
)

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
