package filestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pickup/filestore/document"
	"pickup/filestore/internal/checksum"
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

// recordOf returns the redo record that leads from old to next.
func recordOf(t testing.TB, old, next string) []byte {
	d := document0(t, next)
	b := bytes.Join(redoRecord("db.json", document0(t, old), d, checksum.Of(d.Runs()...)), nil)
	if most := redoSize("db.json", document0(t, old), d); int64(len(b)) > most {
		t.Fatalf("a record of %d bytes, and %d were reserved", len(b), most)
	}
	return b
}

func TestRedoRecord(t *testing.T) {
	next := edited("Dentist")
	b := recordOf(t, longSample, next)
	r, ok := readRedo(b)
	if !ok || string(r.text) != next || r.oldLen != int64(len(longSample)) || r.oldSum != checksum.Of([]byte(longSample)) {
		t.Fatalf("%+v", r)
	}
	head, _, _ := bytes.Cut(b[2:], []byte("\n"))
	if !strings.Contains(string(head), "start pickup on this file") {
		t.Errorf("the first line should help who finds it: %s", head)
	}
	last := bytes.LastIndex(b, []byte(redoBegin[1:]))
	for i := range b { // every damage is detected
		for bit := range 8 {
			b[i] ^= 1 << bit
			if r, ok := readRedo(b); ok {
				t.Fatalf("bit %d of byte %d does not matter: %+v", bit, i, r)
			}
			b[i] ^= 1 << bit
		}
		if r, ok := readRedo(b[:i]); ok != (i >= last) || ok && string(r.text) != next {
			t.Fatalf("cut off at byte %d, it is read: %v", i, ok)
		}
	}
}

// TestRecordName has names of files that look like parts of a record.
func TestRecordName(t *testing.T) {
	d := document0(t, sample)
	sum := checksum.Of(d.Runs()...)
	for _, name := range []string{"my head=1.json", fmt.Sprintf("db"+redoForm+redoCheck, 1, uint64(sum), 1, uint64(sum), uint64(sum)), "a\nb"} {
		b := bytes.Join(redoRecord(name, d, d, sum), nil)
		if r, ok := readRedo(b); !ok || string(r.text) != sample {
			t.Errorf("%q: %v, %+v", name, ok, r)
		}
	}
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

func FuzzRedo(f *testing.F) {
	old, next := longSample, edited("Dentist")
	record := recordOf(f, old, next)
	f.Add([]byte(old), record)
	f.Add([]byte(old), record[:100])
	f.Add([]byte(sample), recordOf(f, sample, longSample))
	f.Add([]byte(sample+"\x00\x00"), []byte("\x00\n// An interrupted save of  pickup-redo-1 old=-1:0 new=9:0 crcs=0 head=0\n"))
	parses := func(b []byte) bool {
		_, err := document.Parse("db.json", b, nil)
		return err == nil
	}
	f.Fuzz(func(t *testing.T, text, record []byte) {
		data := slices.Concat(text, record)
		v, ok := judge(data, parses)
		if !ok {
			return
		}
		if !parses(v.text) {
			// A record is made of documents, so this took a forged one.
			if at := bytes.LastIndex(data, []byte(redoBegin)); at < 0 {
				t.Fatalf("the verdict on %q does not parse: %q", data, v.text)
			}
		}
		if parses(text) && !bytes.Equal(v.text, text) && v.keep == nil {
			if r, _ := readRedo(record); !r.explains(text) {
				t.Fatalf("a document is thrown away: %q", text)
			}
		}
	})
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
		s.look(&watcher{})
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

// TestTornRecord removes sectors of a record after a whole document, old or new,
// that ends anywhere in a sector. The result is one of the two, and the new one if
// the file has it. If the first line of the record is not readable, its rest is
// kept.
func TestTornRecord(t *testing.T) {
	parses := func(b []byte) bool { _, err := document.Parse("db.json", b, nil); return err == nil }
	next := edited("Dentist")
	for _, c := range []struct {
		name string
		old  func(pad int) string
	}{
		{"longer", func(pad int) string { return strings.Replace(next, "School run", strings.Repeat("x", 11+pad), 1) }},
		{"much longer", func(pad int) string {
			return strings.Replace(longSample, "School run", strings.Repeat("x", 4096+pad), 1)
		}},
		{"shorter", func(pad int) string { return "{}\n" + strings.Repeat(" ", pad%100) }},
		{"as long", func(int) string { return strings.Replace(next, "Dentist", "Optimum", 1) }},
	} {
		for pad := 0; pad < redoBlock; pad += 41 {
			old := c.old(pad)
			record := recordOf(t, old, next)
			at := (max(len(old), len(next)) + block - 1) / block * block
			for _, text := range []string{old, next} {
				whole := append([]byte(text), make([]byte, at-len(text))...)
				whole = append(whole, record...)
				sectors := (len(record) + redoBlock - 1) / redoBlock
				for lost := range 1 << 5 { // the first two, the last two, all between
					data := bytes.Clone(whole)
					for i := range sectors {
						bit := min(i, 2)
						if i >= sectors-2 {
							bit = 5 - (sectors - i)
						}
						if lost>>bit&1 == 1 {
							clear(data[at+i*redoBlock : min(len(data), at+(i+1)*redoBlock)])
						}
					}
					v, ok := judge(data, parses)
					if !ok || text == next && string(v.text) != next || string(v.text) != old && string(v.text) != next {
						t.Fatalf("%s, %d bytes, sectors lost: %05b: %v, %.100q", c.name, len(old), lost, ok, v.text)
					}
					rest := data[len(text):]
					_, redone := readRedo(data[at:])
					if keeps := !isRecordOf([]byte(text), rest) && !redone && !isZero(rest); keeps != (v.keep != nil) || keeps && !bytes.Equal(v.keep, rest) {
						t.Fatalf("%s, %d bytes, sectors lost: %05b: %d bytes kept of %d", c.name, len(old), lost, len(v.keep), len(rest))
					}
				}
			}
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
