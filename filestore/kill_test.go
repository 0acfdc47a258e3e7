package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// errDead is the error of calls that a killed process no longer makes.
var errDead = errors.New("killed")

// A mortal is a server process that can be killed before any of its calls. If it
// is killed in a write, the write is done in part.
type mortal struct {
	*tap
	calls  int // made so far
	dieAt  int // the call before which it is killed; -1: never
	dead   bool
	before func(call int) // what others do before each call; nil: nothing
	waited time.Duration
}

// run lets the process work with options like o until it is done or dead.
func (m *mortal) run(o Options, path string, work func(s *Store)) error {
	m.tap = newTap(quick(o.sys), func(op, file string) error {
		if m.dead {
			return errDead
		}
		if m.before != nil {
			m.before(m.calls)
		}
		if m.calls++; m.calls-1 == m.dieAt {
			m.dead = true
			if op == "write" {
				return errCut{errDead}
			}
			return errDead
		}
		return nil
	})
	o.sys = m.tap.Calls
	o.now = func() time.Time { return time.Now().Add(m.waited) }
	o.nap = func(d time.Duration) {
		m.waited += d
		if m.before != nil && !m.dead {
			m.before(-1)
		}
	}
	s, err := Open(context.Background(), path, o)
	if err == nil {
		work(s)
	}
	m.die()
	return err
}

// TestKill kills the server before each of its calls, and recovery before each of
// its own. Every acknowledged change must be there, and the file must be the
// document of some commit.
func TestKill(t *testing.T) {
	t.Parallel()
	for _, w := range systems {
		t.Run(w.name, func(t *testing.T) {
			commits, every := 1, 5*w.pace
			if long() {
				commits, every = 4, w.thin(1)
			}
			kills, again := 0, 0
			for at := 0; ; at += (w.thin(1) + 3) / 4 {
				path := home(t, longSample)
				o := w.options()
				texts, acked := []string{longSample}, 0
				m := mortal{dieAt: at}
				err := m.run(o, path, func(s *Store) { texts, acked = commitMany(s, path, commits) })
				if err != nil && !m.dead {
					t.Fatal(err)
				}
				if !m.dead {
					break
				}
				kills++
				for step := at % every; ; step += every {
					r := mortal{dieAt: step}
					if err := r.run(o, path, func(s *Store) { s.Close() }); err != nil && !r.dead {
						t.Fatalf("killed at call %d, recovery at %d: %v", at, step, err)
					}
					if !r.dead {
						break
					}
					again++
				}
				got, err := recovered(w, filepath.Dir(path))
				if err != nil {
					t.Fatalf("killed at call %d: %v", at, err)
				}
				if !oneOf(got, texts[acked:]) {
					t.Fatalf("killed at call %d: after %d acknowledged commits the file holds %q", at, acked, got)
				}
				os.RemoveAll(filepath.Dir(path))
			}
			t.Logf("%d kills, %d kills of the recovery: nothing lost, nothing torn", kills, again)
		})
	}
}

// TestKillBetweenPieces kills the server before each call of a write in place of a
// document that needs several writes. No write may end inside a sector, because a
// sector with parts of both documents looks like an edit.
func TestKillBetweenPieces(t *testing.T) {
	var records strings.Builder
	for i := range 700 {
		fmt.Fprintf(&records, ",\n    {\"id\": \"x%d\", \"title\": %q}", i, strings.Repeat("piece ", i%40*4))
	}
	long := strings.Replace(sample, "\n  ]", records.String()+"\n  ]", 1)
	for _, w := range ways[2:3] {
		for at := 0; ; at++ {
			path := home(t, long)
			o := w.options()
			m := mortal{dieAt: -1}
			write := o.sys.WriteAt
			o.sys.WriteAt = func(f *os.File, runs [][]byte, off int64) (int, error) {
				if m.dead {
					return 0, errDead // no part of this write, which would complete a sector
				}
				return write(f, runs, off)
			}
			if err := m.run(o, path, func(s *Store) {
				m.dieAt = m.calls + at
				commit(s, set("1", "Dentist"), set("x350", strings.Repeat("longer ", 9)))
			}); err != nil {
				t.Fatal(err)
			}
			if !m.dead {
				break
			}
			got, err := recovered(w, filepath.Dir(path))
			if err != nil || got != long && !strings.Contains(got, "Dentist") {
				t.Fatalf("%s: killed at call %d: %v, %d bytes", w.name, at, err, len(got))
			}
		}
	}
}

