package system

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pickup/internal/tools/servertest"
)

// TestConflictCopyIsLogged has an editor that holds the file open across writes
// and other edits, and then saves. Its text cannot be merged: a copy keeps it, and
// the log names the copy. It is not among the files that the server serves.
func TestConflictCopyIsLogged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "db.json")
	text := func(title string) string { return `{"schedules": [{"id": "1", "title": "` + title + `"}]}` + "\n" }
	if err := os.WriteFile(file, []byte(text("Vet visit")), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := servertest.Launch("pickup", dir, []string{"PICKUP_NO_AUTH=1"}, "--static", ".")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	patch := func(title string) {
		t.Helper()
		r, err := http.NewRequest(http.MethodPatch, p.URL+"/schedules/1", strings.NewReader(`{"title":"`+title+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Fatal(answer.Status, p.Text())
		}
	}

	editor, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer editor.Close()
	for n := range 2 {
		patch(fmt.Sprint("Dentist ", n))
		if err := os.WriteFile(file, []byte(text(fmt.Sprint("Ballet ", n))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	patch("Swimming")
	late := text("Grandma")
	if _, err := editor.WriteString(late); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(editor.Truncate(int64(len(late))), editor.Close()); err != nil {
		t.Fatal(err)
	}

	copyOf := func(text string) string { // the name of the file that holds text
		files, err := filepath.Glob(filepath.Join(dir, "db.json*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if got, err := os.ReadFile(name); err == nil && name != file && string(got) == text {
				return filepath.Base(name)
			}
		}
		return ""
	}
	if !servertest.Eventually(func() bool { name := copyOf(late); return name != "" && strings.Contains(p.Text(), name) }) {
		t.Error("the log names no file with the text of the editor:", p.Text())
	}
	for name, want := range map[string]int{copyOf(late): http.StatusNotFound, "db.json": http.StatusNotFound, "server.log": http.StatusOK} {
		if status, text := servertest.Send(t, http.MethodGet, p.URL+"/"+name, ""); status != want {
			t.Errorf("GET /%s: %d %s", name, status, text)
		}
	}
	if err := p.Stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}
