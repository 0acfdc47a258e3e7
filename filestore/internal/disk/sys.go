package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

var errCircle = errors.New("its symbolic links lead in a circle")

// resolve returns path without symlinks. The last symlink may point to a missing file.
func resolve(path string) (string, error) {
	for range 40 { // the limit of Linux
		real, err := filepath.EvalSymlinks(path)
		switch {
		case err == nil:
			return real, nil
		case err != nil && strings.HasSuffix(err.Error(), ": too many links"): // of EvalSymlinks
			return "", errCircle
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
		to, err := os.Readlink(path)
		if err != nil { // not a link: the name of the new file
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			return filepath.Join(dir, filepath.Base(path)), err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", errCircle
}

func exchange(a, b string) error { return rename("exchange", a, b, swapNames) }

func renameNew(from, to string) error {
	err := rename("rename", from, to, noReplace)
	if Unsupported(err) {
		return RenameByLink(from, to)
	}
	return err
}

func rename(op, from, to string, flags uint32) error {
	err := renameWith(from, to, flags)
	for err == syscall.EINTR { // a signal on a network file system
		err = renameWith(from, to, flags)
	}
	if err != nil {
		return &os.LinkError{Op: op, Old: from, New: to, Err: err}
	}
	return nil
}

// RenameByLink is RenameNew on systems without such a call. RenameByLink uses a hard link;
// without hard links, another process may create to between the check and the rename.
func RenameByLink(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		return os.Remove(from)
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := os.Lstat(to); err == nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrExist}
	}
	return os.Rename(from, to)
}

// Unsupported reports whether err means a missing call in the system or the file system.
func Unsupported(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) // ENOSYS, ENOTSUP and the like
}