// commitMany commits until a commit fails. It returns the content of the file
// after each, including the failed one, and the number of acknowledged commits.
func commitMany(s *Store, path string, commits int) (texts []string, acked int) {
	texts = []string{string(s.files[0].doc.Bytes())}
	rev := s.rev
	for i := range commits {
		change := set("2", strings.Repeat(fmt.Sprint("change ", i, " "), 1+(i*7)%11))
		next, err := s.files[0].doc.Apply([]storage.Change{change})
		if err != nil {
			panic(err)
		}
		texts = append(texts, string(next.Bytes()))
		if rev, err = s.Commit(context.Background(), rev, []storage.Change{change}); err != nil {
			return texts, acked
		}
		acked++
	}
	s.Close()
	return texts, acked
}

func oneOf(s string, all []string) bool {
	for _, a := range all {
		if a == s {
			return true
		}
	}
	return false
}

// An editor saves the file in two steps. Other programs may act between them.
type editor struct {
	name string
	// begin starts to save text at path and returns what ends it. It fails
	// with EAGAIN while a lease keeps it out.
	begin func(sys *disk.Calls, path, text string) (end func(), err error)
}

// others are the calls of other programs. They do not wait for a lease to end.
func others() disk.Calls {
	sys := disk.Real()
	sys.Open = func(path string, flag int, perm os.FileMode) (*os.File, error) { return openNow(path, flag) }
	return sys
}

