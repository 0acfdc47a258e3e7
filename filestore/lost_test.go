package filestore

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pickup/filestore/internal/disk"
	"pickup/filestore/internal/durable"
)

// patient gives o a clock that naps move, so that waiting takes no time.
func patient(o Options) Options {
	waited := time.Duration(0)
	o.now = func() time.Time { return time.Now().Add(waited) }
	o.nap = func(d time.Duration) { waited += d }
	return o
}

// TestLost closes a store whose file another program has damaged. If nothing is left
// of the file, what was served is kept as a conflict copy, and the next start names it.
func TestLost(t *testing.T) {
	changed := strings.Replace(sample, "School run", "Ballet", 1)
	remove := func(path string) error { return os.Remove(path) }
	write := func(text string) func(string) error {
		return func(path string) error { return os.WriteFile(path, []byte(text), 0o644) }
	}
	for _, c := range []struct {
		name   string
		damage func(path string) error
		copies int
	}{
		{name: "emptied", damage: write(""), copies: 1},
		{name: "white space", damage: write(" \n"), copies: 1},
		{name: "removed", damage: remove, copies: 1},
		{name: "a directory", damage: func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) }, copies: 1},
		{name: "cut off", damage: write(sample[:40])},
		{name: "edited", damage: write(edited("Walk the dog"))},
		{name: "untouched", damage: func(string) error { return nil }},
	} {
		for _, w := range ways {
			t.Run(c.name+"/"+w.name, func(t *testing.T) {
				path := home(t, sample)
				s, err := Open(t.Context(), path, patient(w.options()))
				if err != nil {
					t.Fatal(err)
				}
				log := logOf(s)
				if err := errors.Join(commit(s, set("2", "Ballet")), c.damage(path)); err != nil {
					t.Fatal(err)
				}
				left, _ := os.ReadFile(path)
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				copies, _ := filepath.Glob(path + ".conflict-*")
				if len(copies) != c.copies || len(dots(path)) > 0 {
					t.Fatalf("copies %v, dot files %v", copies, dots(path))
				}
				if now, _ := os.ReadFile(path); !bytes.Equal(now, left) {
					t.Errorf("the file was %q and is %q", left, now)
				}
				if c.copies == 0 {
					return
				}
				name := filepath.Base(copies[0])
				if text(t, copies[0]) != changed || !strings.Contains(log.String(), name) {
					t.Errorf("%s holds %q; the log: %s", name, text(t, copies[0]), log)
				}
				s, err = Open(t.Context(), path, w.options())
				if err == nil {
					t.Fatalf("the next start is not refused: %v", s.Close())
				}
				if now, _ := os.ReadFile(path); !bytes.Equal(now, left) {
					t.Errorf("the next start has written %q", now)
				}
				if !strings.Contains(err.Error(), " an earlier version is kept as "+name) {
					t.Errorf("the next start says %q", err)
				}
			})
		}
	}
}

// TestLostOwner closes stores that have lost their content. The copy has the owner and
// the permissions of the file.
func TestLostOwner(t *testing.T) {
	for _, damage := range []func(path string) error{
		func(path string) error { return os.Truncate(path, 0) },
		os.Remove,
		func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	} {
		path := home(t, sample)
		if err := os.Chmod(path, 0o640); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() == 0 {
			if err := os.Chown(path, 65534, 65533); err != nil {
				t.Fatal(err)
			}
		}
		was, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), path, patient(Options{}))
		if err := errors.Join(err, damage(path), s.Close()); err != nil {
			t.Fatal(err)
		}
		copies, _ := filepath.Glob(path + ".conflict-*")
		if len(copies) != 1 {
			t.Fatal("the copies:", copies)
		}
		is, err := os.Stat(copies[0])
		if err != nil {
			t.Fatal(err)
		}
		uid, gid, _ := disk.Owner(was)
		if u, g, _ := disk.Owner(is); is.Mode() != was.Mode() || u != uid || g != gid {
			t.Errorf("the file was %v of %d:%d, the copy is %v of %d:%d", was.Mode(), uid, gid, is.Mode(), u, g)
		}
	}
}

// TestLostNotRead closes stores whose file has a content that cannot be read now.
// Nothing is lost, and nothing is kept.
func TestLostNotRead(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault error
		size  int64
	}{
		{name: "disk error", fault: syscall.EIO},
		{name: "stale handle", fault: syscall.ESTALE},
		{name: "no descriptors", fault: syscall.EMFILE},
		{name: "written to", fault: disk.ErrChanging},
		{name: "too large", size: durable.Largest + 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := home(t, sample)
			o := patient(ways[0].options())
			reads := -1 // since the damage
			o.sys = newTap(o.sys, func(op, name string) error {
				if reads < 0 || op != "open" || name != "db.json" {
					return nil
				}
				reads++
				return c.fault
			}).Calls
			s, err := Open(t.Context(), path, o)
			if err != nil {
				t.Fatal(err)
			}
			log := logOf(s)
			put(t, path, edited("Walk the dog")[:40])
			old := time.Now().Add(-time.Hour)
			if err := errors.Join(os.Truncate(path, max(c.size, 40)), os.Chtimes(path, old, old)); err != nil {
				t.Fatal(err)
			}
			reads = 0
			if err := s.Close(); err != nil || c.fault != nil && reads == 0 {
				t.Error(err, reads)
			}
			if copies, _ := filepath.Glob(path + ".conflict-*"); len(copies) > 0 || strings.Contains(log.String(), "lost") {
				t.Errorf("copies %v; the log: %s", copies, log)
			}
		})
	}
}

