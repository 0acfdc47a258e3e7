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
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"pickup/filestore/internal/disk"
	"pickup/internal/openfile"
	"pickup/internal/storage"
)

// A folder is a directory whose files a Store serves as one database: posts.json
// has the member posts. Store.mu guards it.
type folder struct {
	*file               // names the lock and the record of a commit, which begin with .pickup
	lock    lock        // keeps other servers away from the directory
	deleted []*dataFile // the latest, with what an undo brings back
	left    []*dataFile // those whose displaced files are still there
	links   []string    // the members that are symlinks
	closed  bool        // the store ends
	empty   bool        // no file is there any more
	half    bool        // a commit is decided, and not in all files yet
}

// Limits of a folder.
const (
	mostFiles   = 1000
	keepDeleted = 16
)

// Names that have a meaning of their own, and names that some systems cannot have.
var (
	takenName = regexp.MustCompile(`(?i)^(db|package|pickup)$|\.schema$|\.conflict-`)
	oddName   = regexp.MustCompile(`(?i)^$|^\.|[\x00-\x1f\x7f/\\:*?"<>|]|^(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(\.|$)|[. ]$`)
)

// refusedName returns why no file of a folder can have a member of that name, or "".
func refusedName(member string) string {
	switch {
	case takenName.MatchString(member):
		return "a file of this name has another meaning"
	case oddName.MatchString(member), len(member) > 200, !utf8.ValidString(member):
		return "some systems cannot have a file of this name"
	}
	return ""
}

// isOneName reports whether a and b are one name on a system that does not tell cases, or two
// spellings of a character (é is one code point or two), apart.
func isOneName(a, b string) bool { return strings.EqualFold(norm.NFC.String(a), norm.NFC.String(b)) }

// MemberOf returns the name of the member that a file of a folder has, "" if it has none.
func MemberOf(path string) string {
	if member, ok := strings.CutSuffix(filepath.Base(path), ".json"); ok && refusedName(member) == "" {
		return member
	}
	return ""
}

// IsFolder reports whether path is a directory whose files are a database. One that is named
// like a file is what Docker makes of a missing file.
func IsFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir() && filepath.Ext(path) != ".json"
}

