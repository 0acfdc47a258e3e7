package disk

import (
	"fmt"
	"os"
	"syscall"
)

// A Writer writes to File from the offset Off on. After an error its methods do
// nothing and return that error.
type Writer struct {
	Calls *Calls
	File  *os.File
	Off   int64
	begun int64 // the disk has begun to write everything before this offset
	err   error
}

// writeAhead is the size of the parts in which a large text goes to the disk:
// the disk writes one part while the next is copied to the system, which leaves
// less for the sync.
const writeAhead = 8 << 20

func (w *Writer) Write(b []byte) (n int, err error) {
	for n < len(b) && w.err == nil {
		part := b[n:min(n+writeAhead, len(b))]
		k, err := w.Calls.WriteAt(w.File, part, w.Off)
		n += k
		w.Off += int64(k)
		if err == nil && k < len(part) {
			err = fmt.Errorf("wrote %d of %d bytes: %w", n, len(b), syscall.ENOSPC)
		}
		if w.Off-w.begun >= writeAhead {
			w.Calls.StartWrite(w.File, w.begun, w.Off-w.begun)
			w.begun = w.Off
		}
		w.err = err
	}
	return n, w.err
}

// Zeros writes zeros up to the offset end.
func (w *Writer) Zeros(end int64) error {
	for gap := end - w.Off; gap > 0 && w.err == nil; gap = end - w.Off {
		w.Write(make([]byte, min(gap, 1<<20)))
	}
	return w.err
}

// Chmod sets the permissions of the file.
func (w *Writer) Chmod(mode os.FileMode) error {
	return w.do(func() error { return w.Calls.Chmod(w.File, mode) })
}

// Truncate cuts the file off at size.
func (w *Writer) Truncate(size int64) error {
	return w.do(func() error { return w.Calls.Truncate(w.File, size) })
}

// Sync makes the file durable.
func (w *Writer) Sync() error {
	return w.do(func() error { return w.Calls.Sync(w.File) })
}

func (w *Writer) do(call func() error) error {
	if w.err == nil {
		w.err = call()
	}
	return w.err
}
