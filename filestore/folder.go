package filestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pickup/filestore/internal/disk"
	"pickup/filestore/internal/durable"
	"pickup/internal/storage"
)

// A folder is a directory of files served as one database: posts.json or posts.json5 has the member posts. The
// embedded File is for the dot files of the folder, the lock file and the commit intent, with names
// from .pickup on. Guarded by Store.mu.
type folder struct {
	*durable.File
	deleted []*dataFile // the latest, for an undo
	left    []*dataFile // files with displaced files not yet removed
	links   []string    // the names of symlinks
	closed  bool        // the store ends
}

// Limits of a folder.
const (
	mostFiles   = 1000
	keepDeleted = 16
)

// folderPath returns the path of the File of the folder at the path real.
func folderPath(real string) string { return filepath.Join(real, "pickup") }

// newFolder returns the folder of the store at the path real.
func (s *Store) newFolder(real string) *folder {
	return &folder{File: durable.New(s.env, s.path, folderPath(real), nil)}
}

// openFolder opens the files of a directory.
func (s *Store) openFolder(ctx context.Context) error {
	if err := s.enterFolder(ctx); err != nil {
		return err
	}
	names, left, err := s.list()
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", s.path, disk.Cause(err))
	}
	names = slices.AppendSeq(names, maps.Keys(left))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if err := s.admit(ctx, name, !left[name]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	s.folder.Opened = true
	return nil
}

// enterFolder finds and locks the directory, and completes an interrupted commit.
func (s *Store) enterFolder(ctx context.Context) error {
	s.o.MustExist = true
	s.o.Initial = []byte("[]\n")
	real, err := s.env.Sys.Resolve(s.path)
	if err != nil {
		return fmt.Errorf("cannot open %s: %w", s.path, disk.Cause(err))
	}
	s.folder = s.newFolder(real)
	if s.env.NoWrites {
		warnOfIntent(s.folder.File, s.folder.File)
		return nil
	}
	if err := s.folder.Lock(); err != nil {
		return err
	}
	return s.completeIntent(ctx)
}

// list returns the names of the files in the directory, in order. left has the names of the files
// that dot files belong to: true if a write has left a dot file, false if there is only a lock file.
func (s *Store) list() (names []string, left map[string]bool, err error) {
	entries, err := s.env.Sys.List(s.folder.Dir())
	s.odd = nil
	s.folder.links = nil
	left = make(map[string]bool)
	for _, e := range entries {
		name := e.Name()
		if name[0] == '.' {
			if dot := dotName.FindStringSubmatch(name); dot != nil && MemberOf(dot[1]) != "" {
				left[dot[1]] = left[dot[1]] || dot[2] != ".lock"
			}
			continue
		}
		member, ok := cutEnding(name)
		if !ok || e.IsDir() || member == "package" || member == "pickup" || strings.HasSuffix(member, ".schema") {
			continue
		}
		names = append(names, name)
		if e.Type()&fs.ModeSymlink != 0 {
			s.folder.links = append(s.folder.links, name)
		}
	}
	slices.Sort(names)
	return names, left, err
}

// refuse returns an error if member cannot be one more file of the folder.
func (s *Store) refuse(member string) error {
	why := refusedName(member)
	i := slices.IndexFunc(s.files, func(f *dataFile) bool { return isOneName(f.member, member) })
	switch {
	case why != "":
	case i >= 0 && s.files[i].member == member:
		why = filepath.Base(s.files[i].Path) + " has the same collection"
	case i >= 0:
		why = "some systems cannot have it next to " + filepath.Base(s.files[i].Path)
	case len(s.files) >= mostFiles:
		why = fmt.Sprintf("a folder has at most %d of them", mostFiles)
	default:
		return nil
	}
	return fmt.Errorf("the collection %q cannot be a file of the folder: %s: %w", member, why, storage.ErrInvalid)
}

