package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"pickup/filestore/internal/disk"
)

// displacedName separates the file's name from the sum in the name of a displaced file.
const displacedName = ".prev-"

// Limits for systems without a report of files open for writing.
const (
	keepFor  = 5 * time.Second // long enough for a save already started
	keepMost = 500             // files
	keepSize = 1 << 30         // bytes
)

// Displaced returns the displaced files, oldest first.
func (f *File) Displaced() []*Displaced { return slices.Clone(f.displaced) }

// Forget removes d from the displaced files. Its file has another name by now, or none.
func (f *File) Forget(d *Displaced) {
	f.displaced = slices.DeleteFunc(f.displaced, func(e *Displaced) bool { return e == d })
}

// HasLeftovers reports whether dot files of the file are left to remove.
func (f *File) HasLeftovers() bool { return len(f.displaced)+len(f.litter) > 0 }

// addDisplaced renames and keeps the displaced file at path.
func (f *File) addDisplaced(path string, state disk.State, content Content) {
	name := ""
	for n := 0; n == 0 || f.isDisplaced(name); n++ { // a file may go back and forth between two contents
		name = f.DotFile(fmt.Sprintf(displacedName+"%v-%d", state.Sum, n))
	}
	if f.Sys.Rename(path, name) != nil {
		name = path // recovery finds the file under either name
	}
	if info, err := f.Sys.Stat(name); err == nil && disk.Same(info, state.Info) {
		state.Info = info // the move has changed the inode
	}
	f.keepDisplaced(name, state, content)
}

// isDisplaced reports whether the file at path is a displaced file.
func (f *File) isDisplaced(path string) bool {
	return slices.ContainsFunc(f.displaced, func(d *Displaced) bool { return d.Path == path })
}

func (f *File) keepDisplaced(path string, state disk.State, content Content) {
	f.displaced = append(f.displaced, &Displaced{State: state, Path: path, Content: content, at: f.Now()})
}

// Clean removes litter, and the displaced files closed by all programs. The newest displaced file
// stays unless all is set.
func (f *File) Clean(all bool) {
	var bytes int64
	for i := len(f.displaced) - 1; i >= 0; i-- {
		d, newer := f.displaced[i], len(f.displaced)-i
		bytes += d.Info.Size()
		tooMany := newer > keepMost || bytes > keepSize && newer > 2
		if (all || newer > 1) && f.removeDisplaced(d, tooMany) {
			f.displaced = slices.Delete(f.displaced, i, i+1)
		}
	}
	f.litter = slices.DeleteFunc(f.litter, func(path string) bool {
		return !disk.IsAny(f.Sys.Remove(path), disk.ErrHeld, syscall.EBUSY)
	})
}

// keepFor returns how long a displaced file stays for a save already started, if the system does not
// report open files.
func (f *File) keepFor() time.Duration {
	if f.Closing {
		return GraceWrite
	}
	return keepFor
}

// removeDisplaced removes d if no program has d open for writing and every edit of d is collected. The
// result is true if d has no name any more.
func (f *File) removeDisplaced(d *Displaced, tooMany bool) bool {
	if f.Sys.OpenBlocks {
		if err := f.Sys.Unused(d.Path); err != nil {
			return errors.Is(err, fs.ErrNotExist)
		}
	}
	open, err := f.Sys.Open(d.Path, os.O_RDONLY, 0)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer f.Sys.Close(open) // ends the lease; until then the lease holds back writers
	if !f.Sys.OpenBlocks {
		err := f.Sys.Lease(open, disk.ReadLease)
		if err == disk.ErrTaken || err != nil && !tooMany && f.Now().Sub(d.at) < f.keepFor() {
			return false
		}
	}
	info, err := f.Sys.Fstat(open)
	if err != nil || !disk.Same(info, d.Info) {
		return false
	}
	if !d.Untouched(info) {
		if _, state, err := f.Sys.Read(open, f.Now); err != nil || state.Sum != d.Sum {
			return false
		}
	}
	err = f.Sys.Remove(d.Path)
	return err == nil || errors.Is(err, fs.ErrNotExist)
}

// asideName separates the file's name from the sum in the name of a file moved aside.
const asideName = ".aside-"
