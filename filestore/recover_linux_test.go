package filestore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pickup"
)

// TestNotesBehindNUL starts on a file with a complete document, a NUL, and
// something that no write of ours left there.
func TestNotesBehindNUL(t *testing.T) {
	for _, w := range ways {
		for _, tail := range []string{"\x00 my notes", "\x00\x00\x00\n// An interesting save of mine", "\x00{}"} {
			path := home(t, sample+tail)
			if s, err := Open(t.Context(), path, w.options(t.TempDir())); !errors.Is(err, pickup.ErrBroken) {
				t.Errorf("%s: %q: %v, %v", w.name, tail, s, err)
			}
			if got := text(t, path); got != sample+tail {
				t.Errorf("%s: the file was written: %q", w.name, got)
			}
		}
	}
}

// TestRestoredBesideRecord kills the server after a write in place, before its
// record is removed, and then puts the text back that was there before: by
// hand, so it stays.
func TestRestoredBesideRecord(t *testing.T) {
	path := home(t, sample)
	o := ways[2].options(t.TempDir())
	m := mortal{dieAt: -1}
	if err := m.run(o, path, func(s *Store) {
		remove := s.o.sys.remove
		s.o.sys.remove = func(p string) error {
			m.dead = m.dead || strings.HasSuffix(p, ".redo")
			return remove(p)
		}
		commit(s, set("2", "Ballet"))
	}); err != nil {
		t.Fatal(err)
	}
	if records, _ := filepath.Glob(filepath.Join(o.JournalDir, ".*.redo")); len(records) != 1 || !strings.Contains(text(t, path), "Ballet") {
		t.Fatal(records, text(t, path))
	}
	put(t, path, sample)
	start(t, path, o)
	if got := text(t, path); got != sample {
		t.Error("the record was redone:", got)
	}
	if records, _ := filepath.Glob(filepath.Join(o.JournalDir, ".*.redo")); len(records) > 0 {
		t.Error("left:", records)
	}
}

// TestEditorOutlivesServer has an editor that cut the file off right before a
// swap, and that writes only when the server was killed and has started again.
func TestEditorOutlivesServer(t *testing.T) {
	for _, w := range ways[:2] {
		path := home(t, sample)
		o := w.options("")
		var editor *os.File
		m := mortal{dieAt: -1}
		m.before = func(int) {
			if drafts, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".db.json.tmp-*")); editor == nil && len(drafts) > 0 {
				var err error
				if editor, err = os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0); err != nil {
					t.Fatal(err)
				}
			}
		}
		swap := func(do func(a, b string) error) func(a, b string) error {
			return func(a, b string) error {
				err := do(a, b)
				m.dead = m.dead || editor != nil
				return err
			}
		}
		dying := o
		dying.sys.exchange, dying.sys.rename = swap(o.sys.exchange), swap(o.sys.rename)
		if err := m.run(dying, path, func(s *Store) { commit(s, set("2", "Ballet")) }); err != nil || !m.dead || editor == nil {
			t.Fatal(err, m.dead, editor)
		}
		s := start(t, path, o)
		editor.WriteString(edited("Dentist"))
		editor.Close()
		s.Close()
		all := text(t, path)
		copies, _ := filepath.Glob(path + ".conflict-*")
		for _, p := range copies {
			all += text(t, p)
		}
		if !strings.Contains(all, "Dentist") {
			t.Errorf("%s: the edit is lost: %s", w.name, all)
		}
	}
}
