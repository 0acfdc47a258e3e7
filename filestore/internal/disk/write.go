package disk

import (
	"fmt"
	"os"
	"syscall"
)

// A Writer writes to File from the offset Off on.
type Writer struct {
	Calls *Calls
	File  *os.File
	Off   int64
	begun int64 // the disk has begun to write everything before this offset
}

// writeAhead is the size of the parts in which a large text goes to the disk:
// the disk writes one part while the next is copied to the system, which leaves
// less for the sync.
const writeAhead = 8 << 20

func (w *Writer) Write(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		part := b[n:min(n+writeAhead, len(b))]
		var k int
		k, err = w.Calls.WriteAt(w.File, part, w.Off)
		n += k
		w.Off += int64(k)
		if err == nil && k < len(part) {
			err = fmt.Errorf("wrote %d of %d bytes: %w", n, len(b), syscall.ENOSPC)
		}
		if w.Off-w.begun >= writeAhead {
			w.Calls.StartWrite(w.File, w.begun, w.Off-w.begun)
			w.begun = w.Off
		}
	}
	return n, err
}

// Zeros writes zeros up to the offset end.
func (w *Writer) Zeros(end int64) error {
	for gap := end - w.Off; gap > 0; gap = end - w.Off {
		if _, err := w.Write(make([]byte, min(gap, 1<<20))); err != nil {
			return err
		}
	}
	return nil
}
