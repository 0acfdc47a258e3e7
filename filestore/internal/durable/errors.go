package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// ErrMovedOn means that another program saved the file, with a content not read yet.
var ErrMovedOn = errors.New("the file was saved by another program")

// ErrDetached means that the file shown by a mount has no name any more.
var ErrDetached error = &storage.AdviceError{
	Err: storage.ErrReadOnly,
	Advice: "the mounted file was deleted or replaced on the host, and what is there now cannot be seen from here: " +
		"mount its directory instead of the file, or restart",
}

// Refuse returns the error of a commit for a failed call without effect.
func (f *File) Refuse(err error) error {
	if err == nil || errors.Is(err, ErrMovedOn) || IsOurs(err) {
		return err
	}
	if errors.Is(err, disk.ErrHeld) {
		return f.Held()
	}
	err = disk.Cause(err)
	kind, advice := storage.ErrReadOnly, ""
	switch {
	case disk.IsAny(err, syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG):
		kind = storage.ErrFull
	case errors.Is(err, fs.ErrNotExist):
		return f.Busy(storage.ErrBusy, "cannot be written: its directory is missing, or is being replaced")
	case disk.IsAny(err, syscall.EACCES, syscall.EPERM):
		advice = f.OwnerAdvice()
	case errors.Is(err, syscall.EROFS):
		advice = "a server with --ephemeral keeps writes in memory"
	}
	err = fmt.Errorf("%w: %s cannot be written: %w", kind, f.Path, err)
	if advice != "" {
		return &storage.AdviceError{Err: err, Advice: advice}
	}
	return err
}

// IsOurs reports whether err wraps an error of storage.Store.
func IsOurs(err error) bool {
	return disk.IsAny(err, storage.ErrReadOnly, storage.ErrFull, storage.ErrBusy, storage.ErrUnsure,
		storage.ErrInUse, storage.ErrBroken, storage.ErrShape, storage.ErrConflict)
}

// OwnerAdvice says as which user the server has to run to write the file, "" if the user is not
// the problem.
func (f *File) OwnerAdvice() string {
	what := "the file"
	info, err := f.Sys.Stat(f.Real)
	if err != nil {
		what = "its directory"
		info, err = f.Sys.Stat(f.Dir())
	}
	if err != nil {
		return ""
	}
	uid, gid, ok := disk.Owner(info)
	if !ok || uid == os.Geteuid() {
		return ""
	}
	advice := fmt.Sprintf("%s belongs to %d:%d and this server runs as %d:%d: run it as the owner",
		what, uid, gid, os.Geteuid(), os.Getegid())
	if f.InContainer {
		advice += fmt.Sprintf(", with docker run --user %d:%d", uid, gid)
	}
	return advice
}

// Busy returns err, a storage.ErrBusy, with advice. The text has the path of the file before what,
// and the advice has the name.
func (f *File) Busy(err error, what string) error {
	return &busyError{f.Path + " " + what, &storage.AdviceError{Err: err, Advice: filepath.Base(f.Path) + " " + what}}
}

// Held returns the error of a commit for a file held open by another program.
func (f *File) Held() error {
	const text = "another program has %s open"
	return &busyError{fmt.Sprintf(text, f.Path), &storage.AdviceError{
		Err:    fmt.Errorf("%w: %w", storage.ErrBusy, disk.ErrHeld),
		Advice: fmt.Sprintf(text, filepath.Base(f.Path)),
	}}
}

// A busyError is an error with the whole path of a file in the text, and only the name in the advice,
// because clients may see the advice.
type busyError struct {
	text   string
	advice *storage.AdviceError
}

func (e *busyError) Error() string { return e.text }
func (e *busyError) Unwrap() error { return e.advice }

// A MissingError is an fs.ErrNotExist with the name of the missing file or directory.
type MissingError struct{ Name string }

func (e MissingError) Error() string { return e.Name + " does not exist" }
func (e MissingError) Unwrap() error { return fs.ErrNotExist }
