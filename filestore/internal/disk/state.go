package disk

import (
	"os"
	"time"

	"pickup/filestore/internal/checksum"
)

// A State is a state of a file.
type State struct {
	Info os.FileInfo // nil: there is no file
	Sum  checksum.Sum
	Sure bool // every later write changes Info
}

// Same reports whether a and b show the same file in the same state, as far as visible without
// a read: inode, size and time of the last write. The time of the last change to the inode does
// not count, because a rename changes this time.
func Same(a, b os.FileInfo) bool {
	return a != nil && b != nil && SameFile(a, b) &&
		a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// Is reports whether info shows the file in the state s.
func (s State) Is(info os.FileInfo) bool { return s.Sure && Same(info, s.Info) }

// Untouched is a stricter Is for a file under the same name. Untouched also detects a write if
// somebody has set back the time of the last write.
func (s State) Untouched(info os.FileInfo) bool {
	return s.Is(info) && changed(info) == changed(s.Info)
}

// SureAt reports whether info, read at now, differs from info after any later write. The
// kernel's clock for files advances in steps of 1 to 10 ms, and two writes within one step look
// the same.
func SureAt(info os.FileInfo, now time.Time) bool {
	return now.Sub(info.ModTime()) > 20*time.Millisecond
}

// Identify returns the state of a file just written to path by this process. The state is sure
// at once: Identify sets back the time of the last write to a time that no write can have set.
func (c *Calls) Identify(f *os.File, path string, sum checksum.Sum) (State, error) {
	written, err := c.Fstat(f)
	if err != nil {
		return State{}, err
	}
	if c.SetModTime(f, path, written.ModTime().Add(-1)) != nil {
		return State{Info: written, Sum: sum}, nil
	}
	info, err := c.Fstat(f)
	if err != nil {
		return State{}, err
	}
	return State{info, sum, !info.ModTime().Equal(written.ModTime())}, nil
}
