package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"pickup/internal/storage"
)

// programs are the ways in which other programs save.
var programs = map[string]func(path, text string) error{
	"replaces": func(path, text string) error {
		return errors.Join(os.WriteFile(path+"~", []byte(text), 0o644), os.Rename(path+"~", path))
	},
	"writes in place": func(path, text string) error {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text[:len(text)/2])
		time.Sleep(time.Millisecond)
		_, again := f.WriteString(text[len(text)/2:])
		return errors.Join(err, again, f.Close())
	},
	"deletes and creates": func(path, text string) error {
		for { // Wine can open a file that is removed and still open, Windows cannot
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0)
			if err == nil {
				_, err = f.WriteString(text)
				return errors.Join(err, f.Close())
			}
		}
	},
}

const programVar = "PICKUP_TEST_PROGRAM"

// TestProgram is the other program, in a process of its own. It saves an edit for each
// byte of its input.
func TestProgram(t *testing.T) {
	way, path, ok := strings.Cut(os.Getenv(programVar), "|")
	if !ok {
		return
	}
	for n := 1; ; n++ {
		if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
			return
		}
		for { // a user saves again if the file is in use
			f, err := os.Open(path)
			if err != nil {
				continue
			}
			now, err := io.ReadAll(f)
			f.Close()
			if err != nil || !strings.HasSuffix(string(now), "}\n") {
				continue
			}
			if programs[way](path, editNumber.ReplaceAllString(string(now), fmt.Sprintf(`"edit %d"`, n))) == nil {
				break
			}
		}
		os.Stdout.WriteString("saved\n")
	}
}

// TestOtherProgram saves the file from another process while a client writes. No edit and no
// write is lost.
func TestOtherProgram(t *testing.T) {
	edits := 8
	if long() {
		edits = 100
	}
	for name := range programs {
		t.Run(name, func(t *testing.T) { editFromOutside(t, name, edits) })
	}
}

func editFromOutside(t *testing.T, name string, edits int) {
	path := home(t, "{\n  \"hand\": {\"said\": \"edit 0\"},\n  \"api\": {\"said\": \"write 0\"}\n}\n")
	s := start(t, path, Options{})
	program := exec.Command(os.Args[0], "-test.run=^TestProgram$")
	program.Env = append(os.Environ(), programVar+"="+name+"|"+path)
	in, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer program.Wait()
	defer in.Close()
	saved := make(chan struct{}, edits)
	go func() {
		line := make([]byte, 100)
		for range edits {
			if _, err := out.Read(line); err != nil {
				return
			}
			saved <- struct{}{}
		}
		io.Copy(io.Discard, out)
	}()

	writes, refused, kept := 0, 0, 0
	for n := 1; n <= edits; n++ {
		in.Write([]byte("."))
		for begin, done := time.Now(), false; ; {
			select {
			case <-saved:
				done = true
			default:
			}
			b := load(t, s)
			if done && handSaid(b) == n && writes >= 3*n {
				break // some of them since the program read the file
			}
			copies, _ := filepath.Glob(path + ".conflict-*")
			if kept = len(copies); done && kept > 0 && numberIn(editNumber, text(t, copies[kept-1])) == n {
				break
			}
			if time.Since(begin) > 20*time.Second {
				all := ""
				for _, f := range append(dots(path), filepath.Base(path)) {
					all += "\n" + f + ": " + text(t, filepath.Join(filepath.Dir(path), f))
				}
				t.Fatalf("edit %d is lost (saved: %v):%s", n, done, all)
			}
			_, err := s.Commit(context.Background(), b.Rev, []storage.Change{{Collection: "api", Value: fmt.Appendf(nil, `{"said":"write %d"}`, writes+1)}})
			switch {
			case err == nil:
				writes++
			case errors.Is(err, storage.ErrBusy):
				refused++
			case !errors.Is(err, storage.ErrConflict):
				t.Fatal(err)
			}
		}
	}
	if b := load(t, s); numberIn(writeNumber, apiSaid(b)) != writes {
		t.Errorf("%s after %d writes", apiSaid(b), writes)
	}
	for range 2 {
		if err := commit(s, storage.Change{Collection: "api", Value: []byte(`{"said":"done"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	if left := dots(path); len(left) > 2 { // the lock file and the newest displaced file
		t.Errorf("left: %v", left)
	}
	t.Logf("%d edits among %d writes, %d of them refused: 0 lost, %d kept as conflict copies", edits, writes, refused, kept)
}

// TestKeeps writes a file with attributes and an access list of its own.
func TestKeeps(t *testing.T) {
	path := home(t, sample)
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, path, Options{})
	old := windows.NsecToFiletime(time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC).UnixNano())
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(windows.SetFileTime(windows.Handle(f.Fd()), &old, nil, nil), f.Close()); err != nil {
		t.Fatal(err)
	}
	if err := windows.SetFileAttributes(name, windows.FILE_ATTRIBUTE_HIDDEN|windows.FILE_ATTRIBUTE_READONLY); err != nil {
		t.Fatal(err)
	}
	list, err := windows.SecurityDescriptorFromString("D:P(A;;FA;;;WD)(A;;FA;;;BA)")
	if err != nil {
		t.Fatal(err)
	}
	dacl, _, err := list.DACL()
	if err != nil {
		t.Fatal(err)
	}
	const what = windows.DACL_SECURITY_INFORMATION
	if err := windows.SetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, what|windows.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, dacl, nil); err != nil {
		t.Fatal(err)
	}
	var data windows.Win32FileAttributeData
	if err := windows.GetFileAttributesEx(name, windows.GetFileExInfoStandard, (*byte)(unsafe.Pointer(&data))); err != nil {
		t.Fatal(err)
	}
	keepsCreation := data.CreationTime == old
	state := func() string {
		if err := windows.GetFileAttributesEx(name, windows.GetFileExInfoStandard, (*byte)(unsafe.Pointer(&data))); err != nil {
			t.Fatal(err)
		}
		list, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, what)
		if err != nil {
			t.Fatal(err)
		}
		created := data.CreationTime.Nanoseconds()
		if !keepsCreation { // as Wine
			created = 0
		}
		return fmt.Sprintf("attributes %x, created %v, access %v", data.FileAttributes, created, list)
	}
	before := state()
	t.Logf("%s; the system has a time of creation: %v", before, keepsCreation)
	for n := range 100 {
		if err := commit(s, set("1", fmt.Sprint("write ", n))); err != nil {
			t.Fatal(err)
		}
	}
	if after := state(); after != before {
		t.Errorf("it was %s, and is %s", before, after)
	}
	if left := dots(path); len(left) > 2 {
		t.Errorf("left: %v", left)
	}
}