// refuseLink returns an error if the path of f leads to another file of the folder.
func (s *Store) refuseLink(f *dataFile) error {
	own := s.folder.filePath(filepath.Base(f.Path))
	real, err := f.Sys.Resolve(f.Path)
	if err != nil {
		return nil // the file reports it
	}
	if real != own && filepath.Dir(real) == s.folder.Dir() && MemberOf(real) != "" {
		return fmt.Errorf("it is a link to %s in the same folder", filepath.Base(real))
	}
	info, err := f.Sys.Stat(real)
	if err != nil || real == own && disk.Links(info) < 2 {
		return nil
	}
	for _, g := range s.files {
		if g.member != f.member && g.LastSeen.Info != nil && disk.SameFile(info, g.LastSeen.Info) {
			return fmt.Errorf("it is the same file as %s, by a link", filepath.Base(g.Path))
		}
	}
	return nil
}

// admit serves one more file, if possible. clean says that the file has no dot files. While the store is
// served, an error is a finding.
func (s *Store) admit(ctx context.Context, name string, clean bool) error {
	f := s.newMember(name)
	if slices.ContainsFunc(s.o.Private, func(path string) bool { return f.IsOne(f.Path, path) }) {
		return nil
	}
	// Such a system may show a file already served under the other name.
	again := func(g *dataFile) bool { return isOneName(g.member, f.member) && f.IsOne(f.Path, g.Path) }
	if slices.ContainsFunc(s.files, again) {
		return nil
	}
	refused := s.refuse(f.member)
	if refused == nil {
		refused = s.refuseLink(f)
	}
	err := refused
	if err == nil && s.folder.Opened {
		err = f.refresh() // do not wait for a save in progress
	}
	if err == nil {
		err = f.start(ctx, clean)
	}
	if err == nil {
		s.insert(f)
		return nil
	}
	if s.folder.Opened {
		f.Unlock()
	} else {
		s.giveBack(f) // a crash may have left what a deleted file displaced
	}
	if refused == nil && !s.folder.Opened {
		return err
	}
	s.odd = append(s.odd, finding(f.Path, err))
	return nil
}

// finding returns the finding that the file at path is not served because of err.
func finding(path string, err error) storage.UnreachableElement {
	u := storage.UnreachableElement{File: path, Detail: err.Error()}
	if broken, ok := errors.AsType[*storage.BrokenError](err); ok {
		u.Line = broken.Line
		u.Column = broken.Column
		u.Detail = broken.Reason
	}
	u.Detail = strings.TrimSuffix(u.Detail, ": "+storage.ErrInvalid.Error()) + "; it is not served"
	return u
}

// filePath returns the real path of the file called name, unless the file is a link.
func (d *folder) filePath(name string) string { return filepath.Join(d.Dir(), name) }

// newMember returns the file called name, not served yet.
func (s *Store) newMember(name string) *dataFile {
	f := newFile(s.state, filepath.Join(s.path, name), s.folder.filePath(name))
	f.member, _ = cutEnding(name)
	f.several = true
	return f
}

// index returns the index of the file with a member, or where such a file belongs.
func (s *Store) index(member string) (i int, found bool) {
	compare := func(f *dataFile, member string) int { return cmp.Compare(f.member, member) }
	return slices.BinarySearchFunc(s.files, member, compare)
}

// insert serves f.
func (s *Store) insert(f *dataFile) {
	i, _ := s.index(f.member)
	s.setFiles(slices.Insert(slices.Clone(s.files), i, f))
	f.Opened = true
}

// find returns the file with a member, or nil. A store of one file has all members in that file.
func (s *Store) find(member string) *dataFile {
	if s.folder == nil {
		return s.files[0]
	}
	if i, ok := s.index(member); ok {
		return s.files[i]
	}
	return nil
}

// file returns the served file of a folder called name, or nil.
func (s *Store) file(name string) *dataFile {
	f := s.find(MemberOf(name))
	if f == nil || filepath.Base(f.Path) != name {
		return nil
	}
	return f
}

func (s *Store) setFiles(files []*dataFile) {
	s.files = files
	s.all.Store(&files)
}

