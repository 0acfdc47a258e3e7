package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// exchange is available on APFS.
func exchange(a, b string) error {
	return renamex("exchange", a, b, unix.RENAME_SWAP)
}

func renameNew(from, to string) error {
	err := renamex("rename", from, to, unix.RENAME_EXCL)
	if Unsupported(err) {
		return RenameByLink(from, to)
	}
	return err
}

func renamex(op, from, to string, flags uint32) error {
	if err := unix.RenamexNp(from, to, flags); err != nil {
		return &os.LinkError{Op: op, Old: from, New: to, Err: err}
	}
	return nil
}

// Unsupported reports whether err means that the file system does not have the
// call.
func Unsupported(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, errors.ErrUnsupported) // ENOTSUP
}
