package system

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pickup/internal/tools/servertest"
)

// TestSaves writes through the server, and from this process, which does not share the files
// that it has open, in three ways. Then it keeps the file open, for a moment and for long.
func TestSaves(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "Données de l’été")
	path := filepath.Join(dir, "db.json")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(path, []byte("{\n  \"posts\": [\n    { \"id\": 1, \"title\": \"zero\" }\n  ]\n}\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	env := []string{"SYSTEMROOT=" + os.Getenv("SYSTEMROOT"), "TEMP=" + os.Getenv("TEMP")}
	p, err := servertest.Launch(servertest.Built(t), t.TempDir(), env, "--no-auth", path)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	call := func(method, path, body string) (*http.Response, string) {
		req, err := http.NewRequest(method, p.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp, string(text)
	}
	write := func(n int) {
		t.Helper()
		if resp, text := call("POST", "/posts", fmt.Sprintf(`{"title": "write %d"}`, n)); resp.StatusCode != http.StatusCreated {
			t.Fatalf("write %d: %d %s\n%s", n, resp.StatusCode, text, p.Text())
		}
	}
	for n := range 20 {
		write(n)
	}

	ways := []func(text string) error{
		func(text string) error {
			return errors.Join(os.WriteFile(path+"~", []byte(text), 0o644), os.Rename(path+"~", path))
		},
		func(text string) error { return os.WriteFile(path, []byte(text), 0o644) },
		func(text string) error { return replaceByNew(path, text) },
	}
	for n := range 12 {
		edit := fmt.Sprintf(`"title": "edit %d", "was %d"`, n, n)
		saved := func() bool { // a user saves again if the file is in use
			now, err := os.ReadFile(path)
			if err != nil {
				return false
			}
			return ways[n%len(ways)](strings.Replace(string(now), `"title"`, edit, 1)) == nil
		}
		if !servertest.Eventually(saved) {
			t.Fatalf("edit %d cannot be saved:\n%s", n, p.Text())
		}
		seen := func() bool {
			_, text := call("GET", "/posts/1", "")
			return strings.Contains(text, fmt.Sprintf("edit %d", n))
		}
		if !servertest.Eventually(seen) {
			t.Fatalf("edit %d is lost:\n%s", n, p.Text())
		}
		write(20 + n)
	}
	if text, err := os.ReadFile(path); err != nil || strings.Count(string(text), "write ") != 32 || !strings.Contains(string(text), "edit 11") {
		t.Errorf("%v, the file has %s", err, text)
	}
	names, _ := filepath.Glob(filepath.Join(dir, ".*"))
	if len(names) > 2 { // the lock file and the newest displaced file
		t.Errorf("left: %q", names)
	}

	// Another program has the file open, and does not share it.
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(300*time.Millisecond, func() { f.Close() })
	write(32)
	if f, err = os.Open(path); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	resp, text := call("POST", "/posts", `{}`)
	const says = "nother program has db.json open"
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" || !strings.Contains(text, says) || time.Since(begin) < 2*time.Second {
		t.Errorf("%v after %v: %s", resp, time.Since(begin), text)
	}
	if resp, text := call("GET", "/_/readyz?verbose", ""); resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, says) {
		t.Errorf("%v: %s", resp, text)
	}
	f.Close()
	write(33)
	if resp, text := call("GET", "/_/readyz?verbose", ""); resp.StatusCode != http.StatusOK {
		t.Errorf("%v: %s", resp, text)
	}
}

// replaceByNew removes a file and creates it with text. Wine opens a file that was removed while
// another program has it open, and what is written there is lost. Windows refuses to, so
// replaceByNew tries until the file is a new one.
func replaceByNew(path, text string) error {
	for {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			_, err = f.WriteString(text)
			return errors.Join(err, f.Close())
		}
	}
}