// drop serves a file no longer.
func (s *Store) drop(f *dataFile) {
	s.setFiles(slices.DeleteFunc(slices.Clone(s.files), func(g *dataFile) bool { return f == g }))
	s.giveBack(f)
	d := s.folder
	d.deleted = append(d.deleted, f)
	d.deleted = d.deleted[max(0, len(d.deleted)-keepDeleted):]
}

// giveBack releases a file no longer served. The displaced files go now or later.
func (s *Store) giveBack(f *dataFile) {
	f.Unlock() // first: the file may be open for writing
	s.folder.left = append(s.folder.left, f)
	s.folder.removeLeft()
}

// removeLeft removes the displaced files of files no longer served, as soon as no program can write to
// such a file.
func (d *folder) removeLeft() {
	d.left = slices.DeleteFunc(d.left, func(f *dataFile) bool {
		f.Closing = d.closed
		f.Clean(true)
		return !f.HasLeftovers()
	})
}

// close removes the displaced files when the store ends. It waits for editors until 2 s after begin.
func (d *folder) close(begin time.Time) error {
	d.closed = true
	for {
		now := d.Now() // before removeLeft: the last removal is after the end of the wait
		d.removeLeft()
		if len(d.left) == 0 || now.Sub(begin) > durable.GraceWrite {
			return d.Unlock()
		}
		d.Nap(durable.RetryAfter)
	}
}

// lastOf returns the latest deleted file of a member, or nil.
func (d *folder) lastOf(member string) *dataFile {
	for _, f := range slices.Backward(d.deleted) {
		if f.member == member {
			return f
		}
	}
	return nil
}

// refreshLocked looks at all files.
func (s *Store) refreshLocked(ctx context.Context) error {
	if err := s.scan(ctx); err != nil {
		return err
	}
	for _, f := range s.files {
		f.refresh() // the watchers get the error
	}
	return nil
}

// scan looks for new and removed files of a folder. An error says why a commit is not complete: none of
// the commit is shown then, and nothing can be written.
func (s *Store) scan(ctx context.Context) error {
	d := s.folder
	if d == nil {
		return nil
	}
	if s.incomplete {
		if err := s.completeIntent(ctx); err != nil {
			return err
		}
	}
	d.removeLeft()
	names, _, err := s.list()
	if err != nil {
		return nil // the files report it
	}
	before := s.files
	for _, name := range d.links {
		if f := s.file(name); f != nil && s.refuseLink(f) != nil {
			s.drop(f) // the file has become a link
		}
	}
	for _, name := range names {
		hidden := s.o.Ephemeral && d.lastOf(MemberOf(name)) != nil // deleted in memory only
		if s.file(name) == nil && !hidden && (s.o.Busy == nil || !s.o.Busy()) {
			s.admit(ctx, name, false)
		}
	}
	// A file missing for long is deleted. If all are missing, the folder was moved or unmounted.
	s.empty = len(names) == 0 && len(s.files) > 0
	for _, f := range s.files {
		if _, there := slices.BinarySearch(names, filepath.Base(f.Path)); !there && !s.empty && f.staysAway() {
			s.drop(f)
		}
	}
	if !slices.Equal(before, s.files) {
		s.edited()
	}
	return nil
}

// staysAway reports whether the file has been missing for 2 s.
func (f *dataFile) staysAway() bool {
	return errors.Is(f.refresh(), fs.ErrNotExist) && f.Now().Sub(f.reading.since) >= durable.GraceWrite
}

// ServerURL returns the URL of the server of the file at path, "" if the server runs on another machine
// or is not found. The server may have been killed, so callers must find out whether it responds.
func ServerURL(path string) string {
	real, err := disk.Real().Resolve(path)
	if err != nil {
		return ""
	}
	if info, err := os.Stat(real); err == nil && info.IsDir() {
		return durable.ServerURL(folderPath(real))
	}
	return durable.ServerURL(real)
}
