package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"pickup/filestore/internal/checksum"
)

// ErrChanging means that a file changed during a read.
var ErrChanging = errors.New("the file is being written")

// Read returns the content of one state of f, or ErrChanging if f changes meanwhile.
func (c *Calls) Read(f *os.File, now func() time.Time) ([]byte, State, error) {
	before, err := c.Fstat(f)
	if err != nil {
		return nil, State{}, err
	}
	data, err := c.ReadAll(f, before.Size())
	if err != nil {
		return nil, State{}, err
	}
	read := now() // before Fstat: a write between the two is not later than read
	after, err := c.Fstat(f)
	if err != nil {
		return nil, State{}, err
	}
	if !Same(before, after) || int64(len(data)) != after.Size() {
		return nil, State{}, ErrChanging
	}
	return data, State{after, checksum.Of(data), SureAt(after, read)}, nil
}

// ReadAll returns the content of f, about size bytes.
func (c *Calls) ReadAll(f *os.File, size int64) ([]byte, error) {
	data := make([]byte, 0, size+1) // one more, to meet the end without growing
	for {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := c.ReadAt(f, data[len(data):cap(data)], int64(len(data)))
		data = data[:len(data)+n]
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// A Writer writes to File from the offset Off on. After an error, the methods do nothing and
// return the error.
type Writer struct {
	Calls *Calls
	File  *os.File
	Off   int64
	err   error
}

// A piece is the size of a write: large enough for the kernel to find large parts of memory, in
// a third less time than for writes of 64 KiB. A piece has at most mostRuns runs, the limit of
// the kernel.
const (
	piece    = 1 << 20
	mostRuns = 1024
)

// Write writes runs, one after another, in pieces of 1 MiB.
func (w *Writer) Write(runs ...[]byte) error {
	part := make([][]byte, 0, min(len(runs), mostRuns))
	size := 0
	for _, run := range runs {
		for len(run) > 0 {
			n := min(len(run), piece-size)
			part = append(part, run[:n])
			size += n
			run = run[n:]
			if size == piece {
				w.write(part, size)
				part = part[:0]
				size = 0
			} else if len(part) == mostRuns {
				part = [][]byte{bytes.Join(part, nil)}
			}
		}
	}
	w.write(part, size)
	return w.err
}

func (w *Writer) write(part [][]byte, size int) {
	if w.err != nil || size == 0 {
		return
	}
	n, err := w.Calls.WriteAt(w.File, part, w.Off)
	w.Off += int64(n)
	if err == nil && n < size {
		err = fmt.Errorf("wrote %d of %d bytes: %w", n, size, syscall.ENOSPC)
	}
	w.err = err
}

var zeros [64 << 10]byte

// Zeros writes zeros up to the offset end.
func (w *Writer) Zeros(end int64) error {
	for w.Off < end && w.err == nil {
		w.Write(zeros[:min(end-w.Off, int64(len(zeros)))])
	}
	return w.err
}

// Chmod sets the permissions of the file.
func (w *Writer) Chmod(mode os.FileMode) error {
	return w.Do(func() error { return w.Calls.Chmod(w.File, mode) })
}

// Truncate cuts the file off at size.
func (w *Writer) Truncate(size int64) error {
	return w.Do(func() error { return w.Calls.Truncate(w.File, size) })
}

// Sync makes the file durable.
func (w *Writer) Sync() error {
	return w.Do(func() error { return w.Calls.Sync(w.File) })
}

// Do calls call.
func (w *Writer) Do(call func() error) error {
	if w.err == nil {
		w.err = call()
	}
	return w.err
}
