package filestore

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"pickup/filestore/document"
	"pickup/filestore/internal/disk"
	"pickup/filestore/internal/durable"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A dataFile is one file of a Store, with the contents served from the file. Guarded by Store.mu.
type dataFile struct {
	*durable.File
	store   *state
	member  string             // the name of the field in the file; "": the file is a database
	several bool               // the file is in a folder
	doc     *document.Document // the contents; File.Content is on the disk
	reading readState
}

func newFile(s *state, path, real string) *dataFile {
	f := &dataFile{store: s}
	f.File = durable.New(s.env, path, real, func(text []byte) error {
		_, err := f.parse(text, nil)
		return err
	})
	return f
}

// parse parses a text of the file. An array at the start is a collection with the name of the file.
// before is the document before an edit, or nil.
func (f *dataFile) parse(data []byte, before *document.Document) (*document.Document, error) {
	member := f.member
	if !f.Opened && member == "" && rawjson.Begins(data) == '[' {
		member = MemberOf(f.Path)
	}
	return document.ParseMember(member, f.Path, data, f.store.o.ids, before)
}

// written returns the content of the file, nil if a commit has removed the file.
func (f *dataFile) written() *document.Document {
	doc, _ := f.Content.(*document.Document)
	return doc
}

// setContent records the content of the file, nil if there is no file.
func (f *dataFile) setContent(doc *document.Document) {
	f.Content = nil // and not a nil pointer
	if doc != nil {
		f.Content = doc
	}
}

// keyBy gives the elements new keys, from the fields returned by Options.ids.
func (f *dataFile) keyBy() {
	ids := f.store.o.ids
	same := f.written() == f.doc
	f.doc = f.doc.KeyedBy(ids)
	if same {
		f.setContent(f.doc)
	} else if doc := f.written(); doc != nil {
		f.setContent(doc.KeyedBy(ids))
	}
	for _, d := range f.Displaced() {
		if doc, ok := d.Content.(*document.Document); ok { // an edit of d is compared by the new ids
			d.Content = doc.KeyedBy(ids)
		}
	}
}

// work does the work due between commits, and returns the time until the next look at the file.
func (f *dataFile) work() time.Duration {
	f.collectLateEdits()
	err := f.refresh()
	f.Clean(false)
	if err == nil {
		f.syncAgain() // work is the next try
	}
	f.ProbeAgain()
	if err != nil && f.reading.reported == nil {
		return durable.RetryAfter
	}
	return pollEvery
}

// close releases the locks and removes the dot files. It waits for editors until 2 s after begin.
func (f *dataFile) close(begin time.Time) error {
	lost := false
	f.Closing = true
	for ; !f.NoWrites; f.Nap(durable.RetryAfter) {
		now := f.Now() // before Clean: the last Clean is after the end of the wait
		f.collectLateEdits()
		f.Clean(true)
		lost = f.isLost()
		saving := lost && f.reading.isSaving(now)
		if !f.HasLeftovers() && !saving || now.Sub(begin) > durable.GraceWrite {
			break
		}
	}
	var err error
	if lost {
		err = f.keepLost()
	}
	return errors.Join(err, f.Unlock())
}

// keepLost saves the contents of the store as a conflict copy, unless another server holds the file and
// saves a copy, or the next start writes the same contents.
func (f *dataFile) keepLost() error {
	f.Relocate()
	text := f.doc.Bytes()
	if f.IsRefused() || bytes.Equal(bytes.TrimSpace(text), bytes.TrimSpace(f.store.o.Initial)) {
		return nil
	}
	what := "%s has lost its content. What was served (rename it to restore the content)"
	if errors.Is(f.reading.err, durable.ErrDetached) {
		what = "the mounted file %s was deleted or replaced on the host: what was served"
	}
	if !f.SaveConflictCopy(text, what) {
		return fmt.Errorf("%s has lost its content, and the copy of what was served could not be written (see the log)",
			f.Path)
	}
	return nil
}

// isLost reports whether only memory has the contents of the store: the file is missing, or has no
// text, or was unlinked under a mount. A file unreadable for another reason may still have the
// contents.
func (f *dataFile) isLost() bool {
	err := f.refresh()
	if disk.IsAny(err, fs.ErrNotExist, durable.ErrEmpty, durable.ErrDetached) {
		return true
	}
	if !errors.Is(err, storage.ErrShape) {
		return false
	}
	info, err := f.Sys.Stat(f.Path) // a directory, or a file too large
	return err == nil && !info.Mode().IsRegular()
}
