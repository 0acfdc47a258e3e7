package filestore

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

const noFollow = 0

// lockFile locks a byte far behind the text, which stays readable.
func lockFile(f *os.File) error {
	behind := windows.Overlapped{OffsetHigh: 1 << 20}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &behind)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errTaken
	}
	return err
}
