package page

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"

	"pickup/internal/tools/servertest"
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
			dir := servertest.SampleDir(t)
			p, err := servertest.Launch("pickup", dir, []string{"PICKUP_NO_AUTH=1"}, "--access-log", "off")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.Kill)
			ctx := browser(t)
			if err := chromedp.Do(ctx, chromedp.Navigate(pages.URL+"/?server="+p.URL)); err != nil {
				t.Fatal(err)
			}
			if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`window.loadedOnce = true`)); err != nil {
				t.Fatal(err)
			}
			const page = `window.loadedOnce + " " + document.querySelectorAll("li").length + "\n" + document.body.innerText`
			shows := func(items int, want string) {
				t.Helper()
				got := ""
				if !servertest.Eventually(func() bool {
					got, err = chromedp.Run(ctx, chromedp.Evaluate[string](page))
					return err == nil && strings.HasPrefix(got, fmt.Sprintf("true %d\n", items)) && strings.Contains(got, want)
				}) {
					t.Fatalf("the page does not show %d records with %q (%v):\n%s\n%s", items, want, err, got, p.Text())
				}
			}
			shows(7, "Piano lesson (Rescheduled)")
			if status, text := servertest.Send(t, http.MethodPatch, p.URL+"/schedules/4", `{"title":"Piano recital"}`); status != http.StatusOK {
				t.Fatal(text)
			}
			shows(7, "Piano recital (Rescheduled)")
			if status, text := servertest.Send(t, http.MethodDelete, p.URL+"/schedules/1", ""); status != http.StatusOK {
				t.Fatal(text)
			}
			shows(6, "Piano recital")
			replaceInFile(t, dir+"/db.json", "Dentist", "Optician")
			shows(6, "Optician (Canceled)")

			if err := p.Stop(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			replaceInFile(t, dir+"/db.json", "Optician", "Florist")
			p, err = servertest.Launch("pickup", dir, []string{"PICKUP_NO_AUTH=1"}, "--access-log", "off", "--port", p.URL[strings.LastIndex(p.URL, ":")+1:])
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.Kill)
			shows(6, "Florist (Canceled)")
		})
	}
}

// TestFormExample saves a record that breaks a rule in the form of examples/react-admin.
// The reason is shown below its field, and goes when the value is right.
func TestFormExample(t *testing.T) {
	t.Parallel()
	pages := httptest.NewServer(http.FileServer(http.Dir(buildExample(t, "react-admin"))))
	t.Cleanup(pages.Close)
	dir := servertest.SampleDir(t)
	p, err := servertest.Launch("pickup", dir, []string{"PICKUP_NO_AUTH=1"}, "--access-log", "off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	ctx := browser(t)
	if err := chromedp.Do(ctx, chromedp.Navigate(pages.URL+"/?server="+p.URL)); err != nil {
		t.Fatal(err)
	}
	// until waits until script is true.
	until := func(script string) {
		t.Helper()
		if !servertest.Eventually(func() bool {
			ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](script))
			return err == nil && ok
		}) {
			text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText"))
			t.Fatalf("the page does not come to %s (%v):\n%s\n%s", script, err, text, p.Text())
		}
	}
	const status = "[name=status]"
	save := func(value string) {
		t.Helper()
		clear := `(() => { const f = document.querySelector("` + status + `"); f.focus(); f.select(); return true })()`
		if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](clear)); err != nil {
			t.Fatal(err)
		}
		if err := chromedp.Do(ctx, chromedp.SendKeys(chromedp.CSS(status), value), chromedp.Click(chromedp.CSS("form button"))); err != nil {
			t.Fatal(err)
		}
	}
	until(`document.querySelectorAll("li").length == 7`)
	if err := chromedp.Do(ctx, chromedp.Click(chromedp.CSS("li:nth-child(4) button"))); err != nil {
		t.Fatal(err)
	}
	until(`document.querySelector("` + status + `")?.value == "Rescheduled"`)
	reason := `document.querySelector("p:has(` + status + `) em").innerText`
	save("Canceld")
	until(reason + `.includes('did you mean "Canceled"?')`)
	if bytes.Contains(servertest.Read(t, dir+"/db.json"), []byte("Canceld")) {
		t.Error("the record is in the file")
	}
	save("Canceled")
	until(reason + ` == "" && document.body.innerText.includes("Piano lesson (Canceled)")`)
	if n := bytes.Count(servertest.Read(t, dir+"/db.json"), []byte(`"Canceled"`)); n != 2 {
		t.Errorf("the file has the status %d times", n)
	}
}

