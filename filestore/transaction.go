package filestore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"pickup/filestore/document"
	"pickup/filestore/internal/checksum"
	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// A part is what a commit does to one file of a folder. A commit to several files, and one
// that makes or removes a file, first writes a record: a line of JSON with the parts, their
// new and old texts, and the checksum of all that. When it is durable the commit is decided:
// a crash or a disk that fails only delays it, and it is undone if a file cannot be written.
type part struct {
	Member   string
	Old, New *checksum.Sum // of the contents; nil: no file
	Size     int64         // of the new text
	OldSize  int64         // of the old text

	file       *dataFile // nil: it is not served
	changes    []storage.Change
	base, next *document.Document // before and after; nil: no file
	done       bool               // the file has next
	kept       *document.Document // the edit that is kept as a conflict copy; nil: none is
}

const redoName = ".redo"

// commit makes changes durable, and the contents. It reports whether edits were merged into
// them.
func (s *Store) commit(ctx context.Context, base storage.Rev, changes []storage.Change) (merged bool, err error) {
	for begin, again := s.o.now(), false; ; again = true {
		parts, err := s.plan(ctx, base, changes)
		switch {
		case err != nil:
			return false, err
		case again && s.o.now().Sub(begin) > graceWrite:
			return false, fmt.Errorf("%w: %s is being written all the time", storage.ErrBusy, s.path)
		case s.o.Ephemeral:
			s.keep(parts)
		case len(parts) == 1 && parts[0].file != nil && parts[0].next != nil:
			err = parts[0].file.write(parts[0].next)
		case len(parts) > 0:
			merged, err = s.commitParts(ctx, parts)
		}
		if err == nil {
			s.show(parts)
		}
		s.release(parts)
		if !errors.Is(err, errMovedOn) || errors.Is(err, storage.ErrUnsure) {
			return merged, err
		}
		// Another program has saved a file, and nothing has changed: begin again.
	}
}

// plan returns the parts of a commit. An edit of a file is a conflict.
func (s *Store) plan(ctx context.Context, base storage.Rev, changes []storage.Change) (parts []*part, err error) {
	// Collect edits that were finished in displaced files, and load edits of the files.
	for _, f := range s.files {
		f.collectLateEdits()
	}
	if err := s.lookLocked(ctx); err != nil {
		return nil, err
	}
	if s.folder == nil {
		parts = []*part{{file: s.files[0]}}
	}
	for _, ch := range changes {
		f := s.find(ch.Collection)
		i := slices.IndexFunc(parts, func(p *part) bool { return p.file == f && (f != nil || p.Member == ch.Collection) })
		if i < 0 {
			i = len(parts)
			parts = append(parts, &part{Member: ch.Collection, file: f})
		}
		parts[i].changes = append(parts[i].changes, ch)
	}
	for _, p := range parts {
		if p.file == nil {
			continue
		}
		if err = p.file.waitReadable(ctx); errors.Is(err, fs.ErrNotExist) {
			s.scan(ctx) // it may be deleted by now
		}
		if err != nil {
			break
		}
	}
	if base != s.rev {
		return nil, fmt.Errorf("%w: %s was edited", storage.ErrConflict, s.path)
	}
	for _, p := range parts {
		if err == nil {
			err = s.apply(p)
		}
	}
	return slices.DeleteFunc(parts, func(p *part) bool {
		return p.file == nil && p.next == nil || p.file != nil && p.next == p.file.doc && p.file.known.Info != nil
	}), err
}