func folderFile(o *Options, path, real string) *file {
	return &file{o: o, path: path, real: filepath.Join(real, "pickup")}
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
	for _, name := range names {
		left[name] = left[name] || false
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		if err := s.admit(ctx, name, !left[name]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	s.folder.opened = true
	return nil
}

// enterFolder finds and locks the directory, and completes a commit that was interrupted.
func (s *Store) enterFolder(ctx context.Context) error {
	s.o.MustExist, s.o.Initial = true, []byte("[]\n")
	real, err := s.o.sys.Resolve(s.path)
	if err != nil {
		return fmt.Errorf("cannot open %s: %w", s.path, disk.Cause(err))
	}
	d := &folder{file: folderFile(s.o, s.path, real)}
	s.folder, d.lock.file = d, d.file
	if !s.o.touches() {
		d.warnOfRecord(d.file)
		return nil
	}
	if d.lock.dirLock, err = d.lock.openLockFile(d.dotFile(".lock")); err == nil {
		err = s.redo(ctx)
	}
	return err
}

// list returns the names of the members in the directory, in order, and the names of members
// that have dot files: true if the dot files are from a write.
func (s *Store) list() (names []string, left map[string]bool, err error) {
	entries, err := s.o.sys.List(s.folder.dir())
	s.odd, s.folder.links, left = nil, nil, make(map[string]bool)
	for _, e := range entries {
		name, isJSON := strings.CutSuffix(e.Name(), ".json")
		dot := strings.TrimPrefix(e.Name(), ".")
		end := strings.LastIndex(dot, ".json.") // a member can have the name x.json
		switch {
		case strings.HasPrefix(name, "."):
			if end >= 0 && refusedName(dot[:end]) == "" {
				left[dot[:end]] = left[dot[:end]] || dot[end:] != ".json.lock"
			}
		case !isJSON || e.IsDir() || name == "package" || name == "pickup" || strings.HasSuffix(name, ".schema"):
		default:
			names = append(names, name)
			if e.Type()&fs.ModeSymlink != 0 {
				s.folder.links = append(s.folder.links, name)
			}
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
	case i >= 0:
		why = "some systems cannot have it next to " + s.files[i].member + ".json"
	case len(s.files) >= mostFiles:
		why = fmt.Sprintf("a folder has at most %d of them", mostFiles)
	default:
		return nil
	}
	return fmt.Errorf("the collection %q cannot be a file of the folder: %s: %w", member, why, storage.ErrInvalid)
}

// refuseLink returns an error if the path of f leads to another file of the folder.
func (s *Store) refuseLink(f *dataFile) error {
	own := s.folder.memberPath(f.member)
	real, err := f.o.sys.Resolve(f.path)
	if err != nil {
		return nil // the file reports it
	}
	if real != own && filepath.Dir(real) == s.folder.dir() && MemberOf(real) != "" {
		return fmt.Errorf("it is a link to %s in the same folder", filepath.Base(real))
	}
	info, err := f.o.sys.Stat(real)
	if err != nil || real == own && disk.Links(info) < 2 {
		return nil
	}
	for _, g := range s.files {
		if g.member != f.member && g.known.Info != nil && disk.SameFile(info, g.known.Info) {
			return fmt.Errorf("it is the same file as %s.json, by a link", g.member)
		}
	}
	return nil
}

// admit serves one more file, if it is one that can be served. clean says that there are no
// dot files of it. While the store is served, an error is a finding.
func (s *Store) admit(ctx context.Context, name string, clean bool) error {
	f := s.fileOf(name)
	if slices.ContainsFunc(s.o.Private, func(path string) bool { return f.isOne(f.path, path) }) {
		return nil
	}
	// Such a system may show a file that is served with the other name.
	again := func(g *dataFile) bool { return isOneName(g.member, name) && f.isOne(f.path, g.path) }
	if slices.ContainsFunc(s.files, again) {
		return nil
	}
	refused := s.refuse(name)
	if refused == nil {
		refused = s.refuseLink(f)
	}
	err := refused
	if f.clean = clean; err == nil && s.folder.opened {
		err = f.look() // what is being saved now is not waited for
	}
	if err == nil {
		err = f.start(ctx)
	}
	if err == nil {
		i, _ := s.place(name)
		s.setFiles(slices.Insert(slices.Clone(s.files), i, f))
		f.opened = true
		return nil
	}
	f.lock.release()
	if refused != nil || s.folder.opened {
		o := storage.UnreachableElement{File: f.path, Detail: err.Error()}
		if broken, ok := errors.AsType[*storage.BrokenError](err); ok {
			o.Line, o.Column, o.Detail = broken.Line, broken.Column, broken.Reason
		}
		o.Detail = strings.TrimSuffix(o.Detail, ": "+storage.ErrInvalid.Error()) + "; it is not served"
		s.odd = append(s.odd, o)
		return nil
	}
	return err
}

// memberPath returns the real path that the file of a member has unless it is a link.
func (d *folder) memberPath(member string) string { return filepath.Join(d.dir(), member+".json") }

// fileOf returns the file of a member that is not served yet.
func (s *Store) fileOf(member string) *dataFile {
	f := s.newFile(filepath.Join(s.path, member+".json"))
	f.member, f.several, f.real = member, true, s.folder.memberPath(member)
	return f
}

func (s *Store) place(member string) (int, bool) {
	return slices.BinarySearchFunc(s.files, member, func(f *dataFile, member string) int { return cmp.Compare(f.member, member) })
}

// find returns the file with a member, or nil. A store of one file has all members in it.
func (s *Store) find(member string) *dataFile {
	if s.folder == nil {
		return s.files[0]
	}
	if i, ok := s.place(member); ok {
		return s.files[i]
	}
	return nil
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

// giveBack releases a file that is not served. What it displaced goes now or later.
func (s *Store) giveBack(f *dataFile) {
	f.lock.release() // first: it may be open for writing
	s.folder.left = append(s.folder.left, f)
	s.folder.removeLeft()
}

// removeLeft removes the displaced files of files that are not served, as far as nobody can
// write to them any more.
func (d *folder) removeLeft() {
	d.left = slices.DeleteFunc(d.left, func(f *dataFile) bool {
		f.displaced.closed = d.closed
		f.displaced.removeOld(true)
		return len(f.displaced.list)+len(f.litter) == 0
	})
}

// close removes them when the store ends. It waits for editors until 2 s after begin.
func (d *folder) close(begin time.Time) error {
	d.closed = true
	for d.removeLeft(); len(d.left) > 0 && d.o.now().Sub(begin) <= graceWrite; d.removeLeft() {
		d.o.nap(retryAfter)
	}
	return d.lock.release()
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

// lookLocked looks at all files.
func (s *Store) lookLocked(ctx context.Context) error {
	if err := s.scan(ctx); err != nil {
		return err
	}
	for _, f := range s.files {
		f.look() // its error is reported to the watchers
	}
	return nil
}

// scan looks for files of a folder that have come or gone. An error says why a commit is not
// complete: nothing of it is shown then, and nothing can be written.
func (s *Store) scan(ctx context.Context) error {
	d := s.folder
	if d == nil {
		return nil
	}
	if d.half {
		if err := s.redo(ctx); err != nil {
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
		if f := s.find(name); f != nil && s.refuseLink(f) != nil {
			s.drop(f) // it has become a link
		}
	}
	for _, name := range names {
		hidden := s.o.Ephemeral && d.lastOf(name) != nil // deleted in memory only
		if s.find(name) == nil && !hidden && (s.o.Busy == nil || !s.o.Busy()) {
			s.admit(ctx, name, false)
		}
	}
	// A file that stays away is deleted. If all do, the folder was moved or unmounted.
	d.empty = len(names) == 0 && len(s.files) > 0
	for _, f := range s.files {
		if _, there := slices.BinarySearch(names, f.member); !there && !d.empty && errors.Is(f.look(), fs.ErrNotExist) && f.o.now().Sub(f.reading.since) >= graceWrite {
			s.drop(f)
		}
	}
	if !slices.Equal(before, s.files) {
		s.editedLocked()
	}
	return nil
}

// ServerURL returns the URL of the server that holds the file at path, "" if that
// server runs on another machine or is not found. A server that was killed is still
// named, so it is up to callers to find out whether it responds.
func ServerURL(path string) string {
	real, err := disk.Real().Resolve(path)
	if err != nil {
		return ""
	}
	f := &file{real: real}
	if info, err := os.Stat(real); err == nil && info.IsDir() {
		f = folderFile(nil, path, real)
	}
	text, _ := openfile.Read(f.dotFile(".lock"), 1<<10) // without it there is no server
	var pid int
	var on, url string
	if _, err := fmt.Sscanf(string(text), holderFormat+atURL+"%s", &pid, &on, &url); err != nil {
		return ""
	}
	if host, err := os.Hostname(); err != nil || on != host {
		return ""
	}
	return url
}