// openNow opens a file without waiting for a lease to end.
func openNow(path string, flag int) (*os.File, error) {
	fd, err := syscall.Open(path, flag|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

func readNow(path string) (string, error) {
	f, err := openNow(path, os.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	return string(b), err
}

var editors = []editor{
	{"a new file, renamed", func(sys *disk.Calls, path, text string) (func(), error) {
		return func() {}, errors.Join(os.WriteFile(path+"~", []byte(text), 0o644), sys.Rename(path+"~", path))
	}},
	{"the old file moved aside, a new one written", func(sys *disk.Calls, path, text string) (func(), error) {
		if err := sys.Rename(path, path+"~"); err != nil {
			return nil, err
		}
		return func() {
			os.WriteFile(path, []byte(text), 0o644)
			os.Remove(path + "~")
		}, nil
	}},
	{"cut off, then written", func(sys *disk.Calls, path, text string) (func(), error) {
		f, err := sys.Open(path, os.O_WRONLY|os.O_TRUNC, 0)
		return func() { f.WriteString(text); sys.Close(f) }, err
	}},
	{"opened, then written over and cut", func(sys *disk.Calls, path, text string) (func(), error) {
		f, err := sys.Open(path, os.O_WRONLY, 0)
		return func() {
			f.WriteString(text)
			f.Truncate(int64(len(text)))
			sys.Close(f)
		}, err
	}},
	{"half, then the rest", func(sys *disk.Calls, path, text string) (func(), error) {
		f, err := sys.Open(path, os.O_WRONLY|os.O_TRUNC, 0)
		if err != nil {
			return nil, err
		}
		f.WriteString(text[:len(text)/2])
		return func() { f.WriteString(text[len(text)/2:]); sys.Close(f) }, nil
	}},
}

// TestEditAndKill begins a save before each call of a commit, ends it a few calls
// later, and kills the server at each call in between and after. Neither the edit
// nor an acknowledged change may be lost.
func TestEditAndKill(t *testing.T) {
	t.Parallel()
	for _, w := range systems {
		t.Run(w.name, func(t *testing.T) {
			total, kept := 0, 0
			for i, e := range editors {
				if i < 2 && strings.HasPrefix(w.name, "in place") {
					continue // a mount point cannot be renamed
				}
				pairs, copies := editsAndKills(t, w, e)
				total, kept = total+pairs, kept+copies
			}
			t.Logf("%d pairs of an edit and a kill: 0 lost, %d edits kept as conflict copies", total, kept)
		})
	}
}

// editsAndKills tries all pairs of an edit and a kill for one editor.
func editsAndKills(t *testing.T, w way, e editor) (total, kept int) {
	strideEdit, strideKill := 9*w.pace, 23*w.pace
	if long() {
		strideEdit, strideKill = w.thin(1), w.thin(2)
	}
	for from := 0; ; from += strideEdit {
		reached := false
		for _, last := range []int{1, 4, 15} { // calls of the save
			for dieAt := from; ; dieAt += strideKill {
				r := editAndKill(t, w, e, from, last, dieAt)
				total++
				kept += r.kept
				if r.problem != "" {
					t.Fatalf("%s: from call %d, for %d calls, killed at %d: %s\n%s", e.name, from, last, dieAt, r.problem, r.details)
				}
				reached = reached || r.edited
				if !r.killed {
					break
				}
			}
		}
		if !reached {
			return total, kept
		}
	}
}

type outcome struct {
	killed, edited bool
	kept           int // conflict copies
	problem        string
	details        string
}

func editAndKill(t *testing.T, w way, e editor, from, last, dieAt int) (r outcome) {
	path := home(t, sample)
	defer os.RemoveAll(filepath.Dir(path))
	o, others := w.both()
	var end func()
	ended, acked, naps, begun, base := false, false, 0, 0, 0
	finish := func() {
		if end != nil && !ended {
			ended = true
			end()
		}
	}
	m := mortal{dieAt: -1}
	m.before = func(call int) {
		if call < 0 {
			naps++
			if naps > 5 {
				finish()
			}
			return
		}
		if call -= base; base == 0 || call < from {
			return
		}
		if end == nil {
			now, err := readNow(path)
			if err != nil || !strings.Contains(now, "Vet visit") {
				return // nothing to edit at this moment
			}
			begun = call
			if end, err = e.begin(&others, path, strings.Replace(now, "Vet visit", "Edited", 1)); err != nil {
				end = nil // kept out: at the next call
			}
		} else if call >= begun+last {
			finish()
		}
	}
	err := m.run(o, path, func(s *Store) {
		base = m.calls
		m.dieAt = base + dieAt
		acked = commit(s, set("2", "Ballet")) == nil
		if !m.dead {
			finish()
			s.Close()
		}
	})
	if err != nil {
		return outcome{problem: err.Error()}
	}
	finish()
	r.killed, r.edited = m.dead, end != nil
	again := mortal{dieAt: -1}
	var log strings.Builder
	if err := again.run(o, path, func(s *Store) {
		log.WriteString(strings.Join(s.Warnings(), "\n"))
		s.Close()
	}); err != nil {
		r.problem = err.Error()
		return r
	}
	now := text(t, path)
	copies, _ := filepath.Glob(path + ".conflict-*")
	r.kept = len(copies)
	all := now
	for _, c := range copies {
		all += text(t, c)
	}
	switch left := dots(path); {
	case r.edited && !strings.Contains(all, "Edited"):
		r.problem = "the edit is lost"
	case acked && !strings.Contains(now, "Ballet"):
		r.problem = "the acknowledged change is lost"
	case len(left) > 0:
		r.problem = fmt.Sprint("left: ", left)
	}
	r.details = fmt.Sprintf("file: %s\ncopies: %v\nnotices: %s", now, copies, log.String())
	return r
}