// apply sets p.next to the document to which its changes lead.
func (s *Store) apply(p *part) (err error) {
	changes := p.changes
	if p.file != nil {
		p.base, p.next = p.file.doc, p.file.doc
	}
	if s.folder == nil {
		p.next, err = p.next.Apply(changes)
		return err
	}
	for i, ch := range slices.Backward(changes) {
		if ch.ID == "" && ch.Value == nil { // what was before does not matter
			p.next, changes = nil, changes[i+1:]
			break
		}
	}
	if p.next != nil || len(changes) == 0 {
		if len(changes) > 0 {
			p.next, err = p.next.Apply(changes)
		}
		return err
	}
	switch path := filepath.Join(s.path, p.Member+".json"); {
	case changes[0].ID != "":
		return fmt.Errorf("collection %q: %w", p.Member, storage.ErrNotFound)
	case p.file != nil:
	case s.folder.empty:
		return s.folder.busy(storage.ErrBusy, "has lost all its files")
	default:
		if err := s.refuse(p.Member); err != nil {
			return err
		}
		if !s.o.Ephemeral && s.folder.exists(path) {
			return fmt.Errorf("the file %s.json is there, and is not served: %w", p.Member, storage.ErrInvalid)
		}
	}
	// A deleted file comes back as it was if it has the same values.
	texts := [][]byte{[]byte("[]\n")}
	if last := s.folder.lastOf(p.Member); last != nil {
		texts = [][]byte{last.doc.Bytes(), texts[0]}
	}
	for i, text := range texts {
		doc, err := document.ParseMember(p.Member, "", text, s.o.ids, nil)
		if err != nil {
			return err
		}
		if p.next, err = doc.Apply(changes); err != nil || i+1 < len(texts) && bytes.Equal(p.next.Bytes(), text) {
			return err
		}
	}
	return nil
}

// keep makes parts in memory only.
func (s *Store) keep(parts []*part) {
	for _, p := range parts {
		if p.file == nil {
			p.file = s.fileOf(p.Member)
			p.file.known.Sum = checksum.Of()
		}
		p.file.target.doc = p.next
	}
}

// commitParts makes parts durable, all or none, and the contents.
func (s *Store) commitParts(ctx context.Context, parts []*part) (merged bool, err error) {
	for _, p := range parts {
		if p.file != nil {
			if p.Old = new(p.file.known.Sum); p.file.real != s.folder.memberPath(p.Member) {
				return false, fmt.Errorf("the file %s.json is a link, which can only be changed alone: %w", p.Member, storage.ErrInvalid)
			}
			p.OldSize = p.base.Size()
		}
		if p.next != nil {
			p.New, p.Size = new(p.next.Sum()), p.next.Size()
		}
	}
	// Remove files last: a removed file that an undo creates again may have another owner.
	slices.SortStableFunc(parts, func(p, q *part) int {
		if (p.next == nil) == (q.next == nil) {
			return 0
		}
		if p.next == nil {
			return 1
		}
		return -1
	})
	// Check that the files can be written.
	for _, p := range parts {
		if p.file != nil && p.next != nil {
			if err := p.file.checkWritable(); err != nil {
				return false, err
			}
		}
	}
	// Make the record durable.
	if err = s.writeRecord(parts); err == nil {
		// Write each file in its way.
		merged, err = s.complete(ctx, parts)
	}
	if err != nil && !s.undo(parts, err) {
		s.folder.half = true
		return false, fmt.Errorf("%w: a change of several files waits for the disk: %w", storage.ErrUnsure, err)
	}
	// Remove the record, or it would undo a later commit.
	if failed := s.dropRecord(); failed != nil {
		return false, failed
	}
	return merged, s.folder.refuse(err)
}

// complete writes the parts of a commit that is decided.
func (s *Store) complete(ctx context.Context, parts []*part) (merged bool, err error) {
	for i, p := range parts {
		edited, err := s.completePart(ctx, p)
		for n := 0; (i > 0 || s.folder.half) && n < 10 && isAny(err, errMovedOn, storage.ErrBusy); n++ { // an edit is being saved
			s.o.nap(retryAfter)
			edited, err = s.completePart(ctx, p)
		}
		if err != nil {
			return merged, err
		}
		p.done = true
		merged = merged || edited
	}
	return merged, nil
}

// release gives back the files of parts that are not served.
func (s *Store) release(parts []*part) {
	for _, p := range parts {
		if p.file != nil && s.find(p.Member) == nil {
			s.giveBack(p.file)
			s.folder.warnings = append(s.folder.warnings, p.file.warnings...)
			p.file = nil
		}
	}
}