// TestViteExample builds examples/vite and lets pickup serve it, at a slow, a failing
// and a changing server: a link into the application, a reload, a spinner, a save whose
// answer is lost, and an edit of the file.
func TestViteExample(t *testing.T) {
	t.Parallel()
	dist, dir := t.TempDir(), t.TempDir()
	build := exec.CommandContext(t.Context(), "npm", "run", "build", "--", "--outDir="+dist, "--emptyOutDir")
	build.Dir = "../../../examples/vite"
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v (make setup installs Vite)\n%s", err, text)
	}
	file := filepath.Join(dir, "db.json")
	if err := os.WriteFile(file, servertest.Read(t, "../../../examples/vite/db.json"), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := servertest.Launch("pickup", dir, []string{"PICKUP_NO_AUTH=1"}, "--access-log", "off", "--prefix", "/api", "--static", dist, "--spa")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	simulate := func(rules string) {
		t.Helper()
		if status, text := servertest.Send(t, http.MethodPut, p.URL+"/_/simulate", rules); status != http.StatusOK {
			t.Fatal(text)
		}
	}
	ctx := browser(t)
	do := func(actions ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, actions...); err != nil {
			t.Fatal(err)
		}
	}
	shows := func(want string) {
		t.Helper()
		got := ""
		if !servertest.Eventually(func() bool {
			got, err = chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText.replaceAll(/\s+/g, " ").trim()`))
			return err == nil && got == want
		}) {
			t.Fatalf("the page shows %q and not %q (%v)\n%s", got, want, err, p.Text())
		}
	}

	// The address is one of the application. Its task comes when it is released.
	simulate(`[{"path": "/tasks/*", "methods": ["GET"], "hold": "load"}]`)
	for _, open := range []chromedp.Action[chromedp.Void]{chromedp.Navigate(p.URL + "/tasks/tent"), chromedp.Reload()} {
		do(open)
		shows("Loading… All tasks")
		if _, text := servertest.Send(t, http.MethodPost, p.URL+"/_/release/load?wait=10s", ""); strings.TrimSpace(text) != `{"released":1}` {
			t.Fatal(text)
		}
		shows("Mend the tent All tasks")
	}

	// The list follows the file, without a reload.
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`window.loadedOnce = true`)); err != nil {
		t.Fatal(err)
	}
	do(chromedp.Click(chromedp.CSS("a")))
	shows("Tasks Bake bread Mend the tent Oil the bike Add")
	replaceInFile(t, file, "Oil the bike", "Sell the bike")
	shows("Tasks Bake bread Mend the tent Sell the bike Add")

	// The task is in the file when the page learns that its request has failed. Each
	// further attempt finds it there.
	simulate(`[{"path": "/tasks/*", "methods": ["PUT"], "fault": "lost-answer"}]`)
	do(chromedp.SendKeys(chromedp.CSS("input"), "Call Ruth"), chromedp.Click(chromedp.CSS("button")))
	const failed = "Tasks Bake bread Mend the tent Sell the bike Call Ruth Try again The task may not have been saved."
	shows(failed)
	if n := bytes.Count(servertest.Read(t, file), []byte("Call Ruth")); n != 1 {
		t.Errorf("the file has the task %d times:\n%s", n, servertest.Read(t, file))
	}
	hits := func() (text string) {
		_, text = servertest.Send(t, http.MethodGet, p.URL+"/_/simulate", "")
		return text
	}
	before := hits()
	do(chromedp.Click(chromedp.CSS("button")))
	if !servertest.Eventually(func() bool { return hits() != before }) {
		t.Error("there is no second attempt")
	}
	shows(failed)
	simulate(`[]`)
	do(chromedp.Click(chromedp.CSS("button")))
	shows("Tasks Bake bread Mend the tent Sell the bike Call Ruth Add")
	if n := bytes.Count(servertest.Read(t, file), []byte("Call Ruth")); n != 1 {
		t.Errorf("the file has the task %d times:\n%s", n, servertest.Read(t, file))
	}
	if once, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`window.loadedOnce`)); err != nil || !once {
		t.Errorf("the page was loaded again: %v", err)
	}
}

// TestVitePlugin starts Vite with the plugin of the npm package in a copy of examples/vite:
// it serves the file through Vite, keeps the types in a file, follows a restart of Vite,
// and ends with it, also when Vite is killed. So does a preview.
func TestVitePlugin(t *testing.T) {
	t.Parallel()
	const example = "../../../examples/vite/"
	dir := t.TempDir()
	for _, name := range []string{"package.json", "vite.config.js", "index.html", "db.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), servertest.Read(t, example+name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	modules, err := filepath.Abs(example + "node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(modules, dir+"/node_modules"), os.Mkdir(dir+"/dist", 0o755)); err != nil {
		t.Fatal(err)
	}

	v := startVite(t, dir, "dev")
	v.waitForTasks(1, "Oil the bike")
	types := filepath.Join(dir, "src/db.d.ts")
	hasType := func(want string) bool {
		text, err := os.ReadFile(types)
		return err == nil && strings.Contains(string(text), want)
	}
	if !servertest.Eventually(func() bool { return hasType("export type Task = {") }) {
		t.Fatalf("there are no types\n%s", v.text())
	}
	replaceInFile(t, filepath.Join(dir, "db.json"), "Oil the bike", `Oil the bike", "due": "today`)
	if !servertest.Eventually(func() bool { return hasType(`"due"?: string`) }) {
		t.Errorf("the types do not follow the data\n%s", servertest.Read(t, types))
	}

	first := v.server(1)
	replaceInFile(t, filepath.Join(dir, "vite.config.js"), "defineConfig({", "defineConfig({ clearScreen: false,")
	v.waitForTasks(2, "today")
	if servertest.IsAlive(first) {
		t.Error("the server of before the restart still runs")
	}
	v.end(2, syscall.SIGKILL)
	v = startVite(t, dir, "preview")
	v.waitForTasks(1, "today")
	v.end(1, syscall.SIGTERM)
}

// A vite is a running Vite.
type vite struct {
	t   *testing.T
	cmd *exec.Cmd
	log string
}

func startVite(t *testing.T, dir, command string) *vite {
	t.Helper()
	v := &vite{t: t, log: filepath.Join(t.TempDir(), "log")}
	log, err := os.Create(v.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	v.cmd = exec.Command("node", "node_modules/vite/bin/vite.js", command, "--port", servertest.FreePort(t), "--host", "127.0.0.1")
	v.cmd.Dir = dir
	v.cmd.Env = append(os.Environ(), "NO_COLOR=1")
	v.cmd.Stdout = log
	v.cmd.Stderr = log
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.cmd.Process.Kill() })
	return v
}

func (v *vite) text() string { return string(servertest.Read(v.t, v.log)) }

var (
	viteLine   = regexp.MustCompile(`Local: +(http\S+)/`)
	pickupLine = regexp.MustCompile(`pickup: +(http\S+)/api, `)
)

// server waits for the nth start of pickup and returns its address.
func (v *vite) server(n int) string {
	v.t.Helper()
	var found [][]string
	if !servertest.Eventually(func() bool {
		found = pickupLine.FindAllStringSubmatch(v.text(), -1)
		return len(found) >= n
	}) {
		v.t.Fatalf("pickup was not started %d times (make setup installs Vite)\n%s", n, v.text())
	}
	return found[n-1][1]
}

// waitForTasks waits until the tasks, as Vite passes them on from the nth server, have a
// text.
func (v *vite) waitForTasks(n int, want string) {
	v.t.Helper()
	v.server(n)
	address := viteLine.FindStringSubmatch(v.text())
	if address == nil {
		v.t.Fatalf("Vite does not show its address\n%s", v.text())
	}
	got := ""
	if !servertest.Eventually(func() bool {
		var err error
		_, got, err = servertest.Ask(http.MethodGet, address[1]+"/api/tasks", "")
		return err == nil && strings.Contains(got, want)
	}) {
		v.t.Fatalf("the tasks are %q, without %s\n%s", got, want, v.text())
	}
}

// end ends Vite with a signal. The nth server must end, too.
func (v *vite) end(n int, signal syscall.Signal) {
	v.t.Helper()
	url := v.server(n)
	if err := v.cmd.Process.Signal(signal); err != nil {
		v.t.Fatal(err)
	}
	v.cmd.Wait()
	if !servertest.Eventually(func() bool { return !servertest.IsAlive(url) }) {
		v.t.Errorf("pickup outlives Vite after %v", signal)
	}
}

// TestVitestExample runs the tests of examples/vitest and examples/react, which start servers of
// their own.
func TestVitestExample(t *testing.T) {
	for example, passed := range map[string]string{"vitest": "6 passed", "react": "4 passed"} {
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			run := exec.CommandContext(t.Context(), "node", "node_modules/vitest/vitest.mjs", "run")
			run.Dir = "../../../examples/" + example
			run.Env = append(os.Environ(), "NO_COLOR=1")
			out, err := run.CombinedOutput()
			if err != nil || !strings.Contains(string(out), passed) {
				t.Errorf("%v (make setup installs Vitest)\n%s", err, out)
			}
		})
	}
}

// TestNodeTest uses the sessions of the npm package in node:test.
func TestNodeTest(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "node", "--test", "testdata/session.test.mjs").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "pass 3") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestFrontendPage checks that the code of docs/frontend.md is that of examples/react.
func TestFrontendPage(t *testing.T) {
	text := strings.ReplaceAll(servertest.Manual(t, "docs/frontend.md"), "@OWNER/pickup/", "pickup/")
	blocks := regexp.MustCompile("(?s)```js\n(// ([\\w./]+).*?)```").FindAllStringSubmatch(text, -1)
	if len(blocks) != 4 {
		t.Errorf("docs/frontend.md has %d files", len(blocks))
	}
	for _, b := range blocks {
		if string(servertest.Read(t, "../../../examples/react/"+b[2])) != b[1] {
			t.Errorf("docs/frontend.md shows another %s", b[2])
		}
	}
}

// TestPlaywrightExample runs the tests of examples/playwright: two workers, each test
// in a session of its own. They leave no session, and the file as it was.
func TestPlaywrightExample(t *testing.T) {
	t.Parallel()
	pages := httptest.NewServer(http.FileServer(http.Dir("../../../examples/eventsource")))
	t.Cleanup(pages.Close)
	dir := servertest.SampleDir(t)
	p, err := servertest.Launch("pickup", dir, []string{"PICKUP_NO_AUTH=1"}, "--access-log", "off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	chromium, err := exec.LookPath("chromium-headless-shell")
	if err != nil {
		t.Fatal("chromium-headless-shell is missing: make setup installs it")
	}
	run := exec.CommandContext(t.Context(), "npm", "test", "--", "--workers=2", "--output="+t.TempDir())
	run.Dir = "../../../examples/playwright"
	run.Env = append(os.Environ(), "PICKUP_URL="+p.URL, "APP_URL="+pages.URL, "CHROMIUM="+chromium)
	if fixture := string(servertest.Read(t, "../../../examples/playwright/session.js")); servertest.Block(servertest.Manual(t, "docs/testing.md"), "js") != fixture {
		t.Error("docs/testing.md shows another session.js")
	}
	out, err := run.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "using 2 workers") || !strings.Contains(string(out), "8 passed") {
		t.Errorf("%v (make setup installs Playwright)\n%s", err, out)
	}
	if _, sessions := servertest.Send(t, http.MethodGet, p.URL+"/_/sessions", ""); strings.TrimSpace(sessions) != "[]" {
		t.Errorf("sessions are left: %s", sessions)
	}
	if !bytes.Equal(servertest.Read(t, dir+"/db.json"), servertest.Read(t, "../../../db.json")) {
		t.Error("the file has changed")
	}
}

// TestAgentsExample runs the agent of examples/agents. Its changes are in the file when a
// person has committed them on the page.
func TestAgentsExample(t *testing.T) {
	t.Parallel()
	p := servePage(t, browser(t), openServerEnv)
	p.open("#/schedules")
	p.until(rows + ` === 7`)
	run := exec.CommandContext(t.Context(), "npm", "start")
	run.Dir = "../../../examples/agents"
	run.Env = append(os.Environ(), "MCP_URL="+p.process.URL+"/_/s/agent/_/mcp")
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v (make setup installs the SDK)\n%s", err, out)
	}
	for _, want := range []string{
		"tools: changes check describe generate query requests simulate undo write\n",
		`query: 2 of 2 records` + "\n" + `{"id":"5","title":"Dentist"}` + "\n",
		`updated schedules/5 driverId: "1" -> "3"; status: "Canceled" -> "Rescheduled";` + "\n",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the agent does not print %q:\n%s", want, out)
		}
	}
	p.sees("agent has 2 changes for you: Review")
	p.isSample()
	p.clickText("Review")
	p.until(`document.querySelectorAll(".changes > li").length === 2`)
	p.want(`document.querySelector(".changes > li").innerText.replace(/\s+/g, " ").trim()`,
		"~ updated schedules 5 Dentist driverId 1 becomes 3 status Canceled becomes Rescheduled")
	p.clickText("Commit")
	p.sees("No changes")
	want := p.sample
	for id, fields := range map[string][2]string{"5": {"1", "Canceled"}, "6": {"2", "Unscheduled"}} {
		start := strings.Index(want, `"id": "`+id+`"`)
		record := strings.Replace(want[start:], `"driverId": "`+fields[0]+`"`, `"driverId": "3"`, 1)
		want = want[:start] + strings.Replace(record, fields[1], "Rescheduled", 1)
	}
	if got := string(servertest.Read(t, p.file)); got != want {
		t.Errorf("the file is\n%s", got)
	}
}

// buildExample returns the folder of an example's page, bundled if it has modules.
func buildExample(t *testing.T, name string) string {
	t.Helper()
	folder := filepath.Join("../../../examples", name)
	if _, err := os.Stat(filepath.Join(folder, "app.jsx")); err != nil {
		return folder
	}
	out := t.TempDir()
	build := exec.CommandContext(t.Context(), "npm", "run", "build", "--", "--outdir="+out)
	build.Dir = folder
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v (make setup installs esbuild)\n%s", err, text)
	}
	page := servertest.Read(t, filepath.Join(folder, "www/index.html"))
	if err := os.WriteFile(filepath.Join(out, "index.html"), page, 0o644); err != nil {
		t.Fatal(err)
	}
	return out
}

// replaceInFile edits a file by hand.
func replaceInFile(t *testing.T, name, old, with string) {
	t.Helper()
	text := strings.Replace(string(servertest.Read(t, name)), old, with, 1)
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
