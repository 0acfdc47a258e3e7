package filestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pickup/internal/storage"
)

// A saver saves text at path with the system calls of some program.
type saver struct {
	name    string
	replace bool // needs to rename the file, which a mount point refuses
	save    func(path, text string) error
}

// savers are the ways in which known programs save.
var savers = []saver{
	{name: "sed, perl, rsync, jq and mv: a new file, renamed", replace: true, save: func(path, text string) error {
		return errors.Join(os.WriteFile(path+".sedA1", []byte(text), 0o644), os.Rename(path+".sedA1", path))
	}},
	{name: "nano, cp, VS Code, shell redirection: cut off, then written", save: func(path, text string) error {
		return os.WriteFile(path, []byte(text), 0o644)
	}},
	{name: "a slow writer: cut off, then a piece at a time", save: func(path, text string) error {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
		if err != nil {
			return err
		}
		for len(text) > 0 {
			n := min(len(text), 7000)
			if _, err := f.WriteString(text[:n]); err != nil {
				return err
			}
			text = text[n:]
			time.Sleep(time.Millisecond)
		}
		return f.Close()
	}},
	{name: "vim: the old file moved aside, a new one, the old one removed", replace: true, save: func(path, text string) error {
		os.WriteFile(filepath.Join(filepath.Dir(path), "4913"), nil, 0o644)
		os.Remove(filepath.Join(filepath.Dir(path), "4913"))
		if err := os.Rename(path, path+"~"); err != nil {
			return err
		}
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text)
		return errors.Join(err, f.Sync(), f.Close(), os.Chmod(path, 0o644), os.Remove(path+"~"))
	}},
	{name: "git checkout: removed, then made anew", replace: true, save: func(path, text string) error {
		if err := os.Remove(path); err != nil && !(runtime.GOOS == "windows" && errors.Is(err, os.ErrNotExist)) {
			return err // there it may have been removed by the last try
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text)
		return errors.Join(err, f.Close())
	}},
	{name: "JetBrains: a backup, then cut off and written with O_SYNC", save: func(path, text string) error {
		old, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path+"~", old, 0o644); err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC|os.O_SYNC, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text)
		return errors.Join(err, f.Close(), os.Remove(path+"~"))
	}},
	{name: "JetBrains of old: a new file, the old one aside, the new one in its place", replace: true, save: func(path, text string) error {
		if err := os.WriteFile(path+"___jb_tmp___", []byte(text), 0o644); err != nil {
			return err
		}
		return errors.Join(os.Rename(path, path+"___jb_old___"), os.Rename(path+"___jb_tmp___", path), os.Remove(path+"___jb_old___"))
	}},
}

// TestRace edits the file as soon as the last edit is loaded, while a client
// writes without a pause.
func TestRace(t *testing.T) {
	edits := 15
	if long() {
		edits = 400
	}
	for _, w := range ways {
		for _, sv := range savers {
			if sv.replace && strings.HasPrefix(w.name, "in place") {
				continue
			}
			t.Run(w.name+"/"+sv.name, func(t *testing.T) { race(t, w, sv, edits) })
		}
	}
}

var (
	editNumber  = regexp.MustCompile(`"edit (\d+)"`)
	writeNumber = regexp.MustCompile(`"write (\d+)"`)
)

// numberIn returns the number that re finds in text, 0 if there is none.
func numberIn(re *regexp.Regexp, text string) int {
	m := re.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

func race(t *testing.T, w way, sv saver, edits int) {
	filler := strings.TrimSuffix(strings.TrimPrefix(lines(20_000), "{\n"), "}\n")
	text0 := "{\n  \"hand\": {\"said\": \"edit 0\"},\n  \"api\": {\"said\": \"write 0\"},\n" + filler + "}\n"
	path := home(t, text0)
	o := w.options()
	o.sys = quick(o.sys) // more commits for the editor to meet
	s := start(t, path, o)

	// The client. read is the least write that an editor may have had before
	// it, so what is acknowledged after an edit is never below that.
	var stop atomic.Bool
	var read, acked atomic.Int64
	client := make(chan error, 1)
	go func() {
		client <- func() error {
			b, err := s.Load(context.Background())
			for !stop.Load() && err == nil {
				held := numberIn(writeNumber, apiSaid(b))
				if last := acked.Load(); int64(held) < min(read.Load(), last) {
					return fmt.Errorf("write %d was acknowledged and an editor has seen %d, and the store holds %d", last, read.Load(), held)
				}
				n := acked.Load() + 1
				rev, e := s.Commit(context.Background(), b.Rev, []storage.Change{{Collection: "api", Value: fmt.Appendf(nil, `{"said":"write %d"}`, n)}})
				switch {
				case e == nil:
					acked.Store(n)
					b, err = s.Load(context.Background())
					if err == nil && b.Rev == rev && numberIn(writeNumber, apiSaid(b)) != int(n) {
						return fmt.Errorf("write %d is acknowledged and not there", n)
					}
				case errors.Is(e, storage.ErrConflict):
					b, err = s.Load(context.Background())
				default:
					err = e
				}
			}
			return err
		}()
	}()

	kept := 0
	for n := 1; n <= edits; n++ {
		var now string
		for { // the editor opens the file
			b, err := os.ReadFile(path)
			if err == nil && strings.HasSuffix(string(b), "}\n") {
				now = string(b)
				break
			}
		}
		read.Store(int64(numberIn(writeNumber, now)))
		edited := editNumber.ReplaceAllString(now, fmt.Sprintf(`"edit %d"`, n))
		for { // and saves it
			err := sv.save(path, edited)
			if err == nil {
				break
			}
			// On Windows a file that is being read at the moment cannot be replaced.
			if !errors.Is(err, os.ErrNotExist) && runtime.GOOS != "windows" {
				t.Fatal(err)
			}
		}
		deadline := time.Now().Add(5 * time.Second)
		for {
			b := load(t, s)
			if handSaid(b) == n {
				break
			}
			if copies, _ := filepath.Glob(path + ".conflict-*"); len(copies) > kept {
				kept = len(copies)
				if numberIn(editNumber, text(t, copies[kept-1])) == n {
					break
				}
			}
			if time.Now().After(deadline) {
				stop.Store(true)
				t.Fatalf("edit %d is lost: the store has %d; client: %v\nfile: %.300s", n, handSaid(b), <-client, text(t, path))
			}
			time.Sleep(200 * time.Microsecond)
		}
	}
	stop.Store(true)
	if err := <-client; err != nil {
		t.Fatal(err)
	}
	b := load(t, s)
	if got := text(t, path); got != string(s.files[0].doc.Bytes()) {
		t.Errorf("the file and the store differ: %.300s", got)
	}
	t.Logf("%d edits among %d writes: 0 lost, %d kept as conflict copies; the last of each: %d, %s", edits, acked.Load(), kept, handSaid(b), apiSaid(b))
}

func said(b storage.Batch, who string) string {
	for _, c := range b.Contents {
		if c.Name == who {
			return string(c.Value)
		}
	}
	return ""
}

func apiSaid(b storage.Batch) string { return said(b, "api") }
func handSaid(b storage.Batch) int   { return numberIn(editNumber, said(b, "hand")) }
