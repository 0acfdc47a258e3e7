package filestore

import (
	"fmt"
	"hash/crc32"

	"pickup/filestore/document"
)

// A sum is 64 bits that stand for the content of a file: in the names of the
// dot files, so that a start after a crash can tell them apart, and in memory,
// so that a touched file is not loaded again.
//
// It is two CRCs side by side, CRC-32C and CRC-32, which together are a CRC of
// 64 bits (their polynomials have no common factor). The processor computes
// both, and 100 MB take about 10 ms where SHA-256 takes 60; that matters, for
// each load sums the whole file, and a commit all that stands behind the first
// change. It is the same in each process, which hash/maphash is not. It guards
// against accidents, not against forgery: who may write into the folder may
// write the file.
type sum uint64

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A summer computes the sum of what is written to it.
type summer struct{ c, ieee uint32 }

func (s *summer) Write(b []byte) (int, error) {
	const block = 64 << 10 // small enough to be in the cache at the second pass
	for p := b; len(p) > 0; {
		n := min(len(p), block)
		s.c = crc32.Update(s.c, castagnoli, p[:n])
		s.ieee = crc32.Update(s.ieee, crc32.IEEETable, p[:n])
		p = p[n:]
	}
	return len(b), nil
}

func (s *summer) sum() sum { return sum(s.c)<<32 | sum(s.ieee) }

func (s sum) String() string { return fmt.Sprintf("%016x", uint64(s)) }

func sumOf(b []byte) sum {
	var s summer
	s.Write(b)
	return s.sum()
}

func sumOfDocument(d *document.Document) sum { return sumOfRuns(d.Runs()) }

func sumOfRuns(r document.Runs) sum {
	var s summer
	for _, run := range r {
		s.Write(run)
	}
	return s.sum()
}

// A tally sums one text after the other, each as a rule the one before with a
// change somewhere: what they share in memory from the beginning on it does not
// sum again. Its zero value has summed nothing yet.
type tally struct {
	pieces [][]byte // of the last text
	behind []summer // what had been summed behind each of them
}

// tallyPiece is how much is summed again at most where a run is cut.
const tallyPiece = 1 << 20

func (t *tally) sum(text document.Runs) sum {
	var s summer
	n, shared := 0, true
	for _, run := range text {
		for len(run) > 0 {
			p := run[:min(len(run), tallyPiece)]
			run = run[len(p):]
			if shared = shared && n < len(t.pieces) && len(p) == len(t.pieces[n]) && &p[0] == &t.pieces[n][0]; shared {
				s = t.behind[n]
			} else {
				s.Write(p)
				t.pieces, t.behind = append(t.pieces[:n], p), append(t.behind[:n], s)
			}
			n++
		}
	}
	t.pieces, t.behind = t.pieces[:n], t.behind[:n]
	return s.sum()
}

func firstOf(s []string, n int) []string { return s[:min(n, len(s))] }
