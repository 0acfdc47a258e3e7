package page

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"pickup/internal/tools/servertest"
)

// A tab is a tab of a browser with the page in it, of Chromium if nothing else is said. Its methods fail the test.
type tab struct {
	*testing.T
	ctx context.Context // of Chromium
	url string

	firefox *firefox // instead of Chromium

	mu       sync.Mutex
	messages []string // errors and warnings in the console
}

var desktop = chromedp.EmulateViewport(1360, 850)

// newTab opens a tab of the browser of ctx. url is the server's, with credentials
// if it requires them.
func newTab(t *testing.T, ctx context.Context, url string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	p := &tab{T: t, ctx: ctx, url: url}
	p.do(desktop)
	// Other tabs of the browser do not take the focus away.
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	dialogs, console := chromedp.Events(ctx, page.JavascriptDialogOpening), chromedp.Console(ctx)
	go func() {
		for range dialogs { // leave, although something has been typed
			go chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
		}
	}()
	go func() {
		for m, err := range console {
			if err != nil {
				return
			}
			if m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleWarning || m.Type == chromedp.ConsoleException {
				p.mu.Lock()
				p.messages = append(p.messages, fmt.Sprint(m.Type, ": ", m.Text, " ", m.URL))
				p.mu.Unlock()
			}
		}
	}()
	return p
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.Fatal(err)
	}
}

// onPhone makes the tab that of a phone.
func (p *tab) onPhone() {
	p.Helper()
	p.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch))
}

// prefer sets the color scheme that the system prefers.
func (p *tab) prefer(scheme string) {
	p.Helper()
	p.media("prefers-color-scheme", scheme)
}

// media sets a feature of the system for which pages have media queries.
func (p *tab) media(name, value string) {
	p.Helper()
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: name, Value: value}},
	})
	if err != nil {
		p.Fatal(err)
	}
}

// heap returns the bytes of memory that the page's objects need.
func (p *tab) heap() float64 {
	p.Helper()
	if _, err := chromedp.Call(p.ctx, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
		p.Fatal(err)
	}
	usage, err := chromedp.Call(p.ctx, runtime.GetHeapUsage, cdp.Empty{})
	if err != nil {
		p.Fatal(err)
	}
	return usage.UsedSize
}

// number returns the value of an expression that is a number.
func (p *tab) number(expression string) float64 {
	p.Helper()
	n, err := strconv.ParseFloat(p.eval(expression), 64)
	if err != nil {
		p.Fatal(err)
	}
	return n
}

// open loads the page anew at an address such as #/schedules, and waits for its heading.
func (p *tab) open(hash string) {
	p.Helper()
	p.leave()
	p.navigate(p.url + "/_/" + hash)
	p.until(`document.querySelector("main h1, .panel h1") && !document.querySelector("[aria-busy=true]")`)
}

// leave ends the page. The next one is of the same site, so that Chromium needs no new
// process for it.
func (p *tab) leave() {
	p.Helper()
	p.navigate(p.url + "/_/livez")
}

func (p *tab) navigate(url string) {
	p.Helper()
	if p.firefox == nil {
		p.do(chromedp.Navigate(url))
	} else if err := p.firefox.navigate(url); err != nil {
		p.Fatal(err)
	}
}

// evaluate returns the value of an expression, a promise of a text.
func (p *tab) evaluate(expression string) (string, error) {
	if p.firefox != nil {
		return p.firefox.evaluate(expression)
	}
	return chromedp.Run(p.ctx, chromedp.Evaluate[string](expression, chromedp.EvalAwaitPromise))
}

// clickXY clicks at a place, with the right button if isRight is set.
func (p *tab) clickXY(x, y float64, isRight bool) {
	p.Helper()
	if p.firefox != nil {
		button := 0
		if isRight {
			button = 2
		}
		if err := p.firefox.click(x, y, button); err != nil {
			p.Fatal(err)
		}
		return
	}
	if isRight {
		p.do(chromedp.MouseClickXY(x, y, chromedp.ButtonRight))
		return
	}
	p.do(chromedp.MouseClickXY(x, y))
}

// show goes to an address without loading the page.
func (p *tab) show(hash string) {
	p.Helper()
	p.run(`const before = location.hash;
		location.hash = ` + quoted(hash) + `;
		if (location.hash !== before) await new Promise(done => addEventListener("hashchange", done, {once: true}))`)
	p.until(`document.querySelector("main h1, .panel h1") && !document.querySelector("[aria-busy=true]")`)
}

// eval returns the value of an expression as text.
func (p *tab) eval(expression string) string {
	p.Helper()
	text, err := p.evaluate(`(async () => String(await (` + expression + `)))()`)
	if err != nil {
		p.Fatalf("%s: %v", expression, err)
	}
	return text
}

// run runs statements.
func (p *tab) run(statements string) {
	p.Helper()
	p.eval(`(async () => { ` + statements + ` })()`)
}

