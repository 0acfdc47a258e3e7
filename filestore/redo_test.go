package filestore

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pickup/filestore/document"
	"pickup/internal/storage"
)

func document0(t testing.TB, text string) *document.Document {
	t.Helper()
	d, err := document.Parse("db.json", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// recordOf returns the redo record that a write in place of next over old makes.
func recordOf(t *testing.T, old, next string) (record []byte) {
	t.Helper()
	o := inPlaceOnly()
	write := o.sys.WriteAt
	o.sys.WriteAt = func(f *os.File, runs [][]byte, off int64) (int, error) {
		if text := slices.Concat(runs...); bytes.HasPrefix(text, []byte("\x00\n//")) {
			record = text
		}
		return write(f, runs, off)
	}
	s := start(t, home(t, old), o)
	if err := s.files[0].Write(document0(t, next)); err != nil || record == nil {
		t.Fatalf("no record: %v", err)
	}
	return record
}

// TestSyncBeforeCut completes a write from a record in the file. The
// document is durable before the record is cut off.
func TestSyncBeforeCut(t *testing.T) {
	next := edited("Dentist")
	zeros := make([]byte, 2*block-len(longSample)%block)
	for _, w := range ways[2:3] {
		path := home(t, longSample+string(zeros)+string(recordOf(t, longSample, next)))
		o := w.options()
		write, sync, truncate := o.sys.WriteAt, o.sys.Sync, o.sys.Truncate
		var steps []string
		note := func(f *os.File, step string) {
			if filepath.Base(f.Name()) == "db.json" && (len(steps) == 0 || steps[len(steps)-1] != step) {
				steps = append(steps, step)
			}
		}
		o.sys.WriteAt = func(f *os.File, runs [][]byte, off int64) (int, error) {
			note(f, "write")
			return write(f, runs, off)
		}
		o.sys.Sync = func(f *os.File) error { note(f, "sync"); return sync(f) }
		o.sys.Truncate = func(f *os.File, size int64) error { note(f, "truncate"); return truncate(f, size) }
		start(t, path, o)
		if got := text(t, path); got != next || strings.Join(steps, ", ") != "write, sync, truncate, sync" {
			t.Errorf("%s: %v: %q", w.name, steps, got)
		}
	}
}

// TestUnknownAfterWrite cannot ask for the state of a file that it has just written in place. The
// next look finds its own write there, and no edit.
func TestUnknownAfterWrite(t *testing.T) {
	path := home(t, sample)
	o := inPlaceOnly()
	written, failed := false, false
	o.sys = newTap(o.sys, func(op, file string) error {
		written = written || op == "truncate" && file == "db.json"
		if written && !failed && op == "fstat" {
			failed = true
			return syscall.EIO
		}
		return nil
	}).Calls
	waited := time.Duration(0)
	o.now = func() time.Time { return time.Now().Add(waited) }
	s := start(t, path, o)
	if _, err := s.Commit(t.Context(), s.rev, []storage.Change{set("2", "Ballet")}); err != nil || !failed {
		t.Fatal(err, failed)
	}
	waited = time.Minute
	rev := s.rev
	if b, err := s.Load(t.Context()); err != nil || b.Rev != rev {
		t.Errorf("after a write with revision %d the store has %d, %v", rev, b.Rev, err)
	}
}

// TestEditAfterCrash edits a file that a crash left with a redo record.
func TestEditAfterCrash(t *testing.T) {
	old, next := longSample, strings.NewReplacer("School run", "Ballet", `"Vet`, `"Pet`).Replace(longSample)
	record := string(recordOf(t, old, next))
	torn := next[:512] + old[512:] // neither of the two
	for _, test := range []struct {
		name       string
		file       string
		want, kept string
		broken     bool // for a server that may not write
	}{
		{name: "old, then record", file: old + record, want: next},
		{name: "torn, then record", file: torn + record, want: next},
		{name: "new, then record", file: next + record, want: next},
		{name: "a broken edit, then record", file: edited("Dentist") + "}" + record, want: next, kept: edited("Dentist") + "}", broken: true},
		{name: "emptied, then record", file: record, want: next},
		{name: "old, then the first line of a record, cut", file: old + record[:200], want: old},
		{name: "old, then part of a record", file: old + record[:len(record)/2], want: old},
		{name: "old, then a record cut in its last line", file: old + record[:len(record)-1], want: next},
		{name: "an edit, then part of a record", file: edited("Dentist") + record[:len(record)/2], want: edited("Dentist"), kept: record[:len(record)/2]},
		{
			name: "a note after part of a record", file: old + record[:300] + strings.Repeat("note ", 999),
			want: old, kept: record[:300] + strings.Repeat("note ", 999),
		},
		{name: "old, then zeros", file: old + "\x00\x00\x00", want: old},
		{name: "an edit, then record", file: edited("Dentist") + record, want: edited("Dentist"), kept: next},
		{name: "no record", file: old, want: old},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := home(t, test.file)
			o := inPlaceOnly()
			reader, err := Open(t.Context(), path, Options{ReadOnly: true})
			if errors.Is(err, storage.ErrBroken) != test.broken {
				t.Fatal("read-only:", err)
			}
			if err == nil {
				if got := string(reader.files[0].doc.Bytes()); got != test.want {
					t.Errorf("read-only: %.200q", got)
				}
				reader.Close()
			}
			if got := text(t, path); got != test.file {
				t.Fatalf("read-only wrote %.200q", got)
			}
			s := start(t, path, o)
			if got := text(t, path); got != test.want || got != string(s.files[0].doc.Bytes()) {
				t.Errorf("got %.300q", got)
			}
			copies, _ := filepath.Glob(path + ".conflict-*")
			switch {
			case test.kept == "" && len(copies) > 0:
				t.Error("kept:", copies)
			case test.kept != "" && (len(copies) != 1 || text(t, copies[0]) != test.kept):
				t.Error("not kept:", copies)
			}
			if err := commit(s, set("2", "Piano")); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestUnconfirmed fails the sync of the directory after the file was replaced.
// Nobody may see the change before it is durable, and it must not be lost.
func TestUnconfirmed(t *testing.T) {
	for _, w := range ways[:2] {
		t.Run(w.name, func(t *testing.T) {
			path := home(t, sample)
			o := w.options()
			failing := false
			sync := o.sys.SyncDir
			o.sys.SyncDir = func(dir string) error {
				if failing {
					return &os.PathError{Op: "sync", Path: dir, Err: os.ErrDeadlineExceeded}
				}
				return sync(dir)
			}
			s := start(t, path, o)
			failing = true
			if err := commit(s, set("1", "Dentist")); !errors.Is(err, storage.ErrUnsure) {
				t.Fatal(err)
			}
			if got := titles(load(t, s)); got != "Vet visit, School run" {
				t.Error("seen before it is durable:", got)
			}
			if err := commit(s, set("2", "Ballet")); !errors.Is(err, storage.ErrUnsure) && !errors.Is(err, storage.ErrReadOnly) {
				t.Error(err)
			}
			failing = false
			_, err := s.Commit(context.Background(), s.rev, []storage.Change{set("2", "Ballet")})
			if !errors.Is(err, storage.ErrConflict) {
				t.Error("what was in doubt is the new base:", err)
			}
			if err := commit(s, set("2", "Ballet")); err != nil {
				t.Fatal(err)
			}
			if got := titles(load(t, s)); got != "Dentist, Ballet" {
				t.Error(got)
			}
		})
	}
}

// TestUnconfirmedAndBroken makes an edit that does not parse over an unconfirmed
// change. Nothing is written until the edit is repaired.
func TestUnconfirmedAndBroken(t *testing.T) {
	for _, w := range ways[:2] {
		path := home(t, sample)
		o := w.options()
		failing, written := false, 0
		syncDir, sync := o.sys.SyncDir, o.sys.Sync
		o.sys.SyncDir = func(dir string) error {
			if failing {
				return &os.PathError{Op: "sync", Path: dir, Err: os.ErrDeadlineExceeded}
			}
			return syncDir(dir)
		}
		o.sys.Sync = func(f *os.File) error { written++; return sync(f) }
		s := start(t, path, o)
		failing = true
		if err := commit(s, set("1", "Dentist")); !errors.Is(err, storage.ErrUnsure) {
			t.Fatal(err)
		}
		failing, written = false, 0
		put(t, path, "{ broken")
		s.work(&watcher{})
		if got := text(t, path); written > 0 || got != "{ broken" {
			t.Errorf("%s: %d writes, the file holds %q", w.name, written, got)
		}
		put(t, path, edited("Optician"))
		quiet()
		if got := titles(load(t, s)); got != "Optician, School run" {
			t.Error(got)
		}
	}
}

// TestRecordNotSynced lets the sync of the record in the file fail. The write is
// refused, so the record that may have reached the disk is cut off durably.
func TestRecordNotSynced(t *testing.T) {
	path := home(t, sample)
	o := ways[2].options()
	var calls []string
	sync, truncate := o.sys.Sync, o.sys.Truncate
	o.sys.Sync = func(f *os.File) error {
		calls = append(calls, "sync")
		if len(calls) == 1 {
			return syscall.ENOSPC
		}
		return sync(f)
	}
	o.sys.Truncate = func(f *os.File, size int64) error {
		calls = append(calls, "truncate")
		return truncate(f, size)
	}
	s := start(t, path, o)
	calls = nil
	if err := commit(s, set("1", "Dentist")); err == nil {
		t.Error("the write succeeded without its record")
	}
	if got := strings.Join(calls, " "); got != "sync truncate sync" {
		t.Errorf("the calls are %s", got)
	}
	if got := text(t, path); got != sample {
		t.Errorf("the file contains %q", got)
	}
}
