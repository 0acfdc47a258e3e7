package server_test

import (
	"context"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestDocsPage opens the page in a browser that can resolve no name but this
// machine's, and looks for an operation in what it shows.
func TestDocsPage(t *testing.T) {
	web := httptest.NewServer(documents(t)["sample"].web)
	defer web.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+t.TempDir(),
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--enable-logging=stderr", "--virtual-time-budget=20000",
		"--dump-dom", web.URL+"/_/docs")
	var log strings.Builder
	cmd.Stderr = &log
	page, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	for _, want := range []string{`data-path="/schedules/{id}"`, "Family driving schedules", `data-path="/drivers/{id}/schedules"`} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not show %s", want)
		}
	}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "CONSOLE") || strings.Contains(line, "Content Security Policy") {
			t.Errorf("the browser complains: %s", line)
		}
	}
}
