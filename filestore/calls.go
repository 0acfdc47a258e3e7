package filestore

import (
	"os"
)

// calls is every call by which a Store touches the file system, one function
// each, so that tests can fail, cut and record them. Paths of folders and files
// are the ones that the real calls would get.
type calls struct {
	stat  func(path string) (os.FileInfo, error) // follows symlinks
	open  func(path string, flag int, perm os.FileMode) (*os.File, error)
	read  func(f *os.File, b []byte) (int, error)
	write func(f *os.File, b []byte) (int, error)
	sync  func(f *os.File) error
	chmod func(f *os.File, mode os.FileMode) error
	close func(f *os.File) error

	rename    func(from, to string) error // replaces to
	renameNew func(from, to string) error // fails with fs.ErrExist where there is a to
	exchange  func(a, b string) error     // swaps two names; errors.ErrUnsupported
	remove    func(path string) error
	syncDir   func(dir string) error

	// dress gives f the owner and the extended attributes of like, as far as
	// we may.
	dress func(f *os.File, like os.FileInfo, path string)
}

// realCalls returns the calls of this operating system.
func realCalls() calls {
	return calls{
		stat:      os.Stat,
		open:      os.OpenFile,
		read:      (*os.File).Read,
		write:     (*os.File).Write,
		sync:      (*os.File).Sync,
		chmod:     (*os.File).Chmod,
		close:     (*os.File).Close,
		rename:    os.Rename,
		renameNew: renameNew,
		exchange:  exchange,
		remove:    os.Remove,
		syncDir:   syncDir,
		dress:     dress,
	}
}

// same reports whether a and b are the same file in the same state, as far as
// can be told without reading it: inode, size and time of the last write. The
// time of the last change to the inode is no part of it, for a rename moves it.
func same(a, b os.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) &&
		a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
