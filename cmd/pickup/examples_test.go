package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestLiveExamples opens the pages of examples/ that follow a collection. Each must
// show a change of the API, a hand edit, and what has changed while the server was
// stopped, without a reload.
func TestLiveExamples(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"eventsource", "react-admin", "refine"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pages := httptest.NewServer(http.FileServer(http.Dir(buildExample(t, name))))
			t.Cleanup(pages.Close)
			dir := sampleDir(t)
			p, err := launch("pickup", dir, []string{"PICKUP_NO_AUTH=1"}, "--access-log", "off")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.kill)
			ctx := browser(t)
			if err := chromedp.Do(ctx, chromedp.Navigate(pages.URL+"/?server="+p.url)); err != nil {
				t.Fatal(err)
			}
			if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`window.loadedOnce = true`)); err != nil {
				t.Fatal(err)
			}
			const page = `window.loadedOnce + " " + document.querySelectorAll("li").length + "\n" + document.body.innerText`
			shows := func(items int, want string) {
				t.Helper()
				got := ""
				if !eventually(func() bool {
					got, err = chromedp.Run(ctx, chromedp.Evaluate[string](page))
					return err == nil && strings.HasPrefix(got, fmt.Sprintf("true %d\n", items)) && strings.Contains(got, want)
				}) {
					t.Fatalf("the page does not show %d records with %q (%v):\n%s\n%s", items, want, err, got, p.text())
				}
			}
			shows(7, "Piano lesson (Rescheduled)")
			if status, text := send(t, http.MethodPatch, p.url+"/schedules/4", `{"title":"Piano recital"}`); status != http.StatusOK {
				t.Fatal(text)
			}
			shows(7, "Piano recital (Rescheduled)")
			if status, text := send(t, http.MethodDelete, p.url+"/schedules/1", ""); status != http.StatusOK {
				t.Fatal(text)
			}
			shows(6, "Piano recital")
			replaceInFile(t, dir+"/db.json", "Dentist", "Optician")
			shows(6, "Optician (Canceled)")

			if err := p.stop(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			replaceInFile(t, dir+"/db.json", "Optician", "Florist")
			p, err = launch("pickup", dir, []string{"PICKUP_NO_AUTH=1"}, "--access-log", "off", "--port", p.url[strings.LastIndex(p.url, ":")+1:])
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.kill)
			shows(6, "Florist (Canceled)")
		})
	}
}

// TestPlaywrightExample runs the tests of examples/playwright: four workers, each test
// in a session of its own. They leave no session, and the file as it was.
func TestPlaywrightExample(t *testing.T) {
	t.Parallel()
	pages := httptest.NewServer(http.FileServer(http.Dir("../../examples/eventsource")))
	t.Cleanup(pages.Close)
	dir := sampleDir(t)
	p, err := launch("pickup", dir, []string{"PICKUP_NO_AUTH=1"}, "--access-log", "off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("chromium is missing: make setup installs it")
	}
	run := exec.CommandContext(t.Context(), "npm", "test", "--", "--output="+t.TempDir())
	run.Dir = "../../examples/playwright"
	run.Env = append(os.Environ(), "PICKUP_URL="+p.url, "APP_URL="+pages.URL, "CHROMIUM="+chromium)
	out, err := run.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "using 4 workers") || !strings.Contains(string(out), "8 passed") {
		t.Errorf("%v (make setup installs Playwright)\n%s", err, out)
	}
	if _, sessions := send(t, http.MethodGet, p.url+"/_/sessions", ""); strings.TrimSpace(sessions) != "[]" {
		t.Errorf("sessions are left: %s", sessions)
	}
	if !bytes.Equal(read(t, dir+"/db.json"), read(t, "../../db.json")) {
		t.Error("the file has changed")
	}
}

// buildExample returns the folder of an example's page, bundled if it has modules.
func buildExample(t *testing.T, name string) string {
	t.Helper()
	folder := filepath.Join("../../examples", name)
	if _, err := os.Stat(filepath.Join(folder, "app.jsx")); err != nil {
		return folder
	}
	out := t.TempDir()
	build := exec.CommandContext(t.Context(), "npm", "run", "build", "--", "--outdir="+out)
	build.Dir = folder
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v (make setup installs esbuild)\n%s", err, text)
	}
	page := read(t, filepath.Join(folder, "www/index.html"))
	if err := os.WriteFile(filepath.Join(out, "index.html"), page, 0o644); err != nil {
		t.Fatal(err)
	}
	return out
}

// replaceInFile edits a file by hand.
func replaceInFile(t *testing.T, name, old, with string) {
	t.Helper()
	text := strings.Replace(string(read(t, name)), old, with, 1)
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
