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

	"pickup/filestore/document"
	"pickup/filestore/internal/checksum"
	"pickup/filestore/internal/disk"
	"pickup/filestore/internal/durable"
	"pickup/internal/storage"
)

// intentName is the end of the name of the file with a commit intent: a line of JSON with the parts of
// a commit, the new and old texts of the parts, and a checksum.
const intentName = ".redo"

// writeIntent makes the intent to write parts durable.
func (s *Store) writeIntent(parts []*part) error {
	head, err := json.Marshal(parts)
	if err != nil {
		return err
	}
	text := [][]byte{append(head, '\n')}
	for _, p := range parts {
		if p.next != nil {
			text = append(text, p.next.Runs()...)
		}
		if p.base != nil {
			text = append(text, p.base.Runs()...)
		}
	}
	text = append(text, []byte(checksum.Of(text...).String()))
	err = s.folder.Create(s.folder.DotFile(intentName), 0o600, func(w *disk.Writer) { w.Write(text...) })
	if err != nil {
		return err
	}
	return s.folder.SyncDir()
}

// dropIntent removes the intent of a commit, durably. Changes of names reach the disk in order, so
// this syncs the changed names of the files, too.
func (s *Store) dropIntent() error {
	path := s.folder.DotFile(intentName)
	err := s.env.Insist(context.Background(), func() error { return s.env.Sys.Remove(path) })
	_, missing := s.env.Sys.Stat(path) // a read-only file system refuses to remove a missing file, too
	if err == nil || errors.Is(missing, fs.ErrNotExist) {
		err = s.folder.SyncDir()
	}
	s.incomplete = err != nil
	if err != nil {
		return fmt.Errorf("%w: %s: the disk failed to confirm a change of several files: %w",
			storage.ErrUnsure, s.path, disk.Cause(err))
	}
	return nil
}

// readIntent returns the parts of the intent in the folder, or nil if the intent is missing or cut off:
// then no file was changed.
func (s *Store) readIntent() (parts []*part, err error) {
	open, err := s.env.Sys.Open(s.folder.DotFile(intentName), os.O_RDONLY|disk.NoFollow, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data, err := s.env.Sys.ReadAll(open, 0)
	s.env.Sys.Close(open)
	end := len(data) - len(checksum.Sum(0).String())
	if err != nil || end < 0 || checksum.Of(data[:end]).String() != string(data[end:]) {
		return nil, err
	}
	head, texts, _ := bytes.Cut(data[:end], []byte("\n"))
	if err := json.Unmarshal(head, &parts); err != nil {
		return nil, err
	}
	for _, p := range parts {
		if err := s.readPart(p, &texts); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// readPart moves the documents of p from the start of texts to p.
func (s *Store) readPart(p *part, texts *[]byte) (err error) {
	path := s.folder.filePath(p.name())
	if real, err := s.env.Sys.Resolve(path); err != nil || real != path || refusedName(p.Member) != "" {
		return fmt.Errorf("%q is not the name of a file in this folder", p.Member)
	}
	read := func(size int64) (*document.Document, error) {
		if size < 0 || size > int64(len(*texts)) {
			return nil, fmt.Errorf("it has no %d bytes for %s", size, p.name())
		}
		text := (*texts)[:size:size]
		*texts = (*texts)[size:]
		return document.ParseMember(p.Member, p.name(), text, s.o.ids, nil)
	}
	if p.New != nil {
		p.next, err = read(p.Size)
		if err != nil {
			return err
		}
	}
	if p.Old != nil {
		p.base, err = read(p.OldSize)
		if err != nil {
			return err
		}
	}
	p.file = s.file(p.name())
	return nil
}

// completeIntent completes the commit of the intent in the folder, if there is an intent, or undoes the
// commit if a file cannot be written.
func (s *Store) completeIntent(ctx context.Context) error {
	parts, err := s.readIntent()
	if err != nil {
		return fmt.Errorf("%w: cannot complete the change of several files in %s: %w",
			storage.ErrReadOnly, filepath.Join(s.path, ".pickup"+intentName), disk.Cause(err))
	}
	defer s.release(parts)
	_, why := s.complete(ctx, parts)
	if why != nil && !disk.IsAny(why, storage.ErrReadOnly, storage.ErrFull) {
		return why
	}
	if why != nil && !s.undo(parts, why) {
		return why
	}
	if err := s.dropIntent(); err != nil {
		return err
	}
	if why != nil {
		s.folder.Warn("a change of several files of %s that was interrupted has been undone: %v", s.path, why)
	} else if len(parts) > 0 {
		s.folder.Warn("a change of several files of %s that was interrupted has been completed", s.path)
	}
	if s.folder.Opened {
		if why == nil {
			s.show(parts)
		}
		s.edited()
	}
	return nil
}

// warnOfIntent adds a warning to f if a commit to folder was interrupted: only a start with writes
// completes the commit.
func warnOfIntent(folder, f *durable.File) {
	if intent := folder.DotFile(intentName); folder.Exists(intent) {
		f.Warn("%s is a change of several files that was interrupted: start once without read-only to complete it",
			intent)
	}
}

// completeIntentBeside completes an interrupted commit to the directory of f.
func (s *Store) completeIntentBeside(ctx context.Context, f *dataFile) error {
	beside := &Store{path: f.Dir(), state: &state{o: new(*s.o), env: s.env, feed: storage.NewFeed(1, keepBatches)}}
	folder := beside.newFolder(f.Dir())
	if f.NoWrites {
		warnOfIntent(folder.File, f.File)
		return nil
	}
	if !folder.Exists(folder.DotFile(intentName)) {
		return nil
	}
	err := beside.enterFolder(ctx)
	f.Warnings = append(f.Warnings, beside.Warnings()...)
	return errors.Join(err, beside.closeFilesLocked())
}
