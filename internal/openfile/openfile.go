// Package openfile opens the files that a server reads again while people and programs
// replace them.
//
// At any time, something else may be at the path of such a file. Opening a named pipe
// waits for a program at its other end, which may never come. So only regular files are
// opened, after links are followed, and opening never waits for another program.
package openfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"time"
)

// Open opens the regular file at path for reading. Its error is a *fs.PathError, which
// wraps a [KindError] if something else is at path.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// OpenFile is os.OpenFile for regular files. See [Open] for its errors.
func OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	// Opening a pipe, even for a moment, would end the program that waits at its other end.
	if info, err := os.Stat(path); err == nil {
		if err := check(path, info); err != nil {
			return nil, err
		}
	}
	f, err := open(path, flag, perm)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = check(path, info) // it may have been replaced since
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// check returns an error if info, which is of path, does not show a regular file.
func check(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return &fs.PathError{Op: "open", Path: path, Err: KindError(info.Mode().Type())}
}

// A KindError is the error of a path at which something else than a regular file is. It
// has the type bits of that.
type KindError fs.FileMode

func (e KindError) Error() string { return "it is " + e.kind() + ", not a regular file" }

func (e KindError) kind() string {
	switch fs.FileMode(e) {
	case fs.ModeDir:
		return "a directory"
	case fs.ModeNamedPipe:
		return "a pipe"
	case fs.ModeSocket:
		return "a socket"
	}
	return "a device"
}

// Most is the largest size of files with settings, users, rules or certificates.
const Most = 64 << 20

// Read returns the content of the regular file at path. It refuses a file that is larger
// than most bytes.
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// From the start on: on macOS, /dev/fd/3 shares its offset with earlier reads.
	return ReadAll(io.NewSectionReader(f, 0, math.MaxInt64), path, most)
}

// ReadOnce is Read for a file that may be a pipe or a device, as in --htpasswd <(…). It
// waits for the program at the other end, until ctx is done. After a second it calls the
// function of [WithNotice]. again reports whether the file is a regular one, whose content can
// be read again.
func ReadOnce(ctx context.Context, path string, most int64) (text []byte, again bool, err error) {
	text, err = Read(path, most)
	kind, other := errors.AsType[KindError](err)
	if !other || kind == KindError(fs.ModeDir) {
		return text, true, err
	}

	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 1)
	go func() { // opening a pipe cannot be interrupted
		text, err := readPipe(path, most)
		done <- result{text, err}
	}()
	notify, _ := ctx.Value(noticeKey{}).(func(path string))
	notice := time.After(time.Second)
	for {
		select {
		case r := <-done:
			return r.text, false, r.err
		case <-ctx.Done():
			return nil, false, fmt.Errorf("stopped while waiting for the content of %s", path)
		case <-notice:
			if notify != nil {
				notify(path)
			}
		}
	}
}

type noticeKey struct{}

// WithNotice returns a context with a function that [ReadOnce] calls if it waits for the
// content of the pipe or device at path.
func WithNotice(ctx context.Context, notify func(path string)) context.Context {
	return context.WithValue(ctx, noticeKey{}, notify)
}

func readPipe(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAll(f, path, most)
}

// ReadAll returns what r has, the content of path. It refuses more than most bytes.
func ReadAll(r io.Reader, path string, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > most {
		return nil, fmt.Errorf("%s is larger than %d MiB", path, most>>20)
	}
	return text, nil
}