// completePart writes one part. It merges an edit that was saved meanwhile. After a crash such
// an edit wins, and what the commit would have made of it becomes a conflict copy.
func (s *Store) completePart(ctx context.Context, p *part) (merged bool, err error) {
	f := p.file
	if f != nil {
		before := f.doc
		if err = f.look(); err != nil {
			err = f.unusable(err)
		} else if p.New != nil && f.known.Sum == *p.New {
			f.doc = before // it is shown with the others
		}
	} else {
		f = s.fileOf(p.Member)
		p.file = f
		err = f.start(ctx)
	}
	absent := errors.Is(err, fs.ErrNotExist)
	if err != nil && !absent {
		return false, err
	}
	f.syncLater = true
	defer func() { f.syncLater = false }()
	if absent {
		f.known, f.target.doc = disk.State{Sum: checksum.Of()}, p.next
	}
	is := func(sum *checksum.Sum) bool { return absent == (sum == nil) && (absent || f.known.Sum == *sum) }
	if is(p.New) && !f.unsynced {
		return false, nil
	}
	if p.next == nil && is(p.Old) {
		return false, f.refuse(f.unlink())
	}
	if p.next == nil { // the edit is newer
		return true, nil
	}
	if is(p.Old) || is(p.New) {
		return false, f.write(p.next)
	}
	if err := f.prepare(); err != nil {
		return false, err
	}
	if p.base != nil && s.folder.opened && !absent {
		return true, f.mergePart(p)
	}
	if p.changes != nil { // another program has made the file, or removed it
		return false, errMovedOn
	}
	if !f.saveConflictCopy(p.next.Bytes(), "a write to %s that was interrupted, and would undo an edit,") {
		return false, f.refuse(errUnkept)
	}
	return false, nil
}

// mergePart writes p merged with an edit of the file. What an edit has changed that the commit
// changes, too, becomes a conflict copy.
func (f *dataFile) mergePart(p *part) error {
	next, edit := p.next, f.doc
	m, err := document.Merge(p.base, next, edit)
	if err == nil {
		next = m.Ours
	}
	if (err != nil || len(m.Conflicts) > 0) && p.kept != edit { // or it was kept for the last try
		if !f.saveConflictCopy(edit.Bytes(), "an edit of %s that changed what was written at the same moment") {
			return f.refuse(errUnkept)
		}
		p.kept = edit
	}
	return f.write(next)
}

var errUnkept = errors.New("a conflict copy cannot be written")

// show makes what was written to the files the contents.
func (s *Store) show(parts []*part) {
	for _, f := range s.files {
		switch {
		case f.target.doc == nil:
			s.drop(f)
		case !f.unsynced:
			f.doc = f.target.doc
		}
	}
	for _, p := range parts {
		if i, served := s.place(p.Member); s.folder != nil && p.next != nil && p.file != nil && !served {
			p.file.doc, p.file.opened = p.file.target.doc, true
			s.setFiles(slices.Insert(slices.Clone(s.files), i, p.file))
		}
	}
}

func (s *Store) writeRecord(parts []*part) error {
	head, err := json.Marshal(parts)
	if err != nil {
		return err
	}
	record := [][]byte{append(head, '\n')}
	for _, p := range parts {
		if p.next != nil {
			record = append(record, p.next.Runs()...)
		}
		if p.base != nil {
			record = append(record, p.base.Runs()...)
		}
	}
	record = append(record, []byte(checksum.Of(record...).String()))
	err = s.folder.create(s.folder.dotFile(redoName), 0o600, func(w *disk.Writer) { w.Write(record...) })
	if err == nil {
		err = s.o.sys.SyncDir(s.folder.dir())
	}
	return err
}

// dropRecord removes the record of a commit, durably. Changes of names reach the disk in
// order, so this syncs the changed names of the files, too.
func (s *Store) dropRecord() error {
	path := s.folder.dotFile(redoName)
	err := s.folder.insist(func() error { return s.o.sys.Remove(path) })
	_, missing := s.o.sys.Stat(path) // a read-only file system refuses to remove what is not there, too
	if err == nil || errors.Is(missing, fs.ErrNotExist) {
		err = s.o.sys.SyncDir(s.folder.dir())
	}
	if s.folder.half = err != nil; err != nil {
		return fmt.Errorf("%w: %s: the disk failed to confirm a change of several files: %w", storage.ErrUnsure, s.path, disk.Cause(err))
	}
	return nil
}

