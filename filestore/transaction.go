package filestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"pickup/filestore/document"
	"pickup/filestore/internal/checksum"
	"pickup/filestore/internal/durable"
	"pickup/internal/storage"
)

// A part is the part of a commit for one file of a folder. A commit first writes a commit intent if
// several files change, or a file is made or removed. When the intent is durable the commit is decided:
// a crash or a failing disk only delays the commit. An unwritable file leads to an undo.
type part struct {
	Member   string
	Old, New *checksum.Sum // of the contents; nil: no file
	JSON5    bool          `json:",omitempty"`
	Size     int64         // of the new text
	OldSize  int64         // of the old text

	file       *dataFile // nil: not served
	changes    []storage.Change
	base, next *document.Document // before and after; nil: no file
	done       bool               // the file has next
	kept       *document.Document // the edit kept as a conflict copy; nil: none
}

// name returns the name of the file.
func (p *part) name() string {
	if p.JSON5 {
		return p.Member + ".json5"
	}
	return p.Member + ".json"
}

// commit makes changes durable, and then the contents. merged says that edits were merged.
func (s *Store) commit(ctx context.Context, base storage.Rev, changes []storage.Change) (merged bool, err error) {
	started := s.env.Now()
	for again := false; ; again = true {
		parts, err := s.plan(ctx, base, changes)
		if err != nil {
			return false, err
		}
		if again && s.env.Now().Sub(started) > durable.GraceWrite {
			return false, fmt.Errorf("%w: %s is being written all the time", storage.ErrBusy, s.path)
		}
		merged, err := s.write(ctx, parts)
		if err == nil {
			s.show(parts)
		}
		s.release(parts)
		if !errors.Is(err, durable.ErrMovedOn) || errors.Is(err, storage.ErrUnsure) {
			return merged, err
		}
		// Another program has saved a file, and nothing has changed: start again.
	}
}

// write makes parts durable, all or none. merged says that edits were merged.
func (s *Store) write(ctx context.Context, parts []*part) (merged bool, err error) {
	if s.o.Ephemeral {
		s.keepInMemory(parts)
		return false, nil
	}
	if len(parts) == 0 {
		return false, nil
	}
	if first := parts[0]; len(parts) == 1 && first.file != nil && first.next != nil {
		return false, first.file.Write(first.next)
	}
	return s.commitParts(ctx, parts)
}

// plan returns the parts of a commit. An edit of a file is a conflict.
func (s *Store) plan(ctx context.Context, base storage.Rev, changes []storage.Change) ([]*part, error) {
	// Collect edits finished in displaced files, and load edits of the files.
	for _, f := range s.files {
		f.collectLateEdits()
	}
	if err := s.refreshLocked(ctx); err != nil {
		return nil, err
	}
	parts := s.split(changes)
	err := s.waitReadable(ctx, parts)
	if base != s.rev {
		return nil, fmt.Errorf("%w: %s was edited", storage.ErrConflict, s.path)
	}
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		if err := s.apply(p, parts); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(parts, (*part).isNothing), nil
}

// split returns the parts with changes.
func (s *Store) split(changes []storage.Change) (parts []*part) {
	if s.folder == nil {
		return []*part{{file: s.files[0], changes: changes}}
	}
	for _, ch := range changes {
		i := slices.IndexFunc(parts, func(p *part) bool { return p.Member == ch.Collection })
		if i < 0 {
			i = len(parts)
			p := &part{Member: ch.Collection, file: s.find(ch.Collection)}
			p.JSON5 = p.file != nil && document.IsJSON5(p.file.Path)
			parts = append(parts, p)
		}
		parts[i].changes = append(parts[i].changes, ch)
	}
	return parts
}

