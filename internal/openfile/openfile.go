// Package openfile opens files that people and programs may replace at any time.
//
// The path of such a file may suddenly lead to something else. Opening a named pipe waits
// for a program at the other end, possibly forever. So this package follows links, opens only
// regular files, and never waits for another program, except in ReadOnce.
package openfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"
)

// Open opens the regular file at path for reading. An error is a *fs.PathError, and
// wraps a [KindError] if path does not lead to a regular file.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// OpenFile is os.OpenFile for regular files. See [Open] for its errors.
func OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	// Opening a pipe, even for a moment, would end the program that waits at the other end.
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
		err = check(path, info) // another program may have replaced the file since
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// check returns an error unless info, from path, is of a regular file.
func check(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return &fs.PathError{Op: "open", Path: path, Err: KindError(info.Mode().Type())}
}

// A KindError reports that a path does not lead to a regular file. The value is the type bits.
type KindError fs.FileMode

func (e KindError) Error() string {
	kind := "a device"
	switch fs.FileMode(e) {
	case fs.ModeDir:
		kind = "a directory"
	case fs.ModeNamedPipe:
		kind = "a pipe"
	case fs.ModeSocket:
		kind = "a socket"
	}
	return "it is " + kind + ", not a regular file"
}

// MaxSize is the maximum size of files with settings, users, rules or certificates.
const MaxSize = 64 << 20

// Read returns the content of the regular file at path, which must have at most limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// A section reads from the start: on macOS, /dev/fd/3 shares the offset with earlier reads.
	return ReadAll(io.NewSectionReader(f, 0, math.MaxInt64), path, limit)
}

// ReadOnce is Read for a file that may also be a pipe or a device, as in --htpasswd <(…). It
// waits for the program at the other end until ctx is done. After a second, ReadOnce calls
// the function of [WithNotice]. again reports whether the content can be read again, because
// the file is regular.
func ReadOnce(ctx context.Context, path string, limit int64) (text []byte, again bool, err error) {
	text, err = Read(path, limit)
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
		text, err := readPipe(path, limit)
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

// WithNotice returns a context with a function for [ReadOnce] to call while waiting for the
// content of the pipe or device at path.
func WithNotice(ctx context.Context, notify func(path string)) context.Context {
	return context.WithValue(ctx, noticeKey{}, notify)
}

func readPipe(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAll(f, path, limit)
}

// ReadAll reads r, the content of path, which must have at most limit bytes.
func ReadAll(r io.Reader, path string, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("%s is larger than %d MiB", path, limit>>20)
	}
	return text, nil
}

// Real returns the absolute path of a file without links. The file need not exist.
func Real(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}
