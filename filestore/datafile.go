package filestore

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"pickup/filestore/document"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A dataFile is one file of a Store, with the contents that the store has from it.
// Store.mu guards it.
type dataFile struct {
	target
	store   *Store             // is told of edits, and wakes its watchers
	doc     *document.Document // the contents; target.doc is what the file has
	reading readState
	clean   bool // there are no dot files of it
}

func (s *Store) newFile(path string) *dataFile {
	f := &dataFile{store: s}
	f.file = &file{o: s.o, path: path}
	f.lock.file, f.displaced.file, f.inPlace.target = f.file, f.file, &f.target
	return f
}

// keyBy gives the elements new keys, from the fields that Options.ids returns.
func (f *dataFile) keyBy() {
	doc := f.doc.KeyedBy(f.o.ids)
	if f.target.doc == f.doc {
		f.target.doc = doc
	} else if f.target.doc != nil {
		f.target.doc = f.target.doc.KeyedBy(f.o.ids)
	}
	f.doc = doc
	for _, d := range f.displaced.list {
		if d.doc != nil { // an edit of it is compared by the new ids
			d.doc = d.doc.KeyedBy(f.o.ids)
		}
	}
}

// work does what is due while nobody commits, and returns the time until the next look.
func (f *dataFile) work() time.Duration {
	f.collectLateEdits()
	err := f.look()
	f.displaced.removeOld(false)
	if err == nil {
		f.syncAgain() // the next try is the next look
	}
	f.lookWritable()
	if err != nil && f.reading.reported == nil {
		return retryAfter
	}
	return pollEvery
}

// close releases the locks and removes the dot files. It waits for editors until 2 s
// after begin.
func (f *dataFile) close(begin time.Time) error {
	var lost bool
	f.displaced.closed = true
	for ; f.o.touches(); f.o.nap(retryAfter) {
		f.collectLateEdits()
		f.displaced.removeOld(true)
		lost = f.isLost()
		now := f.o.now()
		saving := lost && f.reading.isSaving(now)
		if len(f.displaced.list)+len(f.litter) == 0 && !saving || now.Sub(begin) > graceWrite {
			break
		}
	}
	var err error
	if lost {
		err = f.keepLost()
	}
	return errors.Join(err, f.lock.release())
}

// keepLost saves the contents of the store as a conflict copy, unless another
// server that holds the file keeps its own, or the next start writes the same.
func (f *dataFile) keepLost() error {
	f.move()
	text := f.doc.Bytes()
	if f.lock.refused != nil || bytes.Equal(bytes.TrimSpace(text), bytes.TrimSpace(f.o.Initial)) {
		return nil
	}
	what := "%s has lost its content. What was served (rename it to restore the content)"
	if errors.Is(f.reading.err, errDetached) {
		what = "the mounted file %s was deleted or replaced on the host: what was served"
	}
	if !f.saveConflictCopy(text, what) {
		return fmt.Errorf("%s has lost its content, and the copy of what was served could not be written (see the log)", f.path)
	}
	return nil
}

// isLost reports whether only memory has the contents of the store: the file
// is missing, or has no text, or has been unlinked under its mount. A file that cannot
// be read for another reason may have them.
func (f *dataFile) isLost() bool {
	switch err := f.look(); {
	case isAny(err, fs.ErrNotExist, errEmpty, errDetached):
		return true
	case errors.Is(err, storage.ErrShape): // a directory, or a file that is too large
		info, err := f.o.sys.Stat(f.path)
		return err == nil && !info.Mode().IsRegular()
	}
	return false
}

// parse parses a text of the file. An array is the collection that the file is named for,
// if it is so from the start. before is what the text is an edit of, or nil.
func (f *file) parse(data []byte, before *document.Document) (*document.Document, error) {
	member := f.member
	if !f.opened && member == "" && rawjson.Begins(data) == '[' {
		member = MemberOf(f.path)
	}
	return document.ParseMember(member, f.path, data, f.o.ids, before)
}

func (f *file) parses(data []byte) bool {
	_, err := f.parse(data, nil)
	return err == nil
}