// waitReadable waits until the store has loaded the files of parts.
func (s *Store) waitReadable(ctx context.Context, parts []*part) error {
	for _, p := range parts {
		if p.file == nil {
			continue
		}
		err := p.file.waitReadable(ctx)
		if errors.Is(err, fs.ErrNotExist) {
			s.scan(ctx) // the file may be deleted by now
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isNothing reports whether p changes no file.
func (p *part) isNothing() bool {
	if p.file == nil {
		return p.next == nil
	}
	return p.next == p.file.doc && p.file.LastSeen.Info != nil
}

// apply sets p.next to the document to which its changes lead. p is one of the parts.
func (s *Store) apply(p *part, parts []*part) (err error) {
	changes := p.changes
	if p.file != nil {
		p.base = p.file.doc
		p.next = p.base
	}
	if s.folder == nil {
		p.next, err = p.next.Apply(changes)
		return err
	}
	for i, ch := range slices.Backward(changes) {
		if ch.ID == "" && ch.Value == nil { // earlier changes do not matter
			p.next = nil
			changes = changes[i+1:]
			break
		}
	}
	if len(changes) == 0 {
		return nil
	}
	if p.next != nil {
		p.next, err = p.next.Apply(changes)
		return err
	}
	if changes[0].ID != "" {
		return fmt.Errorf("collection %q: %w", p.Member, storage.ErrNotFound)
	}
	if p.file == nil {
		if err := s.checkNew(p.Member); err != nil {
			return err
		}
	}
	p.next, err = s.newDocument(p, changes, parts)
	return err
}

// checkNew returns why no file can be made for member.
func (s *Store) checkNew(member string) error {
	if s.empty {
		return s.folder.Busy(storage.ErrBusy, "has lost all its files")
	}
	if err := s.refuse(member); err != nil {
		return err
	}
	for _, ending := range endings {
		if !s.o.Ephemeral && s.folder.Exists(filepath.Join(s.path, member+ending)) {
			return fmt.Errorf("the file %s is there, and is not served: %w", member+ending, storage.ErrInvalid)
		}
	}
	return nil
}

// removedFiles returns the files that parts remove.
func removedFiles(parts []*part) (files []*dataFile) {
	isRemoval := func(ch storage.Change) bool { return ch.ID == "" && ch.Value == nil }
	for _, p := range parts {
		if p.file != nil && p.file.doc != nil && slices.ContainsFunc(p.changes, isRemoval) {
			files = append(files, p.file)
		}
	}
	return files
}

// newDocument returns a document for p with the values of changes. A deleted file, or one that parts
// remove, comes back as it was if it has the same values. A new file then has the same syntax.
func (s *Store) newDocument(p *part, changes []storage.Change, parts []*part) (*document.Document, error) {
	apply := func(name string, text []byte) (*document.Document, error) {
		doc, err := document.ParseMember(p.Member, name, text, s.o.ids, nil)
		if err != nil {
			return nil, err
		}
		return doc.Apply(changes)
	}
	removed := removedFiles(parts)
	if last := s.folder.lastOf(p.Member); last != nil {
		removed = append(removed, last)
	}
	for _, f := range removed {
		isJSON5 := document.IsJSON5(f.Path)
		if p.file != nil && p.JSON5 != isJSON5 {
			continue
		}
		text := f.doc.Bytes()
		doc, err := apply(f.Path, text)
		if err != nil || bytes.Equal(doc.Bytes(), text) {
			p.JSON5 = isJSON5
			return doc, err
		}
	}
	return apply(p.name(), []byte("[]\n"))
}

// keepInMemory makes parts in memory only.
func (s *Store) keepInMemory(parts []*part) {
	for _, p := range parts {
		if p.file == nil {
			p.file = s.newMember(p.name())
			p.file.SetMissing()
		}
		p.file.setContent(p.next)
	}
}

// commitParts makes parts durable by a commit intent, all or none.
func (s *Store) commitParts(ctx context.Context, parts []*part) (merged bool, err error) {
	for _, p := range parts {
		if p.file != nil {
			if p.file.Real != s.folder.filePath(p.name()) {
				return false, fmt.Errorf("the file %s is a link, which can only be changed alone: %w",
					p.name(), storage.ErrInvalid)
			}
			p.Old = new(p.file.LastSeen.Sum)
			p.OldSize = p.base.Size()
		}
		if p.next != nil {
			p.New = new(p.next.Sum())
			p.Size = p.next.Size()
		}
	}
	// Remove files last: after an undo a removed file may have another owner.
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
			if err := p.file.CheckWritable(); err != nil {
				return false, err
			}
		}
	}

	// Make the intent durable, and write each file.
	err = s.writeIntent(parts)
	if err == nil {
		merged, err = s.complete(ctx, parts)
	}
	if err != nil && !s.undo(parts, err) {
		s.incomplete = true
		return false, fmt.Errorf("%w: a change of several files waits for the disk: %w", storage.ErrUnsure, err)
	}
	// Remove the intent: the next start would undo a later commit.
	if failed := s.dropIntent(); failed != nil {
		return false, failed
	}
	return merged, s.folder.Refuse(err)
}

// complete writes the parts of a decided commit.
func (s *Store) complete(ctx context.Context, parts []*part) (merged bool, err error) {
	for i, p := range parts {
		edited := false
		write := func() (err error) {
			edited, err = s.completePart(ctx, p)
			return err
		}
		if i > 0 || s.incomplete {
			err = s.retry(write)
		} else {
			err = write() // nothing has changed yet, so the commit can start again
		}
		if err != nil {
			return merged, err
		}
		p.done = true
		merged = merged || edited
	}
	return merged, nil
}

// release gives back the files of parts not served.
func (s *Store) release(parts []*part) {
	for _, p := range parts {
		if p.file != nil && s.find(p.Member) == nil {
			s.giveBack(p.file)
			s.folder.Warnings = append(s.folder.Warnings, p.file.Warnings...)
			p.file = nil
		}
	}
}

// completePart writes one part, merged with an edit saved meanwhile. After a crash such an edit wins,
// and the text of the part becomes a conflict copy.
func (s *Store) completePart(ctx context.Context, p *part) (merged bool, err error) {
	absent, err := s.refreshPart(ctx, p)
	if err != nil {
		return false, err
	}
	f := p.file
	f.SyncLater = true
	defer func() { f.SyncLater = false }()
	if absent {
		f.SetMissing()
		f.setContent(p.next)
	}
	has := func(sum *checksum.Sum) bool { // whether the file has the content with the sum; nil: no file
		if absent || sum == nil {
			return absent && sum == nil
		}
		return f.LastSeen.Sum == *sum
	}
	if has(p.New) && !f.Unsynced {
		return false, nil
	}
	if p.next == nil {
		if has(p.Old) {
			return false, f.Remove()
		}
		return true, nil // the edit is newer
	}
	if has(p.Old) || has(p.New) {
		return false, f.Write(p.next)
	}

	// Another program has edited the file.
	if err := f.Prepare(); err != nil {
		return false, err
	}
	if p.base != nil && s.folder.Opened && !absent {
		return true, f.mergePart(p)
	}
	if p.changes != nil { // another program has made or removed the file
		return false, durable.ErrMovedOn
	}
	if !f.SaveConflictCopy(p.next.Bytes(), "a write to %s that was interrupted, and would undo an edit,") {
		return false, f.Refuse(errUnkept)
	}
	return false, nil
}

// refreshPart looks at the file of p, and reports whether the file is absent.
func (s *Store) refreshPart(ctx context.Context, p *part) (absent bool, err error) {
	if p.file == nil {
		p.file = s.newMember(p.name())
		err = p.file.start(ctx, false)
	} else {
		err = p.file.refreshFor(p)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}

// refreshFor looks at the file of p. If the file has the new text of p already, the contents stay
// as they are: the part is shown with the others.
func (f *dataFile) refreshFor(p *part) error {
	before := f.doc
	if err := f.refresh(); err != nil {
		return f.unusable(err)
	}
	if p.New != nil && f.LastSeen.Sum == *p.New {
		f.doc = before
	}
	return nil
}

// mergePart writes p merged with an edit of the file. An edit in conflict with p becomes a conflict copy.
func (f *dataFile) mergePart(p *part) error {
	next, edit := p.next, f.doc
	m, err := document.Merge(p.base, next, edit)
	if err == nil {
		next = m.Ours
	}
	if (err != nil || len(m.Conflicts) > 0) && p.kept != edit { // or the last try has kept the edit
		if !f.SaveConflictCopy(edit.Bytes(), "an edit of %s that changed what was written at the same moment") {
			return f.Refuse(errUnkept)
		}
		p.kept = edit
	}
	return f.Write(next)
}

var errUnkept = errors.New("a conflict copy cannot be written")

// show makes the texts of the files the contents.
func (s *Store) show(parts []*part) {
	for _, f := range s.files {
		if f.Content == nil {
			s.drop(f)
		} else if !f.Unsynced {
			f.doc = f.written()
		}
	}
	if s.folder == nil {
		return
	}
	for _, p := range parts {
		if p.next != nil && p.file != nil && s.find(p.Member) == nil {
			p.file.doc = p.file.written()
			s.insert(p.file)
		}
	}
}
