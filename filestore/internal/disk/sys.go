package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// resolve returns path without its symlinks. The last one may point to a file
// that does not exist yet.
func resolve(path string) (string, error) {
	for range 40 { // the number of links that Linux follows
		real, err := filepath.EvalSymlinks(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return real, err
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
	return "", errors.New("too many symlinks")
}

func list(dir string) (names []string, err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

// RenameByLink is RenameNew on systems without such a call. It uses a hard link;
// without hard links, another process may create to between the check and the
// rename.
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