// TestLostInitial closes stores of files that were removed with the content that the
// next start gives them again.
func TestLostInitial(t *testing.T) {
	for _, text := range []string{"", `{"schedules": []}`} {
		path := filepath.Join(t.TempDir(), "db.json")
		o := Options{}
		if text != "" {
			o.Initial = []byte(text)
		}
		s, err := Open(t.Context(), path, patient(o))
		if err := errors.Join(err, os.Remove(path), s.Close()); err != nil {
			t.Fatal(err)
		}
		if left, _ := os.ReadDir(filepath.Dir(path)); len(left) > 0 {
			t.Errorf("%q: it left %v", text, left)
		}
	}
}

// TestLostUnderAnotherServer closes a store whose directory was replaced by one with
// a file that another server holds, and that has lost its content. The copy is that
// server's.
func TestLostUnderAnotherServer(t *testing.T) {
	for _, looks := range []bool{false, true} {
		path := home(t, sample)
		first, err := Open(t.Context(), path, patient(Options{}))
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(path)
		if err := errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o700)); err != nil {
			t.Fatal(err)
		}
		put(t, path, edited("Walk the dog"))
		second, err := Open(t.Context(), path, patient(Options{}))
		if err != nil {
			t.Fatal(err)
		}
		if looks { // the first notices what has happened
			load(t, first)
		}
		put(t, path, "")
		before, _ := os.ReadDir(dir)
		if err := first.Close(); err != nil {
			t.Error(err)
		}
		if after, _ := os.ReadDir(dir); len(after) != len(before) {
			t.Errorf("looks: %v; there were %v and are %v", looks, before, after)
		}
		if err := second.Close(); err != nil {
			t.Error(err)
		}
		copies, _ := filepath.Glob(path + ".conflict-*")
		if len(copies) != 1 || text(t, copies[0]) != edited("Walk the dog") {
			t.Errorf("looks: %v; the copies are %v", looks, copies)
		}
	}
}

// TestLostWithoutWriting closes stores that must not write. They keep nothing.
func TestLostWithoutWriting(t *testing.T) {
	for _, o := range []Options{{ReadOnly: true}, {Ephemeral: true}} {
		path := home(t, sample)
		s, err := Open(t.Context(), path, o)
		if err := errors.Join(err, os.Remove(path), s.Close()); err != nil {
			t.Fatal(err)
		}
		if left, _ := os.ReadDir(filepath.Dir(path)); len(left) > 0 {
			t.Errorf("%+v: it left %v", o, left)
		}
	}
}

// TestLostDuringSave closes a store while another program saves the file, which is
// empty for a moment. Nothing is lost, and nothing is kept.
func TestLostDuringSave(t *testing.T) {
	path := home(t, sample)
	o := patient(Options{})
	nap := o.nap
	o.nap = func(d time.Duration) {
		nap(d)
		put(t, path, edited("Walk the dog"))
	}
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, "")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if copies, _ := filepath.Glob(path + ".conflict-*"); len(copies) > 0 || text(t, path) != edited("Walk the dog") {
		t.Errorf("copies %v, the file has %q", copies, text(t, path))
	}
}

// TestLostAndFaults fails each call of a Close whose file was emptied. Either the
// copy is complete, or Close or the log says why there is no copy; the locks are
// released.
func TestLostAndFaults(t *testing.T) {
	for _, fault := range []error{syscall.EROFS, syscall.EIO, errShort{syscall.ENOSPC}} {
		for _, sticky := range []bool{false, true} {
			for n, hit := 0, true; hit; n++ {
				hit = lostAt(t, n, fault, sticky)
				if t.Failed() {
					t.Fatalf("%v at call %d, sticky: %v", fault, n, sticky)
				}
			}
		}
	}
}

func lostAt(t *testing.T, n int, fault error, sticky bool) (hit bool) {
	path := home(t, sample)
	o := patient(ways[0].options())
	armed, call, failing := false, 0, ""
	o.sys = newTap(quick(o.sys), func(op, file string) error {
		if !armed {
			return nil
		}
		call++
		if call-1 == n || sticky && op == failing {
			hit, failing = true, op
			return fault
		}
		return nil
	}).Calls
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	log := logOf(s)
	put(t, path, "")
	armed = true
	err = s.Close()
	armed = false
	copies, _ := filepath.Glob(path + ".conflict-*")
	explained := strings.Contains(log.String(), "cannot be read") || strings.Contains(log.String(), "another server holds")
	if err == nil && !(explained && len(copies) == 0) && (len(copies) != 1 || text(t, copies[0]) != sample) {
		t.Errorf("%s failed; Close has no error, and the copies are %v", failing, copies)
	}
	if err != nil && !strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("%s failed; Close says %v, and the log says nothing", failing, err)
	}
	put(t, path, sample)
	s, err = Open(t.Context(), path, Options{})
	if err != nil || s.Close() != nil || len(dots(path)) > 0 {
		t.Errorf("%s failed; opening again: %v, dot files %v", failing, err, dots(path))
	}
	return hit
}
