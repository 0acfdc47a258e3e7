package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"pickup/filestore/document"
	"pickup/filestore/internal/disk"
)

// A displacedFile is a file that a commit replaced. An editor that opened it before
// may still write to it, which is an edit like any other. So the file keeps a name,
// .prev-SUM-N, until nobody can write to it any more.
type displacedFile struct {
	disk.State
	path string
	doc  *document.Document // the content when it was displaced; nil: not known, or an edit came later
	at   time.Time          // when it was displaced
}

// displacedFiles has a Store's displaced files, oldest first. Store.mu guards it.
type displacedFiles struct {
	*file
	list   []*displacedFile
	closed bool // the store is closing: no file stays longer than 2 s
}

// displacedName separates the file's name from the sum in the name of a displaced file.
const displacedName = ".prev-"

// Limits for systems that do not report whether a file is open for writing.
const (
	keepFor  = 5 * time.Second // long enough for a save that began before
	keepMost = 500             // files
	keepSize = 1 << 30         // bytes
)

// add gives the displaced file at path its name and keeps it.
func (d *displacedFiles) add(path string, state disk.State, doc *document.Document) {
	name := ""
	for n := 0; n == 0 || d.has(name); n++ {
		name = d.dotFile(fmt.Sprintf(displacedName+"%v-%d", state.Sum, n)) // a file may go back and forth between two contents
	}
	if d.o.sys.Rename(path, name) != nil {
		name = path // recovery finds the file under either name
	}
	if info, err := d.o.sys.Stat(name); err == nil && disk.Same(info, state.Info) {
		state.Info = info // the move has changed the inode
	}
	d.keep(name, state, doc)
}

// has reports whether the file at path is one of them.
func (d *displacedFiles) has(path string) bool {
	return slices.ContainsFunc(d.list, func(f *displacedFile) bool { return f.path == path })
}

func (d *displacedFiles) keep(path string, state disk.State, doc *document.Document) {
	d.list = append(d.list, &displacedFile{State: state, path: path, doc: doc, at: d.o.now()})
}

// removeOld removes the displaced files that nobody can write to any more. It
// leaves the newest unless all is set. It also removes litter.
func (d *displacedFiles) removeOld(all bool) {
	var bytes int64
	for i := len(d.list) - 1; i >= 0; i-- {
		f, newer := d.list[i], len(d.list)-i
		bytes += f.Info.Size()
		tooMany := newer > keepMost || bytes > keepSize && newer > 2
		if (all || newer > 1) && d.remove(f, tooMany) {
			d.list = slices.Delete(d.list, i, i+1)
		}
	}
	d.litter = slices.DeleteFunc(d.litter, func(path string) bool {
		return !isAny(d.o.sys.Remove(path), disk.ErrHeld, syscall.EBUSY)
	})
}

// keepFor returns how long a file stays for a save that began before it was displaced, if the
// system does not report whether it is open.
func (d *displacedFiles) keepFor() time.Duration {
	if d.closed {
		return graceWrite
	}
	return keepFor
}

func (d *displacedFiles) remove(f *displacedFile, tooMany bool) bool {
	sys := &d.o.sys
	if sys.OpenBlocks {
		if err := sys.Unused(f.path); err != nil {
			return errors.Is(err, fs.ErrNotExist)
		}
	}
	open, err := sys.Open(f.path, os.O_RDONLY, 0)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer sys.Close(open) // ends the lease, which holds back writers until then
	if !sys.OpenBlocks {
		err = sys.Lease(open, disk.ReadLease)
		if err == disk.ErrTaken || err != nil && !tooMany && d.o.now().Sub(f.at) < d.keepFor() {
			return false
		}
	}
	info, err := sys.Fstat(open)
	if err != nil || !disk.Same(info, f.Info) {
		return false // an edit that has not been collected yet
	}
	if !f.Untouched(info) {
		if _, state, err := sys.Read(open, d.o.now); err != nil || state.Sum != f.Sum {
			return false
		}
	}
	err = sys.Remove(f.path)
	return err == nil || errors.Is(err, fs.ErrNotExist)
}
