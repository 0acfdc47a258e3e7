package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestKeptIsAnswered has an editor that holds the file open across a write and
// an edit of somebody else's, and then saves. Its text cannot be merged any
// more: the next answer says where it is.
func TestKeptIsAnswered(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "db.json")
	database := func(title string) string { return `{"schedules": [{"id": "1", "title": "` + title + `"}]}` + "\n" }
	if err := os.WriteFile(file, []byte(database("Vet visit")), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := launch("pickup", dir, []string{"PICKUP_NO_AUTH=1"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.stop(syscall.SIGTERM)
	patch := func(title string) *http.Response {
		t.Helper()
		r, err := http.NewRequest(http.MethodPatch, p.url+"/schedules/1", strings.NewReader(`{"title":"`+title+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Fatal(answer.Status, p.text())
		}
		return answer
	}

	save := func(title string) (kept []string, text string) {
		t.Helper()
		editor, err := os.OpenFile(file, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer editor.Close()
		for _, other := range []string{"Dentist", "Ballet"} {
			if a := patch(other); a.Header["Pickup-Kept"] != nil {
				t.Fatal("nothing was kept:", a.Header)
			}
			if err := os.WriteFile(file, []byte(database(other+" again")), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		patch("Swimming")
		late := database(title)
		if _, err := editor.WriteString(late); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(editor.Truncate(int64(len(late))), editor.Close()); err != nil {
			t.Fatal(err)
		}
		return patch("Piano").Header["Pickup-Kept"], late
	}
	var kept []string
	var late string
	for n := range 10 { // the watching may be faster than the write, and there is nobody to tell
		if kept, late = save(fmt.Sprint("Grandma ", n)); len(kept) > 0 {
			break
		}
	}
	if len(kept) != 1 {
		t.Fatal(kept, p.text())
	}
	if got, err := os.ReadFile(filepath.Join(dir, kept[0])); err != nil || string(got) != late {
		t.Errorf("%s holds %q, %v", kept[0], got, err)
	}
	if !strings.Contains(p.text(), kept[0]) {
		t.Error("the log does not name it:", p.text())
	}
	if a := patch("Chess"); a.Header["Pickup-Kept"] != nil {
		t.Error("said again:", a.Header)
	}
}