// until waits until an expression is true, also while the page is loaded anew, and
// for what the page does after it has drawn that: it gives the focus and listens to keys.
func (p *tab) until(expression string) {
	p.Helper()
	script := `(async () => {
		const end = performance.now() + ` + fmt.Sprint(servertest.Patience.Milliseconds()) + `;
		for (;;) {
			if (` + expression + `) {
				await new Promise(done => { requestAnimationFrame(() => setTimeout(done)); setTimeout(done, 200) });
				return "";
			}
			if (performance.now() > end) return "the page:\n" + document.body.innerText;
			await new Promise(done => setTimeout(done, 20));
		}
	})()`
	got, err := p.evaluate(script)
	for end := time.Now().Add(servertest.Patience); err != nil && strings.Contains(err.Error(), "navigated") && time.Now().Before(end); {
		got, err = p.evaluate(script)
	}
	if got != "" || err != nil {
		p.picture("failure")
		p.Fatalf("it never became true: %s (%v)\nconsole: %v\n%s", expression, err, p.arrived(), got)
	}
}

// sees waits until the page shows a text.
func (p *tab) sees(text string) {
	p.Helper()
	p.until(`document.body.innerText.includes(` + quoted(text) + `)`)
}

// want waits until an expression has a value: what the page shows may follow what
// the test waited for.
func (p *tab) want(expression, want string) {
	p.Helper()
	got := p.eval(expression)
	for end := time.Now().Add(servertest.Patience); got != want && time.Now().Before(end); got = p.eval(expression) {
		time.Sleep(20 * time.Millisecond)
	}
	if got != want {
		p.Errorf("%s is %q, want %q", expression, got, want)
	}
}

// press presses keys such as Enter, Ctrl+S or Shift+Tab, one after the other.
func (p *tab) press(keys ...string) {
	p.Helper()
	named := map[string]string{
		"Enter": kb.Enter, "Escape": kb.Escape, "Tab": kb.Tab, "Backspace": kb.Backspace, "Delete": kb.Delete, "Space": " ", "F2": kb.F2, "F10": kb.F10,
		"ArrowUp": kb.ArrowUp, "ArrowDown": kb.ArrowDown, "ArrowLeft": kb.ArrowLeft, "ArrowRight": kb.ArrowRight, "Home": kb.Home, "End": kb.End,
		"PageDown": kb.PageDown, "PageUp": kb.PageUp,
	}
	modifiers := map[string]chromedp.Modifier{"Ctrl": chromedp.ModifierCtrl, "Shift": chromedp.ModifierShift, "Alt": chromedp.ModifierAlt}
	for _, key := range keys {
		parts := strings.Split(key, "+")
		var held []chromedp.Modifier
		for _, name := range parts[:len(parts)-1] {
			held = append(held, modifiers[name])
		}
		text := parts[len(parts)-1]
		if named[text] != "" {
			text = named[text]
		}
		p.keys(text, held...)
	}
}

// keys sends the keys of a text. As from a keyboard, a key whose event is canceled
// types nothing; with chromedp.KeyEvent it would.
func (p *tab) keys(text string, held ...chromedp.Modifier) {
	p.Helper()
	for _, r := range text {
		if p.firefox != nil {
			if err := p.firefox.key(r, held); err != nil {
				p.Fatal(err)
			}
			continue
		}
		events := kb.Encode(r)
		for i, event := range events {
			chromedp.KeyModifiers(held...)(event)
			if event.Type == kb.KeyChar {
				continue
			}
			if event.Type == kb.KeyDown && events[i+1].Type == kb.KeyChar && event.Modifiers&^int64(chromedp.ModifierShift) == 0 {
				event.Text, event.UnmodifiedText = events[i+1].Text, events[i+1].UnmodifiedText
			}
			if _, err := chromedp.Call(p.ctx, input.DispatchKeyEvent, *event); err != nil {
				p.Fatal(err)
			}
		}
	}
}

// enter types a text where the focus is.
func (p *tab) enter(text string) {
	p.Helper()
	p.keys(text)
}

// holdNext has the next request of the page whose method and URL match a regular
// expression wait until release() is called, or its answer. held has its options then.
func (p *tab) holdNext(what, pattern string) {
	p.Helper()
	p.run(`const send = fetch, released = new Promise(done => { window.release = done });
		window.held = null;
		window.fetch = async (url, options) => {
			if (!RegExp(` + quoted(pattern) + `).test(options.method + " " + url)) return send(url, options);
			window.fetch = send;
			held = options;
			if ("` + what + `" === "request") await released;
			const answer = await send(url, options);
			await released;
			return answer;
		}`)
}

// click waits for an element, scrolls to it and clicks its middle.
func (p *tab) click(selector string) {
	p.Helper()
	at := p.place(selector)
	p.clickXY(at.X+at.Width/2, at.Y+at.Height/2, false)
}

// clickAt is like click, but clicks at a distance from the left edge.
func (p *tab) clickAt(selector string, x float64) {
	p.Helper()
	at := p.place(selector)
	p.do(chromedp.MouseClickXY(at.X+x, at.Y+at.Height/2))
}

// drag presses the pointer on an element, moves it to the right and releases it.
func (p *tab) drag(selector string, by float64) {
	p.Helper()
	at := p.place(selector)
	p.dragBetween(at, box{at.X + by, at.Y, at.Width, at.Height})
}

