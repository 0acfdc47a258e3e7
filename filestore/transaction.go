package filestore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
// new texts, and the checksum of all that. When it is durable the commit is decided, and a
// crash or a disk that fails only delays it.
type part struct {
	Member   string
	Old, New *checksum.Sum // of the contents; nil: no file
	Size     int64         // of the new text

	file    *dataFile // nil: it is not served
	changes []storage.Change
	next    *document.Document // nil: no file
}

const redoName = ".redo"

// commitFiles makes changes of the files of a folder durable, and the contents. It reports
// whether edits were merged into them.
func (s *Store) commitFiles(ctx context.Context, base storage.Rev, changes []storage.Change) (merged bool, err error) {
	// Load edits of the files. An edit is a conflict.
	for _, f := range s.files {
		f.collectLateEdits()
	}
	if err := s.lookLocked(ctx); err != nil {
		return false, err
	}
	var parts []*part
	for _, ch := range changes {
		i := slices.IndexFunc(parts, func(p *part) bool { return p.Member == ch.Collection })
		if i < 0 {
			i = len(parts)
			parts = append(parts, &part{Member: ch.Collection, file: s.find(ch.Collection)})
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
		return false, fmt.Errorf("%w: %s was edited", storage.ErrConflict, s.path)
	}
	for _, p := range parts {
		if err == nil {
			err = s.apply(p)
		}
	}
	if err != nil {
		return false, err
	}
	parts = slices.DeleteFunc(parts, func(p *part) bool {
		return p.file == nil && p.next == nil || p.file != nil && p.next == p.file.doc
	})
	switch {
	case len(parts) == 0:
		return false, nil
	case s.o.Ephemeral:
		for _, p := range parts {
			s.keep(p)
		}
		return false, nil
	case len(parts) == 1 && parts[0].file != nil && parts[0].next != nil:
		return false, parts[0].file.commit(ctx, base, changes, parts[0].next)
	}
	return s.commitParts(ctx, parts)
}

// apply sets p.next to the document to which its changes lead.
func (s *Store) apply(p *part) (err error) {
	changes := p.changes
	if p.file != nil {
		p.next = p.file.doc
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
	case !s.o.Ephemeral && s.folder.exists(path) && refusedName(p.Member) == "":
		return fmt.Errorf("the file %s.json is there, and is not served: %w", p.Member, storage.ErrInvalid)
	default:
		if err := s.refuse(p.Member); err != nil {
			return err
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

// keep makes a part in memory only.
func (s *Store) keep(p *part) {
	switch {
	case p.next == nil:
		s.drop(p.file)
	case p.file == nil:
		f := s.fileOf(p.Member)
		f.doc, f.target.doc, f.known = p.next, p.next, disk.State{Sum: checksum.Of()}
		i, _ := s.place(p.Member)
		s.setFiles(slices.Insert(slices.Clone(s.files), i, f))
	default:
		p.file.doc = p.next
	}
}

// commitParts makes parts durable, all or none, and the contents.
func (s *Store) commitParts(ctx context.Context, parts []*part) (merged bool, err error) {
	for _, p := range parts {
		if p.file != nil {
			if p.Old = new(p.file.known.Sum); p.file.real != s.fileOf(p.Member).real {
				return false, fmt.Errorf("the file %s.json is a link, which can only be changed alone: %w", p.Member, storage.ErrInvalid)
			}
		}
		if p.next != nil {
			p.New, p.Size = new(p.next.Sum()), p.next.Size()
		}
	}
	defer s.release(parts)
	// Make the record durable.
	if err = s.writeRecord(parts); err == nil {
		// Write each file in its way.
		merged, err = s.complete(ctx, parts)
	}
	if err != nil && s.folder.half {
		return false, fmt.Errorf("%w: a change of several files waits for the disk: %w", storage.ErrUnsure, err)
	}
	// Remove the record, or it would undo a later commit.
	if failed := s.dropRecord(); failed != nil {
		return false, failed
	}
	if errors.Is(err, errMovedOn) {
		return false, fmt.Errorf("%w: %s was edited", storage.ErrConflict, s.path)
	}
	if err != nil {
		return false, s.folder.refuse(err)
	}
	s.showWritten(parts)
	return merged, nil
}

// complete writes the parts of a commit that is decided. It sets half if it has failed in the
// middle.
func (s *Store) complete(ctx context.Context, parts []*part) (merged bool, err error) {
	for i, p := range parts {
		edited, err := s.completePart(ctx, p)
		for n := 0; i > 0 && n < 10 && isAny(err, errMovedOn, storage.ErrBusy); n++ { // an edit is being saved
			s.o.nap(retryAfter)
			edited, err = s.completePart(ctx, p)
		}
		if err != nil {
			s.folder.half = s.folder.half || i > 0 || errors.Is(err, storage.ErrUnsure)
			return merged, err
		}
		merged = merged || edited
	}
	return merged, nil
}

// release gives back the files of parts that are not served.
func (s *Store) release(parts []*part) {
	for _, p := range parts {
		if p.file != nil && s.find(p.Member) == nil {
			p.file.lock.release()
			p.file.displaced.removeOld(true)
			s.folder.warnings = append(s.folder.warnings, p.file.warnings...)
			p.file = nil
		}
	}
}

// completePart writes one part. It merges an edit that was saved meanwhile. After a crash such
// an edit wins, and what the commit would have made of it becomes a conflict copy.
func (s *Store) completePart(ctx context.Context, p *part) (merged bool, err error) {
	f, base := p.file, (*document.Document)(nil)
	if f != nil {
		base = f.doc
		err = f.lookAgain(p.next)
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
	switch {
	case is(p.New) && !f.unsynced:
	case p.next == nil && is(p.Old):
		return false, f.refuse(f.unlink())
	case p.next == nil: // the edit is newer
		return true, nil
	case is(p.Old) || is(p.New):
		return false, f.write(p.next)
	case base != nil && base != f.doc:
		next, edit := p.next, f.doc
		m, err := document.Merge(base, next, edit)
		if err == nil {
			next = m.Ours
		}
		if (err != nil || len(m.Conflicts) > 0) && !f.saveConflictCopy(edit.Bytes(), "an edit of %s that changed what was written at the same moment") {
			return false, f.refuse(errUnkept)
		}
		return true, f.write(next)
	case p.changes != nil: // another program has made the file
		return false, errMovedOn
	case !f.saveConflictCopy(p.next.Bytes(), "a write to %s that was interrupted, and would undo an edit,"):
		return false, f.refuse(errUnkept)
	}
	return false, nil
}

var errUnkept = errors.New("a conflict copy cannot be written")

// lookAgain looks at the file of a commit that is decided. If next is in the file, it is not
// shown yet, because other files may not have theirs.
func (f *dataFile) lookAgain(next *document.Document) (err error) {
	if f.inPlace.halfWritten {
		_, err = f.inPlace.redo(nil)
	} else if info, err := f.o.sys.Stat(f.path); err == nil && f.known.Untouched(info) {
		return nil
	}
	if err == nil {
		var state disk.State
		switch _, state, err = f.read(f.path); {
		case errors.Is(err, fs.ErrNotExist):
			return err
		case err == nil && next != nil && state.Sum == next.Sum():
			f.known, f.target.doc = state, next
		case err == nil && state.Sum != f.known.Sum:
			err = f.look()
		}
	}
	if err != nil {
		err = f.unusable(err)
	}
	return err
}

// showWritten makes what was written to the files the contents.
func (s *Store) showWritten(parts []*part) {
	for _, f := range s.files {
		if !f.unsynced {
			f.doc = f.target.doc
		}
		if f.known.Info == nil {
			s.drop(f)
		}
	}
	for _, p := range parts {
		if i, served := s.place(p.Member); p.next != nil && p.file != nil && !served {
			p.file.doc, p.file.opened = p.file.target.doc, true
			s.setFiles(slices.Insert(slices.Clone(s.files), i, p.file))
		}
	}
}

// unlink removes the file; the caller syncs the directory. What is removed is kept while an editor has it open.
func (t *target) unlink() error {
	name := t.dotFile(fmt.Sprintf(displacedName+"%v-0", t.known.Sum))
	for n := 1; t.exists(name); n++ {
		name = t.dotFile(fmt.Sprintf(displacedName+"%v-%d", t.known.Sum, n))
	}
	if err := t.o.sys.Rename(t.real, name); err != nil {
		return err
	}
	if !t.isExpected(name) {
		replacement{target: t}.restore(name)
		t.o.sys.SyncDir(t.dir()) // before any answer; recovery deals with a failure
		return errMovedOn
	}
	t.displaced.keep(name, t.known, t.doc)
	t.known = disk.State{Sum: checksum.Of()}
	return nil
}

func (s *Store) writeRecord(parts []*part) error {
	head, err := json.Marshal(parts)
	if err != nil {
		return err
	}
	err = s.folder.create(s.folder.dotFile(redoName), func(w *disk.Writer) {
		var sum checksum.Writer
		out := io.MultiWriter(w, &sum) // w keeps its first error
		out.Write(append(head, '\n'))
		for _, p := range parts {
			if p.next != nil {
				p.next.Runs().WriteTo(out)
			}
		}
		io.WriteString(w, sum.Sum().String())
	})
	if err == nil {
		err = s.o.sys.SyncDir(s.folder.dir())
	}
	return err
}

// dropRecord removes the record of a commit, durably. Changes of names reach the disk in
// order, so that this syncs also those of the files.
func (s *Store) dropRecord() error {
	err := s.o.sys.Remove(s.folder.dotFile(redoName))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
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
		if real, err := s.o.sys.Resolve(path); err != nil || real != path || refusedName(p.Member) != "" || p.Size < 0 || p.Size > int64(len(rest)) {
			return nil, fmt.Errorf("%q is not the name of a file in this folder", p.Member)
		}
		if p.New != nil {
			if p.next, err = document.ParseMember(p.Member, p.Member+".json", rest[:p.Size:p.Size], s.o.ids, nil); err != nil {
				return nil, err
			}
		}
		p.file, rest = s.find(p.Member), rest[p.Size:]
	}
	return parts, nil
}

// redo completes the commit of which there is a record.
func (s *Store) redo(ctx context.Context) error {
	parts, err := s.readRecord()
	if err != nil {
		return fmt.Errorf("%w: cannot complete the change of several files in %s: %w", storage.ErrReadOnly, filepath.Join(s.path, ".pickup"+redoName), disk.Cause(err))
	}
	defer s.release(parts)
	if _, err = s.complete(ctx, parts); err == nil {
		err = s.dropRecord()
	}
	if err != nil {
		return err
	}
	if len(parts) > 0 {
		s.folder.warn("a change of several files of %s that was interrupted has been completed", s.path)
	}
	if s.folder.opened {
		s.showWritten(parts)
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
	f.warnings = append(f.warnings, s.warningsLocked()...)
	return errors.Join(err, s.closeFilesLocked())
}
