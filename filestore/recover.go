package filestore

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"pickup/filestore/document"
	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// recoverLocked is S3: it puts right what a crash left beside the file. What
// nobody has seen is removed, what somebody saved is kept.
func (s *Store) recoverLocked() error {
	if s.o.JournalDir != "" {
		s.o.sys.Remove(s.journal(".redo.tmp"))
		if _, err := s.o.sys.Stat(s.journal(".redo")); err == nil {
			if _, err := s.redoLocked(); err != nil {
				return fmt.Errorf("%w: %s: an interrupted write cannot be completed: %w", storage.ErrReadOnly, s.path, err)
			}
		}
	}
	names, err := s.o.sys.List(s.dir())
	if err != nil {
		return nil // a folder that we cannot read has nothing of ours
	}
	slices.Sort(names)
	found := false
	for _, name := range names {
		rest, ours := strings.CutPrefix(name, filepath.Base(s.beside(".")))
		if !ours {
			continue
		}
		path := filepath.Join(s.dir(), name)
		kind, sums := parseName(rest)
		switch {
		case kind == "aside" && len(sums) == 1: // sorts before the others, which are held against the file
			if err := s.recoverAsideLocked(path, sums[0]); err != nil {
				return err
			}
		case kind == "tmp" && len(sums) == 2:
			s.recoverDraftLocked(path, sums[0], sums[1])
		case kind == "prev" && len(sums) == 1:
			s.recoverDisplacedLocked(path, sums[0])
		case rest == "copy" || strings.HasPrefix(rest, "probe-"):
			s.o.sys.Remove(path)
		default:
			continue
		}
		found = true
	}
	if found {
		s.dropLocked(true)
		return s.refuse(s.o.sys.SyncDir(s.dir()))
	}
	return nil
}

// parseName takes apart what follows ".db.json." in the name of a file of ours:
// "tmp-OLD-NEW", "prev-SUM-N" or "aside-SUM-N".
func parseName(name string) (kind string, sums []disk.Sum) {
	kind, rest, _ := strings.Cut(name, "-")
	for part := range strings.SplitSeq(rest, "-") {
		if b, err := hex.DecodeString(part); err == nil && len(b) == 8 {
			sums = append(sums, disk.Sum(binary.BigEndian.Uint64(b)))
		}
	}
	return kind, sums
}

// recoverDraftLocked decides about T at path, which was to lead from a file
// with the sum was to one with the sum is.
func (s *Store) recoverDraftLocked(path string, was, is disk.Sum) {
	if s.whoWrites(path) == somebody { // an editor, so it is what the swap displaced
		s.recoverDisplacedLocked(path, was)
		return
	}
	_, t, err := s.readFile(path)
	if errors.Is(err, errEmpty) || err == nil && t.Sum == is {
		s.o.sys.Remove(path) // never acknowledged
		return
	}
	if err == nil && t.Sum == was {
		s.recoverDisplacedLocked(path, was) // the swap happened, nothing was lost by it
		return
	}
	_, real, err2 := s.readFile(s.real)
	switch {
	case err2 == nil && real.Sum == was:
		s.o.sys.Remove(path) // cut off before the swap
	case err != nil:
		s.o.Log.Error("what an interrupted write left cannot be read", "file", path, "cause", err)
	case err2 == nil && real.Sum == is && s.parses(path) && s.o.sys.Exchange(path, s.real) == nil:
		// The swap displaced an edit, and the crash came before it was put
		// back. What is in the file's place was never acknowledged.
		s.o.sys.SyncDir(s.dir())
		s.o.sys.Remove(path)
		s.notice("%s: an edit that was saved at the moment of a crash is in its place again", s.path)
	default:
		s.keepLocked(path, "what an interrupted write found in the place of %s")
	}
}

func (s *Store) parses(path string) bool {
	data, _, err := s.readFile(path)
	if err == nil {
		_, err = document.Parse(s.path, data, s.o.idMember)
	}
	return err == nil
}

// recoverDisplacedLocked decides about P at path, which was displaced with the
// sum was. One that an editor still writes into is looked after.
func (s *Store) recoverDisplacedLocked(path string, was disk.Sum) {
	_, c, err := s.readFile(path)
	if err != nil && !errors.Is(err, errEmpty) && !errors.Is(err, disk.ErrChanging) {
		s.o.Log.Error("what a commit displaced cannot be read", "file", path, "cause", err)
		return
	}
	if err == nil && c.Sum != was && s.whoWrites(path) != somebody {
		s.keepLocked(path, "an edit of %s that was finished after the server ended")
		return
	}
	if c.Info == nil {
		c.Info, _ = s.o.sys.Stat(path)
	}
	if c.Info != nil {
		c.Sum = was
		s.rememberLocked(path, c, nil)
	}
}
