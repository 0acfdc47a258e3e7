package durable

import (
	"context"
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

// recover completes or undoes a write interrupted by a crash. Drafts never seen by a program go, and
// edits saved by a program stay.
func (f *File) recover() error {
	entries, err := f.Sys.List(f.Dir())
	if err != nil {
		return nil // an unreadable directory has no file of ours
	}
	found := false
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), filepath.Base(f.DotFile(".")))
		if !ours {
			continue
		}
		path := f.DotFile("." + rest)
		kind, sums := parseName(rest)
		switch {
		case kind == "aside" && len(sums) == 1: // sorts first; the other kinds are compared with the file
			if err := f.recoverAside(path, sums[0]); err != nil {
				return err
			}
		case kind == "tmp" && len(sums) == 2:
			f.recoverDraft(path, sums[0], sums[1])
		case kind == "prev" && len(sums) == 1:
			f.recoverDisplaced(path, sums[0])
		case rest == "copy" || strings.HasPrefix(rest, "probe-"):
			f.discard(path)
		default:
			continue
		}
		found = true
	}
	if !found {
		return nil
	}
	f.Clean(true)
	return f.Refuse(f.SyncDir())
}

// parseName parses what follows ".db.json." in the name of a dot file: "tmp-OLD-NEW", perhaps
// with "-N", "prev-SUM-N" or "aside-SUM-N".
func parseName(name string) (kind string, sums []checksum.Sum) {
	kind, rest, _ := strings.Cut(name, "-")
	for part := range strings.SplitSeq(rest, "-") {
		if n, err := strconv.ParseUint(part, 16, 64); err == nil && len(part) == 16 {
			sums = append(sums, checksum.Sum(n))
		}
	}
	return kind, sums
}

// recoverDraft recovers from a write with a draft left at path. The write was to replace the sum was
// by the sum is.
func (f *File) recoverDraft(path string, was, is checksum.Sum) {
	if !f.Sys.OpenBlocks && f.CheckWriters(path) == disk.ErrTaken { // by an editor: the swap displaced it
		f.recoverDisplaced(path, was)
		return
	}
	data, left, err := f.Read(path)
	if errors.Is(err, ErrEmpty) || err == nil && left.Sum == is {
		f.discard(path) // never acknowledged
		return
	}
	if err == nil && left.Sum == was {
		f.recoverDisplaced(path, was) // the swap has displaced the old file
		return
	}
	_, real, realErr := f.Read(f.Real)
	if realErr == nil && real.Sum == was {
		f.discard(path) // cut off before the swap
		return
	}
	if err != nil {
		f.Log.Error("cannot read what an interrupted write left", "file", path, "cause", err)
		return
	}
	if realErr == nil && real.Sum == is && f.valid(data) == nil && f.Sys.Exchange(path, f.Real) == nil {
		// The swap displaced an edit, and the crash came before the edit was put
		// back. What replaced the edit was never acknowledged.
		f.SyncDir()
		f.Sys.Remove(path)
		f.Warn("%s: an edit that was saved at the moment of a crash has been put back", f.Path)
		return
	}
	f.RenameToConflict(path, "what an interrupted write found in the place of %s")
}

// recoverDisplaced recovers a displaced file at path, with the sum was. The file is kept while an
// editor has it open.
func (f *File) recoverDisplaced(path string, was checksum.Sum) {
	_, state, err := f.Read(path)
	if err != nil && !disk.IsAny(err, ErrEmpty, disk.ErrChanging) {
		f.Log.Error("cannot read what a commit displaced", "file", path, "cause", err)
		return
	}
	if err == nil && state.Sum != was && f.CheckWriters(path) != disk.ErrTaken {
		f.RenameToConflict(path, "an edit of %s that was finished after the server ended")
		return
	}
	if state.Info == nil {
		state.Info, _ = f.Sys.Stat(path)
	}
	if state.Info != nil {
		state.Sum = was
		f.keepDisplaced(path, state, nil)
	}
}

// recoverAside puts back the file left aside at path by a crash. If another file has the name, path is
// a displaced file with the sum.
func (f *File) recoverAside(path string, sum checksum.Sum) error {
	err := f.Insist(context.Background(), func() error { return f.Sys.RenameNew(path, f.Real) })
	if errors.Is(err, fs.ErrExist) && f.IsOne(path, f.Real) {
		return f.Refuse(f.Sys.Remove(path)) // a crash interrupted this before
	}
	if errors.Is(err, fs.ErrExist) {
		f.recoverDisplaced(path, sum)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: cannot put back %s, which an interrupted write left as %s: %w",
			storage.ErrReadOnly, f.Path, path, disk.Cause(err))
	}
	f.Warn("%s has been put back: a write was interrupted between two steps", f.Path)
	return f.Refuse(f.SyncDir())
}
