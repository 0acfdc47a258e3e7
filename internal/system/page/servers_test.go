package page

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	netURL "net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/security"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
	"github.com/go-json-experiment/json"
	"golang.org/x/crypto/bcrypt"

	"pickup/internal/tools/servertest"
)

// TestPageServers opens the page on servers of several kinds, and while they end,
// begin and change, in one Chromium.
func TestPageServers(t *testing.T) {
	t.Parallel()
	ctx := sharedBrowser(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, context.Context)
	}{
		{"memory", flatMemory},
		{"large", largeServer},
		{"cluster", clusterServer},
		{"folder", folderServer},
		{"read-only", readOnlyServer},
		{"read-only user", readOnlyUser},
		{"ephemeral", ephemeralServer},
		{"no credentials", openServer},
		{"public", publicServer},
		{"prefix", prefixServer},
		{"API alone", serverWithoutPage},
		{"empty file", emptyServer},
		{"no rules", serverWithoutRules},
		{"TLS", tlsServer},
		{"offline", offlineServer},
		{"conflict without a stream", unseenConflict},
		{"credentials", withCredentials},
		{"removed user", removedUser},
		{"tabs", eightTabs},
		{"duplicate", duplicatedTab},
		{"envelope", envelopeServer},
		{"missed news", missedNews},
		{"forgotten rules", forgottenRules},
		{"elsewhere", pageElsewhere},
		{"commands", copiedCommands},
		{"motion", reducedMotion},
		{"zoom", zoomedPage},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, ctx)
		})
	}
}

