//go:build unix

package filestore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// TestReplacedBeforeWrite replaces a file that is written in place, as git does, in the last
// moment before the write. No mount shows it, so the write merges the edit and is made.
func TestReplacedBeforeWrite(t *testing.T) {
	path := home(t, sample)
	o := inPlaceOnly()
	edit := filepath.Join(t.TempDir(), "edit")
	put(t, edit, strings.Replace(sample, "\n  ]", ",\n    {\"id\": \"new\", \"title\": \"By hand\"}\n  ]", 1))
	armed, replaced, lease := false, false, o.sys.Lease
	o.sys.Lease = func(f *os.File, kind disk.LeaseKind) error {
		err := lease(f, kind)
		if armed && kind != disk.NoLease {
			armed, replaced = false, true
			if err := os.Rename(edit, path); err != nil {
				t.Error(err)
			}
		}
		return err
	}
	s := start(t, path, o)
	b := load(t, s)
	armed = true
	_, err := s.Commit(t.Context(), b.Rev, []storage.Change{set("1", "By a client")})
	if errors.Is(err, storage.ErrConflict) { // with the edit
		err = commit(s, set("1", "By a client"))
	}
	if got := text(t, path); err != nil || !replaced || !strings.Contains(got, "By hand") || !strings.Contains(got, "By a client") {
		t.Errorf("%v, replaced: %v\n%s", err, replaced, got)
	}
}

// TestHalfWrittenNextToCommit fails a write in place half way, completes the write on a disk that fails
// again at the last call, and then commits to another file of the folder. The first file keeps its
// contents.
func TestHalfWrittenNextToCommit(t *testing.T) {
	dir := folderOf(t, map[string]string{
		"posts.json":     "[\n  {\"id\": \"1\", \"title\": \"Old\"}\n]\n",
		"schedules.json": "[\n  {\"id\": \"1\", \"title\": \"Vet visit\"}\n]\n",
	})
	o := inPlaceOnly()
	phase, syncs := "", 0
	o.sys = newTap(o.sys, func(op, file string) error {
		if file != "posts.json" {
			return nil
		}
		if phase == "write" && op == "sync" {
			syncs++
			if syncs > 1 { // the first is of the redo record
				return syscall.EIO
			}
		}
		if phase == "complete" && op == "truncate" {
			phase = "completed"
		}
		if phase == "completed" && op == "fstat" {
			return syscall.EIO
		}
		return nil
	}).Calls
	s := startFolder(t, dir, o)
	b := load(t, s)
	phase = "write"
	_, err := s.Commit(t.Context(), b.Rev, []storage.Change{{
		Collection: "posts", ID: "1", Value: jsontext.Value(`{"id":"1","title":"New"}`),
	}})
	if !errors.Is(err, storage.ErrUnsure) || !s.find("posts").IsHalfWritten() {
		t.Fatalf("the write is not half way: %v", err)
	}
	phase = "complete"
	if err := commit(s, set("1", "By a client")); err != nil || phase != "completed" {
		t.Fatalf("%v, phase %s", err, phase)
	}
	if doc := s.find("posts").doc; doc == nil || !strings.Contains(string(doc.Bytes()), "Old") {
		t.Fatal("posts has lost its contents")
	}
	phase = ""
	// A file that is written in place is read once it is quiet.
	past := time.Now().Add(-time.Minute)
	if err := os.Chtimes(filepath.Join(dir, "posts.json"), past, past); err != nil {
		t.Fatal(err)
	}
	load(t, s)
	if doc := s.find("posts").doc; !strings.Contains(string(doc.Bytes()), "New") {
		t.Errorf("after the disk has recovered posts is %s", doc.Bytes())
	}
}