// readRecord returns the record in the folder, or nil if it is missing or incomplete:
// then no file was changed.
func (s *Store) readRecord() (parts []*part, err error) {
	open, err := s.o.sys.Open(s.folder.dotFile(redoName), os.O_RDONLY|disk.NoFollow, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data, err := s.o.sys.ReadAll(open, 0)
	s.o.sys.Close(open)
	at := len(data) - len(checksum.Sum(0).String())
	if err != nil || at < 0 || checksum.Of(data[:at]).String() != string(data[at:]) {
		return nil, err
	}
	head, rest, _ := bytes.Cut(data[:at], []byte("\n"))
	if err := json.Unmarshal(head, &parts); err != nil {
		return nil, err
	}
	for _, p := range parts {
		path := filepath.Join(s.folder.dir(), p.Member+".json")
		if real, err := s.o.sys.Resolve(path); err != nil || real != path || refusedName(p.Member) != "" {
			return nil, fmt.Errorf("%q is not the name of a file in this folder", p.Member)
		}
		text := func(size int64) (doc *document.Document, err error) {
			if size < 0 || size > int64(len(rest)) {
				return nil, fmt.Errorf("it has no %d bytes for %s.json", size, p.Member)
			}
			doc, err = document.ParseMember(p.Member, p.Member+".json", rest[:size:size], s.o.ids, nil)
			rest = rest[size:]
			return doc, err
		}
		if p.New != nil {
			if p.next, err = text(p.Size); err != nil {
				return nil, err
			}
		}
		if p.Old != nil {
			if p.base, err = text(p.OldSize); err != nil {
				return nil, err
			}
		}
		p.file = s.find(p.Member)
	}
	return parts, nil
}

// redo completes the commit in the record of the folder, if there is one, or undoes it if a
// file of it cannot be written.
func (s *Store) redo(ctx context.Context) error {
	parts, err := s.readRecord()
	if err != nil {
		return fmt.Errorf("%w: cannot complete the change of several files in %s: %w", storage.ErrReadOnly, filepath.Join(s.path, ".pickup"+redoName), disk.Cause(err))
	}
	defer s.release(parts)
	_, why := s.complete(ctx, parts)
	if why != nil && !isAny(why, storage.ErrReadOnly, storage.ErrFull) {
		return why
	}
	if why != nil && !s.undo(parts, why) {
		return why
	}
	if err := s.dropRecord(); err != nil {
		return err
	}
	if why != nil {
		s.folder.warn("a change of several files of %s that was interrupted has been undone: %v", s.path, why)
	} else if len(parts) > 0 {
		s.folder.warn("a change of several files of %s that was interrupted has been completed", s.path)
	}
	if s.folder.opened {
		if why == nil {
			s.show(parts)
		}
		s.editedLocked()
	}
	return nil
}

// warnOfRecord warns if a change of several files next to f was interrupted, which only a
// start that may write completes.
func (f *file) warnOfRecord(to *file) {
	if record := f.dotFile(redoName); f.exists(record) {
		to.warn("%s is a change of several files that was interrupted: start once without read-only to complete it", record)
	}
}

// completeRecord completes the change of several files in the directory of the file, if one
// was interrupted.
func (f *dataFile) completeRecord(ctx context.Context) error {
	d := folderFile(f.o, f.path, f.dir())
	if !f.o.touches() {
		d.warnOfRecord(f.file)
		return nil
	}
	if !f.exists(d.dotFile(redoName)) {
		return nil
	}
	s := &Store{path: f.dir(), o: new(*f.o), feed: storage.NewFeed(1, keepBatches)}
	err := s.enterFolder(ctx)
	f.warnings = append(f.warnings, s.Warnings()...)
	return errors.Join(err, s.closeFilesLocked())
}
