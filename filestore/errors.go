package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// errDetached means that the file that a mount shows has no name any more.
var errDetached error = &storage.AdviceError{
	Err:    storage.ErrReadOnly,
	Advice: "the mounted file was deleted or replaced on the host, and what is there now cannot be seen from here: mount its directory instead of the file, or restart",
}

// refuse returns the error of Commit for a call that failed and changed nothing.
func (f *file) refuse(err error) error {
	if err == nil || errors.Is(err, errMovedOn) || isOurs(err) {
		return err
	}
	if errors.Is(err, disk.ErrHeld) {
		return f.held()
	}
	err = disk.Cause(err)
	kind, advice := storage.ErrReadOnly, ""
	switch {
	case isAny(err, syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG):
		kind = storage.ErrFull
	case errors.Is(err, fs.ErrNotExist):
		return f.busy(storage.ErrBusy, "cannot be written: its directory is missing, or is being replaced")
	case isAny(err, syscall.EACCES, syscall.EPERM):
		advice = f.ownerAdvice()
	case errors.Is(err, syscall.EROFS):
		advice = "a server with --ephemeral keeps writes in memory"
	}
	err = fmt.Errorf("%w: %s cannot be written: %w", kind, f.path, err)
	if advice != "" {
		return &storage.AdviceError{Err: err, Advice: advice}
	}
	return err
}

// isOurs reports whether err wraps one of the errors of a storage.Store.
func isOurs(err error) bool {
	return isAny(err, storage.ErrReadOnly, storage.ErrFull, storage.ErrBusy, storage.ErrUnsure,
		storage.ErrInUse, storage.ErrBroken, storage.ErrShape, storage.ErrConflict)
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(t error) bool { return errors.Is(err, t) })
}

// ownerAdvice says as which user the server has to run to write the file, "" if
// that is not the problem.
func (f *file) ownerAdvice() string {
	what := "the file"
	info, err := f.o.sys.Stat(f.real)
	if err != nil {
		what = "its directory"
		info, err = f.o.sys.Stat(f.dir())
	}
	if err != nil {
		return ""
	}
	uid, gid, ok := disk.Owner(info)
	if !ok || uid == os.Geteuid() {
		return ""
	}
	advice := fmt.Sprintf("%s belongs to %d:%d and this server runs as %d:%d: run it as the owner", what, uid, gid, os.Geteuid(), os.Getegid())
	if f.o.InContainer {
		advice += fmt.Sprintf(", with docker run --user %d:%d", uid, gid)
	}
	return advice
}

// busy returns err, a storage.ErrBusy, with advice. Its text has the path of the
// file before what, and its advice the name.
func (f *file) busy(err error, what string) *busyError {
	return &busyError{f.path + " " + what, &storage.AdviceError{Err: err, Advice: filepath.Base(f.path) + " " + what}}
}

// held returns the error of Commit and Watch for a file that another program has open.
func (f *file) held() *busyError {
	const text = "another program has %s open"
	advice := &storage.AdviceError{Err: fmt.Errorf("%w: %w", storage.ErrBusy, disk.ErrHeld), Advice: fmt.Sprintf(text, filepath.Base(f.path))}
	return &busyError{fmt.Sprintf(text, f.path), advice}
}

// isHeld reports whether another program that has a file open has prevented a write.
func isHeld(err error) bool {
	return errors.Is(err, disk.ErrHeld) && !errors.Is(err, storage.ErrUnsure)
}

// A busyError is an error whose text names the whole path of a file, and whose
// advice, which clients may see, names the file only.
type busyError struct {
	text   string
	advice *storage.AdviceError
}

func (e *busyError) Error() string { return e.text }
func (e *busyError) Unwrap() error { return e.advice }

// A missingError is an fs.ErrNotExist that names what is missing.
type missingError struct{ path string }

func (e missingError) Error() string { return e.path + " does not exist" }

func (e missingError) Unwrap() error { return fs.ErrNotExist }