// dragTo presses the pointer on an element and releases it on another.
func (p *tab) dragTo(from, to string) {
	p.Helper()
	p.dragBetween(p.place(from), p.place(to))
}

func (p *tab) dragBetween(from, to box) {
	p.Helper()
	x, y := from.X+from.Width/2, from.Y+from.Height/2
	endX, endY := to.X+to.Width/2, to.Y+to.Height/2
	for _, event := range []input.DispatchMouseEventParams{
		{Type: "mousePressed", X: x, Y: y, Button: input.MouseButtonLeft, ClickCount: 1},
		{Type: "mouseMoved", X: (x + endX) / 2, Y: (y + endY) / 2, Button: input.MouseButtonLeft, Buttons: 1},
		{Type: "mouseMoved", X: endX, Y: endY, Button: input.MouseButtonLeft, Buttons: 1},
		{Type: "mouseReleased", X: endX, Y: endY, Button: input.MouseButtonLeft, ClickCount: 1},
	} {
		if _, err := chromedp.Call(p.ctx, input.DispatchMouseEvent, event); err != nil {
			p.Fatal(err)
		}
	}
}

type box struct{ X, Y, Width, Height float64 }

// place waits for an element that stays where it is, scrolls to it and returns where
// it is.
func (p *tab) place(selector string) box {
	p.Helper()
	p.until(`document.querySelector(` + quoted(selector) + `)`)
	var at box
	text := p.eval(`(async () => {
		const end = performance.now() + ` + fmt.Sprint(servertest.Patience.Milliseconds()) + `;
		for (let last = ""; performance.now() < end;) {
			const e = document.querySelector(` + quoted(selector) + `);
			e?.scrollIntoView({block: "nearest", inline: "nearest"});
			await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
			if (!e) continue;
			const {x, y, width, height} = e.getBoundingClientRect(), now = JSON.stringify({x, y, width, height});
			if (now === last) return now;
			last = now;
		}
		throw "it moves, or is gone";
	})()`)
	if err := json.Unmarshal([]byte(text), &at); err != nil {
		p.Fatal(err)
	}
	return at
}

// clickText clicks the button, link or option with a text.
func (p *tab) clickText(text string) {
	p.Helper()
	p.until(`[...document.querySelectorAll("button, a, option, label")].some(e => e.textContent.trim().startsWith(` + quoted(text) + `))`)
	p.run(`const e = [...document.querySelectorAll("button, a, option, label")]
		.find(e => e.textContent.trim().startsWith(` + quoted(text) + `)); e.focus(); e.click()`)
}

// fill replaces the text of an input.
func (p *tab) fill(selector, text string) {
	p.Helper()
	p.until(`document.querySelector(` + quoted(selector) + `) && (!document.querySelector(".panel") || document.activeElement.closest(".panel, dialog"))`)
	p.run(`const e = document.querySelector(` + quoted(selector) + `); e.focus(); e.select?.()`)
	if text == "" {
		p.press("Backspace")
	} else {
		p.enter(text)
	}
}

// fillJSON replaces the text of a JSON editor.
func (p *tab) fillJSON(selector, text string) {
	p.Helper()
	p.until(`document.querySelector(` + quoted(selector) + `)?.shadowRoot?.querySelector(".cm-content")`)
	p.run(`document.querySelector(` + quoted(selector) + `).focus()`)
	p.press("Ctrl+a")
	p.enter(text)
}

// console returns the errors and warnings so far, and forgets them. It writes one
// itself: when that arrives, so have those before it. Those of Firefox are not known.
func (p *tab) console() []string {
	p.Helper()
	if p.firefox != nil {
		return nil
	}
	const mark = "a message of the test"
	var list []string
	p.run(`console.error("` + mark + `")`)
	isMark := func(message string) bool { return strings.Contains(message, mark) }
	if !servertest.Eventually(func() bool {
		list = append(list, p.arrived()...)
		return slices.ContainsFunc(list, isMark)
	}) {
		p.Fatalf("the console has only %q", list)
	}
	return slices.DeleteFunc(list, isMark)
}

// arrived returns the errors and warnings that have arrived, and forgets them.
func (p *tab) arrived() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.messages
	p.messages = nil
	return list
}

// picture writes a picture of the tab to the directory PICKUP_PICTURES, if it is set.
func (p *tab) picture(name string) {
	p.Helper()
	dir := os.Getenv("PICKUP_PICTURES")
	if dir == "" || p.firefox != nil {
		return
	}
	image, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), image, 0o644)
	}
	if err != nil {
		p.Error(err)
	}
}

// quoted returns a text as a JavaScript literal.
func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string can be marshaled
	}
	return string(b)
}

// cell is an expression for the cell of a record and a member.
func cell(id, member string) string {
	return `(() => {
		const names = [...document.querySelectorAll(".head .cell .name")].map(e => e.textContent);
		const row = [...document.querySelectorAll(".spacer .row")].find(r => r.children[0]?.textContent === ` + quoted(id) + `);
		return row?.children[names.indexOf(` + quoted(member) + `)];
	})()`
}
