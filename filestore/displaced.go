package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pickup/filestore/document"
	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// A displaced is a file that a commit took out of the file's place: P. An
// editor that opened it before still writes into it, and what comes of that is
// an edit as any other. So it keeps a name until nobody can write into it.
type displaced struct {
	disk.State
	path string
	doc  *document.Document // what it held when it was displaced; nil: not known
	rev  storage.Rev        // what the store was at then
	at   time.Time          // when that was
	open bool               // somebody was seen to write into it
}

// Limits where the system does not tell whether a file is open for writing.
const (
	keepFor  = 5 * time.Second // long enough for a save that began before
	keepMost = 500             // files, and so many
	keepSize = 1 << 30         // bytes, whatever is more
)

// prevName returns a name for a file that is displaced; content alone is no
// name, for a file may go back and forth between two.
func (s *Store) prevName(h disk.Sum) string {
	for n := 0; ; n++ {
		path := s.beside(fmt.Sprintf(".prev-%v-%d", h, n))
		if !slices.ContainsFunc(s.displaced, func(d displaced) bool { return d.path == path }) {
			return path
		}
	}
}

// displaceLocked gives the displaced file at path the name of its kind and
// remembers it.
func (s *Store) displaceLocked(path string, c disk.State, doc *document.Document) {
	prev := s.prevName(c.Sum)
	if s.o.sys.Rename(path, prev) != nil {
		prev = path // the name matters to recovery only, which knows this one too
	}
	s.rememberLocked(prev, c, doc)
}

func (s *Store) rememberLocked(path string, c disk.State, doc *document.Document) {
	s.displaced = append(s.displaced, displaced{State: c, path: path, doc: doc, rev: s.rev, at: s.o.now()})
}

// tendLocked is R0: edits that were finished in displaced files are merged into
// what the store serves, or kept beside it.
func (s *Store) tendLocked() {
	for _, d := range slices.Clone(s.displaced) { // a merge displaces another
		changed := s.tendOneLocked(&d)
		i := slices.IndexFunc(s.displaced, func(e displaced) bool { return e.path == d.path })
		if changed {
			s.displaced[i] = d
		}
		if d.Info == nil {
			s.displaced = slices.Delete(s.displaced, i, i+1)
		}
	}
}

// tendOneLocked looks at one displaced file and reports whether it changed d.
// It leaves d.Info nil where there is nothing left to look after.
func (s *Store) tendOneLocked(d *displaced) (changed bool) {
	info, err := s.o.sys.Stat(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		d.Info = nil
		return true
	}
	if err != nil || d.State.Is(info) {
		return false
	}
	who := s.whoWrites(d.path)
	if who == somebody || who == unknown && s.o.now().Sub(info.ModTime()) < quietAtMost {
		d.open = true
		return true // the edit is not finished
	}
	d.open = false
	data, c, err := s.readFile(d.path)
	switch {
	case errors.Is(err, errEmpty): // an editor that gave up half way
		d.State = c
	case err != nil:
		return true
	case c.Sum == d.Sum:
		d.State = c
	default:
		s.lateEditLocked(d, data, c)
	}
	return true
}

// lateEditLocked takes in an edit that was finished in d after d was displaced.
func (s *Store) lateEditLocked(d *displaced, data []byte, c disk.State) {
	doc, err := document.Parse(s.path, data, s.o.idMember)
	if err != nil {
		s.keepDisplacedLocked(d, "an edit of %s that was cut off")
		return
	}
	if s.lookLocked() != nil {
		return // the file has an edit that does not parse: this one waits
	}
	// The base of the edit is the file as it was displaced. What has been
	// written since is written again on top of it. Where that was another
	// edit, its text cannot be: both stay as they are.
	if d.doc == nil || s.merged > d.rev {
		s.keepDisplacedLocked(d, "an edit of %s that was finished after a later one")
		return
	}
	ours := document.Diff(d.doc, s.doc)
	merged, err := doc.Apply(ours)
	if err != nil {
		s.keepDisplacedLocked(d, "an edit of %s that cannot be merged")
		return
	}
	if s.writeLocked(merged) != nil {
		return // it stays where it is, for the next try
	}
	both := document.Overlap(document.Diff(d.doc, doc), ours)
	s.takeOverLocked(merged, s.disk)
	d.State = c
	if both {
		s.keepDisplacedLocked(d, "an edit of %s that changed what was written at the same moment")
	}
}

// keepDisplacedLocked ends the care for d by keeping it for its user.
func (s *Store) keepDisplacedLocked(d *displaced, what string) {
	if s.keepLocked(d.path, what) {
		d.Info = nil
	}
}

// keepLocked gives a file of ours a name that people see, and says so. what
// describes it, with a %s for the path.
func (s *Store) keepLocked(path, what string) bool {
	name := s.real + ".conflict-" + s.o.now().UTC().Format("20060102T150405.000Z")
	for n := 1; ; n++ {
		to := name
		if n > 1 {
			to = fmt.Sprintf("%s-%d", name, n)
		}
		err := s.o.sys.RenameNew(path, to)
		if errors.Is(err, fs.ErrExist) && n < 1000 {
			continue
		}
		if err != nil {
			s.o.Log.Error("an edit of "+s.path+" cannot be given a name", "file", path, "cause", disk.Cause(err))
			return false
		}
		s.o.sys.SyncDir(s.dir())
		s.notice(what+" is kept as %s", s.path, filepath.Base(to))
		if s.o.Kept != nil {
			s.o.Kept(filepath.Base(to))
		}
		return true
	}
}

// dropLocked is R8: displaced files that nobody can write into any more are
// removed, but for the newest unless all is set.
func (s *Store) dropLocked(all bool) {
	var bytes int64
	for i := len(s.displaced) - 1; i >= 0; i-- {
		d := s.displaced[i]
		bytes += d.Info.Size()
		tooMany := len(s.displaced)-i > keepMost || bytes > keepSize && len(s.displaced)-i > 2
		if i == len(s.displaced)-1 && !all || !s.dropOneLocked(d, tooMany) {
			continue
		}
		s.displaced = slices.Delete(s.displaced, i, i+1)
	}
}

func (s *Store) dropOneLocked(d displaced, tooMany bool) bool {
	sys := &s.o.sys
	f, err := sys.Open(d.path, os.O_RDONLY, 0)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer sys.Close(f) // ends the lease, which holds back writers until then
	err = sys.Lease(f, disk.ReadLease)
	if err == disk.ErrTaken || err != nil && !tooMany && s.o.now().Sub(d.at) < keepFor {
		return false
	}
	info, err := sys.Fstat(f)
	if err != nil || !disk.Same(info, d.Info) {
		return false // R0 has not seen this yet
	}
	if !d.State.Is(info) {
		if _, c, err := s.o.sys.Read(f, s.o.now); err != nil || c.Sum != d.Sum {
			return false
		}
	}
	err = sys.Remove(d.path)
	return err == nil || errors.Is(err, fs.ErrNotExist)
}

// Whether somebody has a file open for writing.
type presence int

const (
	nobody presence = iota
	somebody
	unknown // the system does not tell
)

// whoWrites asks by taking a lease, which the kernel grants only to readers of
// a file that nobody writes.
func (s *Store) whoWrites(path string) presence {
	f, err := s.o.sys.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return unknown
	}
	defer s.o.sys.Close(f)
	switch s.o.sys.Lease(f, disk.ReadLease) {
	case nil:
		return nobody
	case disk.ErrTaken:
		return somebody
	}
	return unknown
}