// sharedBrowser starts a browser whose tabs are those of several tests.
func sharedBrowser(t *testing.T) context.Context {
	t.Helper()
	ctx := browser(t)
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// openServerEnv is the environment of a server that requires no credentials.
var openServerEnv = []string{"PICKUP_NO_AUTH=1"}

// servePage starts a server with the sample, and opens a tab for its page.
func servePage(t *testing.T, ctx context.Context, env []string, args ...string) *pageTest {
	t.Helper()
	return servePageOf(t, ctx, servertest.SampleDir(t), env, args...)
}

// servePageOf is like servePage, with the files of dir.
func servePageOf(t *testing.T, ctx context.Context, dir string, env []string, args ...string) *pageTest {
	t.Helper()
	server, err := servertest.Launch("pickup", dir, env, append([]string{"--access-log", "off"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	file := dir + "/db.json"
	return &pageTest{process: server, file: file, sample: string(servertest.Read(t, file)), tab: newTab(t, ctx, server.URL)}
}

// rows is an expression for the number of rows of the table.
const rows = `document.querySelectorAll(".spacer .row").length`

// readOnlyServer shows a read-only server.
func readOnlyServer(t *testing.T, ctx context.Context) {
	onlyReads(servePage(t, ctx, openServerEnv, "--read-only"), http.StatusMethodNotAllowed)
}

// readOnlyUser shows a server to a user who may only read.
func readOnlyUser(t *testing.T, ctx context.Context) {
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	dir := servertest.SampleDir(t)
	if err := os.WriteFile(dir+"/users", fmt.Appendf(nil, "pickup:%s:read-only\n", hash), 0o600); err != nil {
		t.Fatal(err)
	}
	p := servePageOf(t, ctx, dir, nil, "--htpasswd", "users")
	p.url = strings.Replace(p.url, "//", "//pickup:secret@", 1)
	onlyReads(p, http.StatusForbidden)
}

// onlyReads looks at screens where nothing offers to write. A write is refused with status.
func onlyReads(p *pageTest, status int) {
	p.open("#/schedules")
	p.until(`document.querySelector(".foot .pill")?.textContent === "read-only" && ` + rows + ` === 7`)
	p.want(`document.querySelector("main .primary, main .plus") === null`, "true")
	p.click(`[data-cell="0:2"]`)
	p.press("n", "Delete")
	p.press("Enter") // opens
	p.until(`document.querySelector(".panel #member-title.fixed")`)
	p.want(`document.querySelectorAll(".panel .delete, .panel .primary, .panel :is(input, textarea, select)").length`, "0")
	p.clickText("JSON")
	p.until(`document.querySelector(".editor")?.shadowRoot?.querySelector("[aria-readonly=true]")`)
	for _, hash := range []string{"#/", "#/_/changes", "#/_/problems", "#/_/sessions"} {
		p.show(hash)
		p.want(`document.querySelectorAll("main .primary").length`, "0")
	}
	p.show("#/")
	p.sees("You have read-only access.")
	p.api("PATCH", "/schedules/5", `{"title": "Optician"}`, status)
	p.show("#/_/requests")
	p.clickText("/schedules/5")
	p.sees("You have read-only access.")
	p.want(`[...document.querySelectorAll(".panel button")].some(e => e.textContent === "Send again")`, "false")
	p.quiet()
}

// ephemeralServer writes to a server that keeps the file as it is. A message about a
// write stays while it has the focus, and does not lose it to one that is gone.
func ephemeralServer(t *testing.T, ctx context.Context) {
	p := servePage(t, ctx, openServerEnv, "--ephemeral")
	p.before(movableClock)
	p.open("#/schedules/4")
	p.until(`document.querySelector(".foot .pill")?.textContent === "kept in memory"`)
	p.fill("#member-title", "Piano concert")
	p.press("Ctrl+s")
	p.until(cell("4", "title") + `?.textContent === "Piano concert"`)
	if text := p.api("GET", "/schedules/4", "", 200); !strings.Contains(text, "Piano concert") {
		t.Errorf("the server has %s", text)
	}
	p.isSample()
	p.fill("#member-title", "Piano lesson")
	p.press("Ctrl+s")
	p.until(`document.querySelectorAll(".toast").length === 1`) // the latest alone
	p.run(`document.querySelector(".toast button").focus(); skip(11_000)`)
	p.until(`document.querySelector(".toast")?.contains(document.activeElement)`)
	p.want(`document.querySelector(".toast")?.contains(document.activeElement)`, "true")
	p.run(`document.querySelector("#member-title").focus(); skip(11_000)`)
	p.until(`!document.querySelector(".toast")`)
	p.quiet()
}

// openServer shows a server that requires no credentials: no command has a user.
func openServer(t *testing.T, ctx context.Context) {
	p := servePage(t, ctx, openServerEnv)
	p.open("#/")
	p.clickText("curl")
	p.until(`document.querySelector("pre").textContent.startsWith("curl 'http://localhost:")`)
	p.quiet()
}

// publicServer shows a server that anybody may use: it records no requests.
func publicServer(t *testing.T, ctx context.Context) {
	p := servePage(t, ctx, nil, "--no-auth=public", "--max-sessions", "0")
	p.open("#/_/requests")
	p.sees("Requests are not recorded")
	p.show("#/_/sessions")
	p.sees("--max-sessions 0")
	p.quiet()
}

// prefixServer shows a server whose API is below a prefix.
func prefixServer(t *testing.T, ctx context.Context) {
	p := servePage(t, ctx, openServerEnv, "--prefix", "/api/v1")
	p.open("#/schedules/4")
	p.until(`document.querySelector(".request .path")?.textContent === "/api/v1/schedules"`)
	p.fill("#member-title", "Piano concert")
	p.press("Ctrl+s")
	p.holds(`"title": "Piano concert"`)
	p.until(`document.querySelector("#member-driverId")?.value === "Tomas Marlow"`)
	p.quiet()
}

// serverWithoutPage shows the description of an API that has no page to go back to.
func serverWithoutPage(t *testing.T, ctx context.Context) {
	p := servePage(t, ctx, openServerEnv, "--no-page")
	p.do(chromedp.Navigate(p.url + "/_/docs"))
	p.until(`document.querySelector('[data-path="/schedules/{id}"]') && !document.querySelector(".home[href]")`)
	p.quiet()
}

// emptyServer begins with an empty file, and makes a collection and a record.
func emptyServer(t *testing.T, ctx context.Context) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/db.json", []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := servePageOf(t, ctx, dir, openServerEnv, "--prefix", "/api")
	p.open("#/")
	p.fill("#collection-name", "things")
	p.press("Enter")
	p.until(`location.hash === "#/things"`)
	p.holds(`"things": []`)
	p.sees("No records yet")
	p.quiet()
}

// serverWithoutRules shows the rules that the data gives, to copy.
func serverWithoutRules(t *testing.T, ctx context.Context) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/db.json", []byte(`{"cars": [{"id": 1, "seats": 5}, {"id": 2, "seats": 7}],
		"lines": [{"id": 1, "at": "2026-01-02T10:00:00Z", "day": "2026-01-02", "url": "https://example.com/a", "mail": "a@example.com"}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	p := servePageOf(t, ctx, dir, openServerEnv)
	p.before(`const plain = fetch; window.fetch = async (...sent) => {
		const answer = await plain(...sent);
		if (!String(sent[0]).endsWith("/_/status")) return answer;
		const status = {...await answer.json(), addresses: ["http://192.0.2.7:3000"]}; // as if it listened there
		return new Response(JSON.stringify(status), answer);
	};
	Object.defineProperty(navigator, "clipboard", {value: undefined}); // as on http of another machine
	addEventListener("copy", () => { window.copied = document.activeElement.value })`)
	p.open("#/")
	p.until(`document.querySelector(".state [href='http://192.0.2.7:3000/_/']")`)
	p.show("#/lines/1")
	// Without a schema, the texts say what they are.
	p.until(`document.querySelectorAll(".timed #member-at, .timed #member-day").length === 2`)
	p.want(`document.querySelector("#member-mail").inputMode`, "email")
	p.want(`document.querySelector(".panel .type [target=_blank]").href`, "https://example.com/a")
	p.want(`document.querySelectorAll(".spacer .goto[target=_blank][rel=noreferrer]").length`, "1")
	p.show("#/")
	p.clickText("Make one from this data")
	p.until(`document.querySelector("dialog pre")?.textContent.includes('"seats"')`)
	p.accessible("rules", true)
	p.run(`[...document.querySelectorAll("dialog .copy")].at(-1).id = "rules"`)
	p.click("#rules")
	p.until(`window.copied && document.activeElement.id === "rules"`)
	rules := p.eval(`window.copied`)
	p.press("Escape")
	p.until(`!document.querySelector("dialog")`)
	if err := os.WriteFile(dir+"/db.schema.json", []byte(rules), 0o644); err != nil {
		t.Fatal(err)
	}
	p.sees("writes are checked against db.schema.json")

	// Instead of a member that is not known another one may be meant, but not as its value.
	const strict = `{"properties": {"cars": {"items": {"properties": {"id": {}, "seats": {"type": "integer"}}, "additionalProperties": false}}}}`
	if err := os.WriteFile(dir+"/db.schema.json", []byte(strict), 0o644); err != nil {
		t.Fatal(err)
	}
	p.save(`{"cars": [{"id": 1, "seatz": 5}], "lines": []}`)
	p.show("#/_/problems")
	p.sees("did you mean")
	p.want(`[...document.querySelectorAll(".findings button")].length`, "0")
	p.quiet()
}

// tlsServer edits a record over HTTPS.
func tlsServer(t *testing.T, ctx context.Context) {
	p := servePage(t, ctx, openServerEnv, "--tls-self-signed")
	if _, err := chromedp.Call(p.ctx, security.SetIgnoreCertificateErrors, security.SetIgnoreCertificateErrorsParams{Ignore: true}); err != nil {
		t.Fatal(err)
	}
	p.open("#/schedules/4")
	p.until(`location.protocol === "https:" && document.querySelector(".foot .live")?.textContent === "Live"`)
	p.fill("#member-title", "Piano concert")
	p.press("Ctrl+s")
	p.holds(`"title": "Piano concert"`)
	p.quiet()
}

// offlineServer ends the server while records are edited, in the form and in the JSON
// editor. What has been typed stays, and the page continues with the next server.
func offlineServer(t *testing.T, ctx context.Context) {
	line := newWire(t)
	p := servePage(t, ctx, openServerEnv)
	line.lead(p.process)
	p.url = "http://" + line.Addr().String()
	const lost = `document.querySelector(".banner.warn")?.textContent.includes("does not answer")`
	const editor = `document.querySelector(".editor")?.shadowRoot?.querySelector(".cm-content")`
	launchAgain := func() {
		t.Helper()
		next, err := servertest.Launch("pickup", p.file[:len(p.file)-len("/db.json")], openServerEnv, "--access-log", "off")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(next.Kill)
		p.process = next
		line.lead(next)
	}
	// restart edits the file between two servers.
	restart := func(old, new string) {
		t.Helper()
		p.process.Kill()
		p.until(lost)
		text := strings.Replace(string(servertest.Read(t, p.file)), old, new, 1)
		if err := os.WriteFile(p.file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		p.press("Ctrl+s")
		p.until(`document.querySelector(".panel [role=alert]")?.textContent.includes("does not answer")`)
		launchAgain()
		p.until(`!` + lost)
	}
	// What a cell says about the server ends with that.
	p.open("#/schedules")
	p.until(`document.querySelector(".foot .live")?.textContent === "Live" && ` + rows + ` === 7`)
	p.click(`[data-cell="0:2"]`)
	p.press("Enter")
	p.until(`document.activeElement.matches(".edits input")`)
	p.enter("Typed")
	p.process.Kill()
	p.until(lost)
	p.press("Enter")
	p.until(`document.querySelector(".cellerror")?.textContent.includes("does not answer")`)
	launchAgain()
	p.until(`!` + lost + ` && !document.querySelector(".cellerror")`)
	p.want(`document.querySelector(".edits input").value`, "Typed")
	p.press("Escape")
	p.show("#/schedules/4")
	p.fill("#member-title", "Piano concert")
	restart("Dentist", "Optician")
	p.until(cell("5", "title") + `?.textContent === "Optician"`)
	p.want(`document.querySelector("#member-title").value`, "Piano concert")
	p.press("Ctrl+s")
	p.holds(`"title": "Piano concert"`)
	p.until(`!document.querySelector(".dirty") && !document.querySelector(".panel [role=alert]")`)

	p.clickText("JSON")
	p.until(editor + `?.textContent.includes("Piano concert")`)
	p.run(editor + `.focus()`)
	p.press("Ctrl+End", "ArrowLeft", "ArrowLeft") // before the last brace
	p.enter(`, "note": "typed"`)
	p.until(`document.querySelector(".dirty")`)
	restart("Optician", "Orthodontist")
	p.until(cell("5", "title") + `?.textContent === "Orthodontist"`)
	p.want(editor+`.textContent.includes('"note": "typed"')`, "true")
	p.press("Ctrl+s")
	p.holds(`"note": "typed"`)
	p.until(`!document.querySelector(".dirty")`)

	// The next server does not know the changes so far, which its stream has not said yet.
	p.show("#/_/changes")
	p.until(`document.querySelector(".changes li")`)
	p.show("#/schedules")
	p.run(`const send = fetch;
		window.fetch = (url, options) => options.headers.Accept === "text/event-stream" ? new Promise(() => {}) : send(url, options)`)
	p.process.Kill()
	p.until(lost)
	launchAgain()
	p.show("#/_/changes")
	p.sees("Nothing has changed yet")
	p.console() // the browser logs each attempt
}

// unseenConflict saves a record that somebody else has changed, which the page does
// not know: its stream does not arrive.
func unseenConflict(t *testing.T, ctx context.Context) {
	p := servePage(t, ctx, openServerEnv)
	p.before(`const send = fetch;
		window.fetch = (url, options) => String(url).includes("/_/changes") ? new Promise(() => {}) : send(url, options)`)
	p.open("#/schedules/4")
	p.fill("#member-title", "Piano concert")
	p.fill("#member-passenger", "Ivy and Amara")
	p.api("PATCH", "/schedules/4", `{"title": "Piano recital", "pickupTime": "2026-09-17T16:10:00Z"}`, 200)
	p.press("Ctrl+s")
	p.until(`document.querySelector(".merge")?.textContent.includes("pickupTime is now 2026-09-17T16:10:00Z")`)
	p.want(`[...document.querySelectorAll(".merge tbody td")].map(e => e.textContent).join("|")`, "mine: Piano concert|theirs: Piano recital")
	p.want(`document.querySelector(".panel-foot .primary").disabled && document.querySelector(".merge .primary").disabled`, "true")
	p.click(`.merge tbody td:last-child input`)
	p.until(`!document.querySelector(".merge .primary").disabled`)
	p.clickText("Merge")
	p.until(`!document.querySelector(".merge") && document.querySelector(".panel").contains(document.activeElement)`)
	p.press("Ctrl+s")
	p.holds(`"passenger": "Ivy and Amara"`)
	p.holds(`"title": "Piano recital"`)
	p.holds(`"pickupTime": "2026-09-17T16:10:00Z"`)
	p.until(`!document.querySelector(".dirty")`)
	p.show("#/drivers/4")
	p.until(`document.querySelector("#member-driverName")`)
	p.api("PATCH", "/drivers/4", `{"driverName": "Theirs"}`, 200)
	p.click(".delete")
	p.until(`document.querySelector("dialog .danger:enabled")`)
	p.click("dialog .danger")
	p.until(`document.querySelector("dialog .error")`)
	p.api("GET", "/drivers/4", "", 200)
	if list := p.console(); len(list) != 2 || !strings.Contains(list[0], "412") || !strings.Contains(list[1], "412") { // the browser logs failed requests
		p.Errorf("the console has %q", list)
	}
}

// withCredentials opens the page without and with credentials.
func withCredentials(t *testing.T, ctx context.Context) {
	p := servePage(t, ctx, []string{"PICKUP_PASSWORD=secret"})
	answer, err := chromedp.Run(p.ctx, chromedp.NavigateResponse(p.url+"/_/"))
	if err != nil || answer.Status != http.StatusUnauthorized {
		t.Fatalf("the page without credentials: %+v %v", answer, err)
	}
	p.console() // the browser logs the 401
	p.url = strings.Replace(p.url, "//", "//pickup:secret@", 1)
	p.open("#/schedules/4")
	p.fill("#member-title", "Piano concert")
	p.press("Ctrl+s")
	p.holds(`"title": "Piano concert"`)
	p.clickText("JSON") // loads the editor
	p.until(`document.querySelector(".editor")?.shadowRoot?.querySelector(".cm-content")`)
	p.want(`document.documentElement.outerHTML.includes("secret")`, "false")
	p.quiet()
}

// removedUser removes the user of a page that is open.
func removedUser(t *testing.T, ctx context.Context) {
	dir := servertest.SampleDir(t)
	users := func(lines string) {
		t.Helper()
		if err := os.WriteFile(dir+"/users", []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const anna = "anna:$2a$04$3hYRLaVzwpRIs1gHNh2dGuVQGuAizcVDvMszW08fdbs60nwwd5lbi\n"
	const bert = "bert:$argon2id$v=19$m=64,t=1,p=1$c2FsdHNhbHQ$rYgS9ZWMuhcsFduPLSBZ9CDKEmzCq0PZcVAXzJJlUg8\n"
	users(anna + bert)
	p := servePageOf(t, ctx, dir, nil, "--htpasswd", "users")
	p.url = strings.Replace(p.url, "//", "//anna:pass%3A%20one@", 1)
	const signedOut = `document.querySelector("dialog[open] h1")?.textContent === "Signed out"`
	p.open("#/schedules/4")
	p.until(`document.querySelector(".foot .live")?.textContent === "Live" && ` + rows + ` === 7`)
	p.fill("#member-title", "Typed")
	users(bert)
	p.until(signedOut)
	p.want(`document.querySelector(".banner") === null`, "true") // it is not the server that does not answer
	p.want(`(([a, b]) => b.top - a.bottom >= 8)([...document.querySelectorAll("dialog > :is(p:not(:empty), button)")].map(e => e.getBoundingClientRect()))`, "true")
	p.accessible("signed-out", true)
	p.press("Escape", "Escape") // does not show the page
	p.until(signedOut)
	reloads := func() int { return strings.Count(p.process.Text(), "reloaded the users") }
	before := reloads()
	users(anna + bert)
	if !servertest.Eventually(func() bool { return reloads() > before }) || statusOf(t, p.url+"/_/status") != http.StatusOK {
		t.Fatal("the server does not accept the user who is back")
	}
	newTab(t, ctx, p.url).open("#/") // Chromium has forgotten the password, and the address has it
	p.clickText("Sign in again")
	p.until(`!document.querySelector("dialog") && document.querySelector(".foot .live")?.textContent === "Live"`)
	p.press("Ctrl+s")
	p.holds(`"title": "Typed"`)
	p.until(`!document.querySelector(".dirty")`)
	p.before(`const send = fetch, wait = setTimeout;
		window.fetch = (url, options) => String(url).includes("/_/changes") ? new Promise(() => {}) : send(url, options);
		window.setTimeout = (run, ms, ...rest) => ms === 500 ? 0 : wait(run, ms, ...rest)`) // nothing is loaded later
	p.open("#/schedules")
	p.until(rows + ` === 7`)
	users(bert)
	if !servertest.Eventually(func() bool { return statusOf(t, p.url+"/_/status") == http.StatusUnauthorized }) {
		t.Fatal("the server still accepts the user")
	}
	p.press("?") // needs the part of the page that is not loaded yet
	p.until(signedOut + ` && !document.querySelector(".toast")`)
	p.console() // the browser logs the 401
}

// statusOf returns the status of a GET, 0 if there is no answer.
func statusOf(t *testing.T, url string) int {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		return 0
	}
	answer.Body.Close()
	return answer.StatusCode
}

// movableClock lets skip(ms) run what a page does within so many milliseconds. What
// the page does after 7 s or more waits for that.
const movableClock = `
	const begin = setTimeout, end = clearTimeout, waiting = new Map();
	window.setTimeout = (run, ms = 0, ...rest) => {
		const id = begin(() => { waiting.delete(id); run(...rest) }, ms < 7000 ? ms : 1e9);
		waiting.set(id, {run, due: Date.now() + ms});
		return id;
	};
	window.clearTimeout = id => { waiting.delete(id); end(id) };
	window.skip = ms => {
		for (const [id, {run, due}] of [...waiting]) if (due <= Date.now() + ms) { clearTimeout(id); run() }
	}`

// eightTabs opens eight tabs of one server, as many as a browser has connections to
// a host and two more. Those that are hidden give their connections back.
func eightTabs(t *testing.T, ctx context.Context) {
	p := servePage(t, ctx, openServerEnv)
	const live = `document.querySelector(".foot .live")?.textContent === "Live" && ` + rows + ` === 7`
	for i := range 7 {
		hidden := newTab(t, ctx, p.url)
		hidden.before(movableClock)
		hidden.open("#/schedules")
		hidden.until(live)
		if hidden.become("hidden"); i == 0 {
			defer func() {
				p.api("PATCH", "/schedules/4", `{"title": "Seen later"}`, 200)
				hidden.become("visible")
				hidden.until(live + ` && ` + cell("4", "title") + `?.textContent === "Seen later"`)
			}()
		}
		hidden.run(`skip(31_000)`)
	}
	p.open("#/schedules")
	p.until(live)
	p.api("PATCH", "/schedules/5", `{"title": "Seen now"}`, 200)
	p.until(cell("5", "title") + `?.textContent === "Seen now"`)
	p.quiet()
}

// become hides the tab, or shows it again.
func (p *tab) become(state string) {
	p.Helper()
	p.run(`Object.defineProperty(document, "visibilityState", {value: "` + state + `", configurable: true});
		document.dispatchEvent(new Event("visibilitychange"))`)
}

// missedNews mends the file while the page does not follow, and has the page read the
// number of problems before the server knows it. One stream is enough for the page.
func missedNews(t *testing.T, ctx context.Context) {
	p := servePage(t, ctx, openServerEnv)
	p.before(movableClock + `;
		const send = fetch;
		window.streams = 0;
		window.opened = 0;
		window.early = 0;
		window.fetch = async (url, options) => {
			const isStream = options.headers.Accept === "text/event-stream";
			if (isStream) streams++, opened++;
			const answer = await send(url, options).catch(error => { if (isStream) streams--; throw error });
			if (isStream) options.signal.addEventListener("abort", () => streams--);
			if (!window.early || !String(url).endsWith("/_/status")) return answer;
			early--;
			const status = await answer.json();
			status.findings = {count: 7, pending: true};
			return new Response(JSON.stringify(status), {headers: answer.headers});
		}`)
	const badge = `document.querySelector(".nav [href='#/_/problems'] .n")`
	p.open("#/_/problems")
	p.until(`document.querySelector(".foot .live")?.textContent === "Live" && window.streams === 1`)
	p.save(p.sample[:len(p.sample)-3])
	p.until(`document.querySelector(".banner.bad") && ` + badge + `?.textContent === "1"`)
	p.become("hidden")
	p.run(`skip(31_000)`)
	p.until(`window.streams === 0`)
	p.save(p.sample)
	p.become("visible")
	p.until(`window.streams === 1 && !document.querySelector(".banner.bad") && !` + badge)

	p.run(`window.early = 1`)
	p.api("PATCH", "/schedules/5", `{"title": "Optician"}`, 200)
	p.until(badge + `?.textContent === "7"`)
	p.until(`!` + badge)
	if err := os.WriteFile(p.file[:len(p.file)-len("db.json")]+"db.schema.json", []byte(`{"type": 7}`), 0o644); err != nil {
		t.Fatal(err)
	}
	p.until(`document.querySelector(".banner.warn")?.textContent.includes("The schema cannot be used")`)
	p.until(`document.querySelector("main [role=alert]")?.textContent.includes("db.schema.json")`)

	// A stream that is silent for 45 s has ended, although nothing says so.
	p.run(`opened = 0; skip(45_000)`)
	p.until(`opened > 0 && streams === 1 && document.querySelector(".foot .live").textContent === "Live"`)
	p.quiet()
}

// forgottenRules simulates failures for half an hour in which no front end sends a
// request.
func forgottenRules(t *testing.T, ctx context.Context) {
	p := servePage(t, ctx, openServerEnv)
	p.before(`let ahead = 0;
		const now = Date.now, repeat = setInterval;
		Date.now = () => now() + ahead;
		window.setInterval = (run, ms) => repeat(run, ms / 100);
		window.pass = minutes => { ahead += minutes * 60_000 }`)
	const asked = `document.querySelector(".banner.simulated")?.textContent.includes("Keep simulating?")`
	p.api("POST", "/_/simulate", `{"path": "/drivers", "delay": 5}`, 201)
	p.open("#/schedules")
	p.until(`document.querySelector(".banner.simulated")`)
	p.run(`pass(29)`)
	p.want(asked, "false")
	p.run(`pass(2)`)
	p.until(asked)
	p.accessible("forgotten", true)
	p.clickText("Keep")
	p.until(`document.querySelector(".banner.simulated") && !` + asked)
	p.run(`pass(31)`)
	p.until(asked)
	p.show("#/_/requests")
	p.clickText("Off")
	if !servertest.Eventually(func() bool { return p.api("GET", "/_/simulate", "", 200) == "[]\n" }) {
		t.Error("the rules are still there")
	}
	p.until(`!document.querySelector("main").textContent.includes("Keep simulating?")`)
	p.quiet()
}

// before runs a script before those of the pages that the tab will load.
func (p *tab) before(script string) {
	p.Helper()
	_, err := chromedp.Call(p.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
	if err != nil {
		p.Fatal(err)
	}
}

// pageElsewhere opens pages of other origins, which can neither show the page in a
// frame nor read what it reads.
func pageElsewhere(t *testing.T, ctx context.Context) {
	p := servePage(t, ctx, openServerEnv)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!DOCTYPE html><title>elsewhere</title><body>")
	}))
	t.Cleanup(elsewhere.Close)
	port := elsewhere.URL[strings.LastIndex(elsewhere.URL, ":"):]
	for _, origin := range []struct{ name, readable string }{
		{"http://localhost" + port, "/schedules /_/status /_/ /_/page/page.js"}, // a front end under development
		{"http://hostile.example" + port, ""},
	} {
		p.do(chromedp.Navigate(origin.name))
		p.want(`(async () => {
			const read = [];
			for (const path of ["/schedules", "/_/status", "/_/", "/_/page/page.js", "/_/requests"]) {
				const answer = await fetch("`+p.url+`" + path).catch(() => null);
				if (answer?.ok) read.push(path);
			}
			return read.join(" ");
		})()`, origin.readable)
		p.console() // the browser logs the refusals
		p.run(`const frame = document.createElement("iframe"); frame.src = "` + p.url + `/_/"; document.body.append(frame)`)
		refused := func() bool { return strings.Contains(strings.Join(p.console(), "\n"), "frame-ancestors") }
		if !servertest.Eventually(refused) {
			t.Errorf("%s shows the page in a frame", origin.name)
		}
	}
}

// copiedCommands copies requests as commands and lets sh run them.
func copiedCommands(t *testing.T, ctx context.Context) {
	p := servePage(t, ctx, openServerEnv)
	p.before(`if (navigator.clipboard) navigator.clipboard.writeText = async text => { window.copied = text }`)
	// copied presses the button Curl in a part of the page, and runs what is copied.
	copied := func(part string) string {
		t.Helper()
		p.until(`document.querySelector(` + quoted(part) + `)`)
		p.run(`window.copied = "";
			[...document.querySelectorAll(` + quoted(part+" .copy") + `)].find(e => e.textContent === "curl").click()`)
		p.until(`window.copied`)
		command := exec.Command("sh", "-c", p.eval(`window.copied`))
		out, err := command.Output()
		if err != nil {
			t.Fatalf("%q: %v", command.Args, err)
		}
		return string(out)
	}
	const odd = "it's \"$HOME\" `id` \\ 100% & [x] {y} #é\n2"
	p.api("PATCH", "/schedules/4", `{"title": `+quoted(odd)+`}`, 200)
	p.open("#/schedules?title=" + strings.ReplaceAll(netURL.QueryEscape(odd), "+", "%20") + "&_sort=-pickupTime")
	p.until(rows + ` === 1`)
	list := copied(".request")
	p.want(quoted(list)+` === JSON.stringify(JSON.parse(`+quoted(list)+`)) || JSON.parse(`+quoted(list)+`).map(r => r.id).join()`, "4")

	p.open("#/schedules/5")
	p.fill("#member-title", odd[:len(odd)-3])
	p.until(`document.querySelector(".dirty")`)
	copied(".panel .tabs")
	p.api("X`id`", "/schedules/4", "", 501) // the method, too, is from anybody
	if text := p.api("GET", "/schedules/5?_fields=title", "", 200); !strings.Contains(text, quoted(odd[:len(odd)-3])[1:20]) {
		t.Errorf("the command has written %s", text)
	}
	p.show("#/_/requests")
	p.clickText("Leave without saving")
	p.clickText("failed")
	p.clickText("/schedules/4")
	p.want(quoted(copied(".panel .row-of"))+`.includes('X`+"`id`"+` is not a method')`, "true")
	p.quiet()
}

// largeServer scrolls through 30,000 records, or 100,000 in the long run. The budgets are those of the number of
// elements, listeners and requests, of memory, and of the work for a frame. It has a
// browser of its own, in which nothing else works.
func largeServer(t *testing.T, _ context.Context) {
	n := 30_000
	if long() {
		n = 100_000
	}
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString(`{"drivers": [{"id": "d0", "name": "Ruth"}, {"id": "d1", "name": "Tomas"}], "schedules": [`)
	for i := range n {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, "\n"+`{"id": "%d", "driverId": "d%d", "title": "School run", "rank": %d, "at": "2026-03-02T07:30:00Z"}`, i+1, i%2, i*7919%n)
	}
	text.WriteString("]}\n")
	if err := os.WriteFile(dir+"/db.json", []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	p := servePageOf(t, browser(t), dir, openServerEnv)
	p.open("#/schedules")
	p.until(cell("1", "driverId") + `?.textContent.startsWith("Ruth")`)
	p.click(`[data-cell="0:2"]`)
	const focused = `document.activeElement.dataset.cell === "0:2"`
	p.until(focused)
	const loaded = `!document.querySelector(".spacer .wait")`
	p.run(`performance.clearResourceTimings();
		const grid = document.querySelector(".grid");
		for (let y = 0; y <= 30_000; y += 200) { grid.scrollTop = y; await new Promise(requestAnimationFrame) }`)
	p.until(loaded)
	p.want(focused, "true")
	if requests := p.number(`performance.getEntriesByType("resource").length`); requests < 5 || requests >= 15 {
		t.Errorf("scrolling 30,000 pixels needs %.0f requests", requests)
	}
	work := p.work(`const grid = document.querySelector(".grid");
		for (let i = 0; i < 300; i++) { grid.scrollTop += 200; await new Promise(requestAnimationFrame) }`)
	longest := work[0]
	if !long() { // on a machine that does nothing else, no frame
		longest = work[3]
	}
	if longest > 50*time.Millisecond {
		t.Errorf("frames need %v", work[:4])
	}
	last := p.number(`(async () => {
		const start = performance.now();
		document.querySelector(".grid").scrollTop = 1e9;
		while (!` + cell(strconv.Itoa(n), "rank") + ` && performance.now() - start < 10_000) await new Promise(requestAnimationFrame);
		return performance.now() - start;
	})()`)
	if long() && last > 2000 { // on a machine that does nothing else
		t.Errorf("the last row is there after %.0f ms", last)
	}
	p.want(focused, "true")
	p.run(`performance.clearResourceTimings()`)
	p.api("PATCH", "/schedules/2", `{"title": "Changed"}`, 200)
	p.until(`performance.getEntriesByType("resource").some(e => e.name.includes("_start=` + strconv.Itoa(n-100) + `"))`)
	p.press("ArrowDown", "ArrowRight") // back to the focus
	p.until(`document.activeElement.dataset.cell === "1:3" && document.querySelector(".grid").scrollTop < 100`)
	p.until(cell("2", "title") + `?.textContent === "Changed"`)
	p.press("Ctrl+ArrowDown")
	p.until(fmt.Sprintf(`document.activeElement.dataset.cell === "%d:3" && document.activeElement.closest(".row").textContent.startsWith("%d")`, n-1, n))
	heap := p.heap() // frees what is not used
	counters, err := chromedp.Call(p.ctx, memory.GetDOMCounters, cdp.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("frames need up to %v; last row after %.0f ms; %d nodes, %d listeners, heap %.1f MB", work[:4], last, counters.Nodes, counters.JsEventListeners, heap/1e6)
	if counters.Nodes >= 1500 || counters.JsEventListeners >= 150 || heap > 30e6 {
		t.Errorf("%d nodes, %d listeners, a heap of %.1f MB", counters.Nodes, counters.JsEventListeners, heap/1e6)
	}
	p.press("Shift+Space", "Ctrl+Home")
	// A block is one transaction, of as many records as it may have.
	p.press("Ctrl+Home", "ArrowRight", "ArrowRight")
	p.until(`document.activeElement.dataset.cell === "0:2" && ` + cell("1", "title") + `?.textContent === "School run"`)
	p.paste(strings.Repeat("Pasted\n", 10_001))
	p.sees("At most 10,000 records can be changed at once.")
	p.paste(strings.Repeat("Pasted\n", 10_000))
	p.sees("10,000 values of 10,000 records changed")
	if n := strings.Count(string(servertest.Read(t, p.file)), "Pasted"); n != 10_000 {
		t.Errorf("%d records have what was pasted", n)
	}
	p.until(cell("1", "title") + `?.textContent === "Pasted"`)
	p.press("Ctrl+z")
	p.until(cell("1", "title") + `?.textContent === "School run"`)
	if bytes.Contains(servertest.Read(t, p.file), []byte("Pasted")) {
		t.Error("Undo leaves what was pasted")
	}
	p.clickAt(`[data-cell="-1:0"]`, 12) // all, as many as one transaction deletes
	p.sees("At most 10,000 records can be selected.")
	p.sees(fmt.Sprintf("10,000 of %d,000 records selected, the limit", n/1000))
	p.want(`document.elementFromPoint(...(r => [r.x + 9, r.y + r.height / 2])(document.querySelector(".selection strong").getBoundingClientRect())).matches("strong")`, "true")
	p.clickAt(`[data-cell="-1:0"]`, 12) // and none
	p.until(`!document.querySelector(".selection")`)
	p.clickAt(`[data-cell="-1:0"]`, 12)
	p.until(`document.querySelector(".selection")`)
	if long() {
		p.clickText("Delete")
		p.sees("10,000 records deleted")
		p.until(`document.querySelector(".count").textContent === "90,000 records"`)
	}
	p.quiet()
}

// work runs statements, and returns how long the page then works at a stretch, the longest
// first. It is time of the processor, because other programs take turns with the page.
func (p *tab) work(statements string) []time.Duration {
	p.Helper()
	var list []time.Duration
	done := make(chan struct{})
	err := chromedp.Listen(p.ctx, func(event any) {
		switch event := event.(type) {
		case *tracing.EventDataCollected:
			for _, text := range event.Value {
				var task struct {
					Name string  `json:"name"`
					Work float64 `json:"tdur"` // µs
				}
				if json.Unmarshal(text, &task) == nil && strings.HasSuffix(task.Name, "RunTask") {
					list = append(list, time.Duration(task.Work*1000))
				}
			}
		case *tracing.EventTracingComplete:
			close(done)
		}
	})
	if err != nil {
		p.Fatal(err)
	}
	_, err = chromedp.Call(p.ctx, tracing.Start, tracing.StartParams{TraceConfig: &tracing.TraceConfig{IncludedCategories: []string{"disabled-by-default-devtools.timeline"}}})
	if err != nil {
		p.Fatal(err)
	}
	p.run(statements)
	if _, err := chromedp.Call(p.ctx, tracing.End, cdp.Empty{}); err != nil {
		p.Fatal(err)
	}
	<-done
	if len(list) < 300 {
		p.Fatalf("the browser reports %d pieces of work", len(list))
	}
	slices.Sort(list)
	slices.Reverse(list)
	return list
}

// flatMemory changes records while the page shows them, more often than its lists have
// entries, or if there is time, as often as in an hour with ten changes a second. What
// grows a little is the code that V8 compiles, and what the inspector of Chromium keeps.
func flatMemory(t *testing.T, ctx context.Context) {
	p := servePage(t, ctx, openServerEnv, "--ephemeral") // which writes faster
	p.open("#/")
	rounds := 3
	if long() {
		rounds = 72
	}
	var heaps []float64
	for round := range rounds {
		last := ""
		for _, hash := range []string{"#/schedules/4", "#/_/requests", "#/_/changes", "#/", "#/schedules"} {
			p.show(hash)
			for i := range 100 {
				last = fmt.Sprintf("%s, %d of %d", hash, i, round)
				p.api("PATCH", fmt.Sprintf("/schedules/%d", i%7+1), `{"title": `+quoted(last)+`}`, 200)
			}
		}
		p.until(`document.querySelector(".grid")?.textContent.includes(` + quoted(last) + `) && !document.querySelector(".changed")`)
		heaps = append(heaps, p.heap()/1e6)
		t.Logf("the heap after %d changes: %.2f MB", 500*(round+1), heaps[round])
	}
	if early, late := heaps[rounds/3], heaps[rounds-1]; late > early*1.1+0.5 {
		t.Errorf("the heap grows from %.1f to %.1f MB", early, late)
	}
	p.quiet()
}

// reducedMotion changes a record on a system whose user wants no motion.
func reducedMotion(t *testing.T, ctx context.Context) {
	p := servePage(t, ctx, openServerEnv)
	for _, motion := range []struct{ name, running string }{{"no-preference", "true"}, {"reduce", "false"}} {
		p.media("prefers-reduced-motion", motion.name)
		p.open("#/schedules")
		p.until(`document.querySelector(".foot .live")?.textContent === "Live" && ` + rows + ` === 7`)
		p.api("PATCH", "/schedules/4", `{"title": "With `+motion.name+`"}`, 200)
		p.until(`document.querySelector(".cell.changed")?.textContent === "With ` + motion.name + `" &&
			document.getAnimations().length > 0 === ` + motion.running + ` &&
			getComputedStyle(document.querySelector(".cell.changed")).backgroundColor !== getComputedStyle(` + cell("3", "title") + `).backgroundColor`)
	}
	p.quiet()
}

// zoomedPage zooms to 400 %: the page is that of a phone, and nothing is cut off.
func zoomedPage(t *testing.T, ctx context.Context) {
	p := servePage(t, ctx, openServerEnv)
	p.do(chromedp.EmulateViewport(1360/4, 850/4, chromedp.EmulateScale(4)))
	for _, hash := range []string{"#/", "#/schedules", "#/schedules?status=Canceled", "#/_/requests", "#/_/changes", "#/_/problems", "#/_/relations",
		"#/_/sessions", "#/_/new/drivers", "#/drivers/1"} {
		p.open(hash)
		p.want(`document.documentElement.scrollWidth <= innerWidth ? "fits" : "`+hash+` is " + document.documentElement.scrollWidth + " pixels wide"`, "fits")
	}
	p.fill("#member-driverName", "Dana M.")
	p.want(`(() => {
		const r = document.activeElement.getBoundingClientRect();
		return r.top >= 0 && r.bottom <= innerHeight && document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2) === document.activeElement;
	})()`, "true")
	p.click(".panel-foot .primary")
	p.holds(`"driverName": "Dana M."`)
	p.quiet()
}

// duplicatedTab opens a copy of a tab, which has its session storage, too: the copy is a tab of its
// own, and undoes nothing of the other.
func duplicatedTab(t *testing.T, ctx context.Context) {
	p := servePage(t, ctx, openServerEnv)
	p.open("#/schedules")
	p.until(rows + ` === 7 && ` + toolsLoaded)
	p.click(`[data-cell="0:2"]`)
	p.enter("Mine\r")
	p.holds(`"Mine"`)
	p.until(`sessionStorage.getItem("pickup.made") !== "[]"`)
	const id = `.sessionStorage.getItem("pickup.tab")`
	first := p.eval(`window` + id)
	p.run(`window.copy = open(location.href)`)
	p.until(`copy.document.querySelectorAll(".spacer .row").length === 7`)
	p.until(`copy` + id + ` && copy` + id + ` !== window` + id)
	p.want(`window`+id, first)
	p.run(`copy.document.body.dispatchEvent(new copy.KeyboardEvent("keydown", {key: "z", ctrlKey: true, bubbles: true}))`)
	p.until(`copy.document.body.innerText.includes("Nothing to undo in this tab")`)
	p.holds(`"Mine"`)
	p.run(`copy.close()`)
	p.press("Ctrl+z")
	p.isSample()
	p.quiet()
}

// envelopeServer copies code for answers in an envelope, which the page itself does not get.
func envelopeServer(t *testing.T, ctx context.Context) {
	p := servePage(t, ctx, openServerEnv, "--answer-list", "data", "--answer-total", "meta.total", "--answer-record", "item")
	const code = `document.querySelector("[aria-labelledby=usage] pre")?.textContent`
	p.open("#/")
	p.until(code + `?.includes("const data: { data: Schedule[]; meta: { total: number } } = await response.json();")`)
	p.click("[aria-labelledby=usage] [aria-label=Call] button:nth-child(2)")
	p.until(code + `?.includes("const data: { item: Schedule } = ")`)
	if list := p.api("GET", "/schedules?_limit=1", "", 200); !strings.HasPrefix(list, `{"data":[`) {
		t.Errorf("the list is %s", list)
	}
	p.quiet()
}
