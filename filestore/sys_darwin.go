package filestore

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// exchange works on APFS.
func exchange(a, b string) error {
	return renamex("exchange", a, b, unix.RENAME_SWAP)
}

func renameNew(from, to string) error {
	err := renamex("rename", from, to, unix.RENAME_EXCL)
	if unsupported(err) {
		return renameSlowly(from, to)
	}
	return err
}

func renamex(op, from, to string, flags uint32) error {
	if err := unix.RenamexNp(from, to, flags); err != nil {
		return &os.LinkError{Op: op, Old: from, New: to, Err: err}
	}
	return nil
}

// unsupported reports whether err says that the file system does not have the
// call, rather than that the call failed.
func unsupported(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, errors.ErrUnsupported) // ENOTSUP
}
