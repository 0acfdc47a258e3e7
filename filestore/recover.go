package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"pickup/filestore/internal/checksum"
	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// recover completes or undoes what a crash interrupted. It removes what no
// program has seen and keeps what a program saved.
func (t *target) recover() error {
	entries, err := t.o.sys.List(t.dir())
	if err != nil {
		return nil // a directory that we cannot read has no file of ours
	}
	found := false
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), filepath.Base(t.dotFile(".")))
		if !ours {
			continue
		}
		path := t.dotFile("." + rest)
		kind, sums := parseName(rest)
		switch {
		case kind == "aside" && len(sums) == 1: // sorts before the others, which are compared with the file
			if err := t.recoverAside(path, sums[0]); err != nil {
				return err
			}
		case kind == "tmp" && len(sums) == 2:
			t.recoverDraft(path, sums[0], sums[1])
		case kind == "prev" && len(sums) == 1:
			t.recoverDisplaced(path, sums[0])
		case rest == "copy" || strings.HasPrefix(rest, "probe-"):
			t.discard(path)
		default:
			continue
		}
		found = true
	}
	if found {
		t.displaced.removeOld(true)
		return t.refuse(t.o.sys.SyncDir(t.dir()))
	}
	return nil
}

// parseName parses what follows ".db.json." in the name of a file of ours:
// "tmp-OLD-NEW", perhaps with "-N", "prev-SUM-N" or "aside-SUM-N".
func parseName(name string) (kind string, sums []checksum.Sum) {
	kind, rest, _ := strings.Cut(name, "-")
	for part := range strings.SplitSeq(rest, "-") {
		if n, err := strconv.ParseUint(part, 16, 64); err == nil && len(part) == 16 {
			sums = append(sums, checksum.Sum(n))
		}
	}
	return kind, sums
}

// recoverDraft recovers from a write that left a draft at path: it was to replace
// a file with the sum was by one with the sum is.
func (t *target) recoverDraft(path string, was, is checksum.Sum) {
	if !t.o.sys.OpenBlocks && t.checkWriters(path) == disk.ErrTaken { // by an editor: the swap displaced it
		t.recoverDisplaced(path, was)
		return
	}
	data, c, err := t.read(path)
	if errors.Is(err, errEmpty) || err == nil && c.Sum == is {
		t.discard(path) // never acknowledged
		return
	}
	if err == nil && c.Sum == was {
		t.recoverDisplaced(path, was) // the swap has displaced the old file
		return
	}
	_, real, err2 := t.read(t.real)
	switch {
	case err2 == nil && real.Sum == was:
		t.discard(path) // cut off before the swap
	case err != nil:
		t.o.Log.Error("cannot read what an interrupted write left", "file", path, "cause", err)
	case err2 == nil && real.Sum == is && t.parses(data) && t.o.sys.Exchange(path, t.real) == nil:
		// The swap displaced an edit, and the crash came before the edit was put
		// back. What replaced it was never acknowledged.
		t.o.sys.SyncDir(t.dir())
		t.o.sys.Remove(path)
		t.warn("%s: an edit that was saved at the moment of a crash has been put back", t.path)
	default:
		t.renameToConflict(path, "what an interrupted write found in the place of %s")
	}
}

// recoverDisplaced recovers a displaced file at path, with the sum was. The
// store keeps it while an editor has it open.
func (t *target) recoverDisplaced(path string, was checksum.Sum) {
	_, c, err := t.read(path)
	if err != nil && !errors.Is(err, errEmpty) && !errors.Is(err, disk.ErrChanging) {
		t.o.Log.Error("cannot read what a commit displaced", "file", path, "cause", err)
		return
	}
	if err == nil && c.Sum != was && t.checkWriters(path) != disk.ErrTaken {
		t.renameToConflict(path, "an edit of %s that was finished after the server ended")
		return
	}
	if c.Info == nil {
		c.Info, _ = t.o.sys.Stat(path)
	}
	if c.Info != nil {
		c.Sum = was
		t.displaced.keep(path, c, nil)
	}
}

// recoverAside puts back the file that a crash left aside, at path. If there is
// another file in its place, path is a displaced file with that sum.
func (t *target) recoverAside(path string, sum checksum.Sum) error {
	err := t.insist(func() error { return t.o.sys.RenameNew(path, t.real) })
	if errors.Is(err, fs.ErrExist) && t.isOne(path, t.real) {
		return t.refuse(t.o.sys.Remove(path)) // it was being put back
	}
	if errors.Is(err, fs.ErrExist) {
		t.recoverDisplaced(path, sum)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: cannot put back %s, which an interrupted write left as %s: %w", storage.ErrReadOnly, t.path, path, disk.Cause(err))
	}
	t.warn("%s has been put back: a write was interrupted between two steps", t.path)
	return t.refuse(t.o.sys.SyncDir(t.dir()))
}
