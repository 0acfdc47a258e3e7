package filestore

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// errLocked says that somebody else has the lock.
var errLocked = errors.New("locked")

// lockFile takes the lock on f without waiting. It ends when f is closed. The
// byte that is locked lies behind the text, which stays readable.
func lockFile(f *os.File) error {
	behind := windows.Overlapped{Offset: 1 << 20}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &behind)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errLocked
	}
	return err
}
