package page

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"pickup/internal/tools/servertest"
)

// TestPageFirefox does tasks of the page in Firefox, one after another: two, or with PICKUP_LONG=1 all
// and some flows.
func TestPageFirefox(t *testing.T) {
	t.Parallel()
	fox := startFirefox(t)
	all := tasks[:2]
	if long() {
		all = append(slices.Clone(tasks),
			task{"typing", "", func(p *pageTest) { p.typesAtOnce(hands{rate: 1}) }},
			task{"habits", "", habitsFlow},
			task{"axe", "", axeOfFew},
		)
	}
	for _, task := range all {
		t.Run(task.name, func(t *testing.T) {
			task.do(t, fox.newTab(t))
		})
	}
}

// axeOfFew checks the screens that are used most with axe-core.
func axeOfFew(p *pageTest) {
	for _, hash := range []string{"#/", "#/schedules", "#/schedules/4", "#/_/requests", "#/_/requests/new", "#/_/changes", "#/_/simulate"} {
		p.open(hash)
		p.accessible(hash, false)
	}
}

// A firefox is a running Firefox. Its methods send commands of Marionette, the protocol of its driver.
type firefox struct {
	conn   net.Conn
	reader *bufio.Reader
	last   int // id of the latest command
}

// startFirefox starts Firefox with a new profile, and ends it after the test.
func startFirefox(t *testing.T) *firefox {
	t.Helper()
	path, err := exec.LookPath("firefox-esr")
	if err != nil {
		t.Fatal("firefox-esr is missing: make setup installs it")
	}
	profile := t.TempDir()
	port := servertest.FreePort(t)
	preferences := "user_pref(\"marionette.port\", " + port + ");\n" +
		"user_pref(\"dom.events.testing.asyncClipboard\", true);\n" // for scripts without a key press
	if err := os.WriteFile(profile+"/user.js", []byte(preferences), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(path, "--headless", "--marionette", "--no-remote", "--profile", profile, "about:blank")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	f := new(firefox)
	if !servertest.Eventually(func() bool {
		f.conn, err = net.Dial("tcp", net.JoinHostPort("127.0.0.1", port))
		return err == nil
	}) {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.conn.Close() })
	f.reader = bufio.NewReader(f.conn)
	if _, err := f.read(); err != nil { // who it is
		t.Fatal(err)
	}
	f.must(t, "WebDriver:NewSession", nil)
	f.must(t, "WebDriver:SetTimeouts", map[string]any{"script": 2 * servertest.Patience.Milliseconds()})
	f.must(t, "WebDriver:SetWindowRect", map[string]any{"width": 1360, "height": 950})
	return f
}

// newTab returns a function that gives a test the only tab.
func (f *firefox) newTab(t *testing.T) func(url string) *tab {
	return func(url string) *tab { return &tab{T: t, firefox: f, url: url} }
}

// read reads a message: its length in bytes, a colon and JSON.
func (f *firefox) read() (json.RawMessage, error) {
	length, err := f.reader.ReadString(':')
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(strings.TrimSuffix(length, ":"))
	if err != nil {
		return nil, err
	}
	text := make([]byte, n)
	_, err = io.ReadFull(f.reader, text)
	return text, err
}

// send sends a command and returns the value of its response.
func (f *firefox) send(name string, parameters any) (json.RawMessage, error) {
	f.last++
	if parameters == nil {
		parameters = struct{}{}
	}
	text, err := json.Marshal([]any{0, f.last, name, parameters})
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(f.conn, "%d:%s", len(text), text); err != nil {
		return nil, err
	}
	answer, err := f.read()
	if err != nil {
		return nil, err
	}
	var failed *struct{ Message string }
	var result struct{ Value json.RawMessage }
	var parts [4]json.RawMessage
	if err := json.Unmarshal(answer, &parts); err != nil {
		return nil, err
	}
	if err := errors.Join(json.Unmarshal(parts[2], &failed), json.Unmarshal(parts[3], &result)); err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, errors.New(failed.Message)
	}
	return result.Value, nil
}

func (f *firefox) must(t testing.TB, name string, parameters any) {
	t.Helper()
	if _, err := f.send(name, parameters); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// navigate loads a URL. An address of the same document loads nothing anew, as in Chromium.
func (f *firefox) navigate(url string) error {
	_, err := f.send("WebDriver:Navigate", map[string]string{"url": url})
	return err
}

// evaluate returns the value of an expression, a promise of a string.
func (f *firefox) evaluate(expression string) (string, error) {
	value, err := f.send("WebDriver:ExecuteAsyncScript", map[string]any{
		"script":     `const done = arguments[arguments.length - 1]; (` + expression + `).then(text => done([text]), error => done([null, String(error)]))`,
		"args":       []any{},
		"newSandbox": false,
		"sandbox":    nil,
	})
	if err != nil && strings.Contains(err.Error(), "unload") {
		return "", fmt.Errorf("navigated: %w", err)
	}
	var result []*string
	if err == nil {
		err = json.Unmarshal(value, &result)
	}
	switch {
	case err != nil:
		return "", err
	case result[0] == nil:
		return "", errors.New(*result[1])
	}
	return *result[0], nil
}

// webDriverKeys maps keys that type no text to those of WebDriver.
var webDriverKeys = map[rune]string{
	'\r': "\ue007", '\t': "\ue004", []rune(kb.Escape)[0]: "\ue00c", []rune(kb.Backspace)[0]: "\ue003", []rune(kb.Delete)[0]: "\ue017",
	[]rune(kb.ArrowLeft)[0]: "\ue012", []rune(kb.ArrowUp)[0]: "\ue013", []rune(kb.ArrowRight)[0]: "\ue014", []rune(kb.ArrowDown)[0]: "\ue015",
	[]rune(kb.End)[0]: "\ue010", []rune(kb.Home)[0]: "\ue011", []rune(kb.PageUp)[0]: "\ue00e", []rune(kb.PageDown)[0]: "\ue00f",
	[]rune(kb.F2)[0]: "\ue032",
}

// modifierKeys maps modifiers to keys of WebDriver.
var modifierKeys = map[chromedp.Modifier]string{chromedp.ModifierShift: "\ue008", chromedp.ModifierCtrl: "\ue009", chromedp.ModifierAlt: "\ue00a"}

type action map[string]any

// key presses a key while others are held.
func (f *firefox) key(r rune, held []chromedp.Modifier) error {
	key := webDriverKeys[r]
	if key == "" {
		key = string(r)
	}
	var down, up []action
	for _, modifier := range held {
		down = append(down, action{"type": "keyDown", "value": modifierKeys[modifier]})
		up = append([]action{{"type": "keyUp", "value": modifierKeys[modifier]}}, up...)
	}
	all := append(append(down, action{"type": "keyDown", "value": key}, action{"type": "keyUp", "value": key}), up...)
	_, err := f.send("WebDriver:PerformActions", action{"actions": []action{{"type": "key", "id": "keyboard", "actions": all}}})
	return err
}

// click presses and releases a button of the mouse at a place.
func (f *firefox) click(x, y float64, button int) error {
	_, err := f.send("WebDriver:PerformActions", action{"actions": []action{{
		"type": "pointer", "id": "mouse", "parameters": action{"pointerType": "mouse"},
		"actions": []action{
			{"type": "pointerMove", "x": int(x), "y": int(y), "origin": "viewport"},
			{"type": "pointerDown", "button": button},
			{"type": "pointerUp", "button": button},
		},
	}}})
	return err
}
