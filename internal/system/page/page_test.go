package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	netURL "net/url"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"pickup/internal/tools/servertest"
)

// A pageTest is a server with the sample, and a tab with its page.
type pageTest struct {
	*tab
	process *servertest.Process
	file    string
	sample  string // what is in the file at first
}

// reset makes the file what it was at first, and waits until the server has it.
func (p *pageTest) reset() {
	p.Helper()
	if string(servertest.Read(p.T, p.file)) != p.sample {
		p.leave() // a page would ask for what is gone
		p.save(p.sample)
	}
	var findings []struct{ Rev string }
	if _, text := servertest.Send(p.T, "GET", p.process.URL+"/_/findings", ""); json.Unmarshal([]byte(text), &findings) != nil {
		p.Fatalf("the findings are %s", text)
	}
	for _, f := range findings {
		if f.Rev != "" { // the save has undone what the flow before wrote
			p.api("DELETE", "/_/findings/"+f.Rev, "", 204)
		}
	}
	p.console()
}

// save replaces the file as an editor does, and waits until the server has read it.
func (p *pageTest) save(text string) {
	p.Helper()
	before := p.revision()
	if err := os.WriteFile(p.file, []byte(text), 0o644); err != nil {
		p.Fatal(err)
	}
	if !servertest.Eventually(func() bool { return p.revision() != before }) {
		p.Fatalf("the server does not read the file:\n%s", p.process.Text())
	}
}

// revision returns the revision of the server, or why the file cannot be read.
func (p *pageTest) revision() string {
	p.Helper()
	_, text := servertest.Send(p.T, "GET", p.process.URL+"/_/status", "")
	_, text, _ = strings.Cut(text, `"rev":`)
	return text[:strings.Index(text, `"modified"`)+1]
}

// edit replaces text in the file.
func (p *pageTest) edit(old, new string) {
	p.Helper()
	text := string(servertest.Read(p.T, p.file))
	if !strings.Contains(text, old) {
		p.Fatalf("the file has no %s", old)
	}
	p.save(strings.Replace(text, old, new, 1))
}

// api sends a request as another client, and checks its status.
func (p *pageTest) api(method, path, body string, status int) string {
	p.Helper()
	got, text := servertest.Send(p.T, method, p.process.URL+path, body)
	if got != status {
		p.Fatalf("%s %s: %d %s", method, path, got, text)
	}
	return text
}

// holds waits until the file contains a text.
func (p *pageTest) holds(text string) {
	p.Helper()
	if !servertest.Eventually(func() bool { return bytes.Contains(servertest.Read(p.T, p.file), []byte(text)) }) {
		p.Fatalf("the file has no %s:\n%s", text, servertest.Read(p.T, p.file))
	}
}

// isSample waits until the file is what it was at first, byte for byte.
func (p *pageTest) isSample() {
	p.Helper()
	if !servertest.Eventually(func() bool { return string(servertest.Read(p.T, p.file)) == p.sample }) {
		p.Fatalf("the file is not what it was:\n%s", servertest.Read(p.T, p.file))
	}
}

// quiet fails if the console has messages.
func (p *pageTest) quiet() {
	p.Helper()
	if list := p.console(); len(list) > 0 {
		p.Errorf("the console has %q", list)
	}
}

// TestPage does with the page what people do with it, in Chromium. Each flow has a
// server and a tab with the sample, in each color scheme.
func TestPage(t *testing.T) {
	t.Parallel()
	ctx := sharedBrowser(t)
	for i, flow := range []struct {
		name string
		run  func(*pageTest)
	}{
		{"axe of records", axeOfRecords}, // those that take longest begin first
		{"axe of screens", axeOfScreens},
		{"docs", docsFlow},
		{"changes", changesFlow},
		{"hostile", hostileFlow},
		{"hands", handsFlow},
		{"menus", menusFlow},
		{"data", dataFlow},
		{"sender", senderFlow},
		{"overview", overviewFlow},
		{"live", liveFlow},
		{"query", queryFlow},
		{"cell", cellFlow},
		{"begin", beginFlow},
		{"habits", habitsFlow},
		{"missing", missingFlow},
		{"code", codeFlow},
		{"answers", answersFlow},
		{"fields", fieldsFlow},
		{"lists", listsFlow},
		{"typing", typingFlow},
		{"refused", refusedFlow},
		{"pickers", pickersFlow},
		{"keys", keysFlow},
		{"record", recordFlow},
		{"conflict", conflictFlow},
		{"json", jsonFlow},
		{"create", createFlow},
		{"faults", faultsFlow},
		{"delete", deleteFlow},
		{"several", severalFlow},
		{"columns", columnsFlow},
		{"broken", brokenFlow},
		{"problems", problemsFlow},
		{"edits", editsFlow},
		{"relations", relationsFlow},
		{"requests", requestsFlow},
		{"simulate", simulateFlow},
		{"odd", oddFlow},
		{"nested", nestedFlow},
		{"log", logFlow},
		{"sessions", sessionsFlow},
		{"review", reviewFlow},
		{"palette", paletteFlow},
		{"phone", phoneFlow},
	} {
		t.Run(flow.name, func(t *testing.T) {
			t.Parallel()
			for _, look := range looks(i) {
				p := servePage(t, ctx, []string{"PICKUP_PASSWORD=secret"})
				p.url = strings.Replace(p.url, "//", "//pickup:secret@", 1)
				p.prefer(look)
				flow.run(p)
				p.quiet()
			}
		})
	}
}

// looks returns the color schemes of a flow: both if there is time.
func looks(i int) []string {
	both := []string{"light", "dark"}
	if long() {
		return both
	}
	return both[i%2 : i%2+1]
}

func overviewFlow(p *pageTest) {
	p.do(chromedp.Navigate(p.url + "/")) // as a browser opens the address of the banner
	p.until(`location.pathname === "/_/" && document.querySelector("h1")?.textContent === "db.json"`)
	p.until(`document.querySelector(".state .ok")?.textContent === "All is well, and writes are checked against db.schema.json"`)
	p.want(`document.querySelector(".address").textContent === location.origin`, "true")
	p.want(`[...document.querySelectorAll(".plain tbody tr")].map(r => [...r.children].slice(0, 2).map(e => e.querySelector("a")?.textContent ?? e.textContent)).join()`, "/schedules,7,/drivers,4")
	p.want(`[...document.querySelectorAll(".nav [href*='#/_/']")].map(e => e.innerText.trim()).join()`, "Requests,Changes,Problems,Relations") // there is no session
	p.until(`document.querySelector(".members")?.textContent.includes("pickupLocation")`)
	p.until(`document.querySelector("pre")`)
	p.want(`document.querySelector("pre").textContent.includes("secret")`, "false")
	p.clickText("curl")
	p.until(`document.querySelector("pre").textContent.startsWith("curl -u 'pickup' 'http://localhost")`)
	p.clickText("/drivers")
	p.until(`location.hash === "#/drivers" && document.querySelectorAll(".spacer .row").length === 4`)
	p.press("g", "o")
	p.until(`location.hash === "#/"`)
	p.api("PATCH", "/schedules/5", `{"title": "Optician"}`, 200)
	p.api("PATCH", "/schedules/5", `{"status": "Scheduld"}`, 422)
	p.until(`document.querySelector("[aria-label='Latest changes'] li")?.textContent.includes("schedules 5")`)
	p.until(`document.querySelector("[aria-label='Latest requests'] li")?.textContent.startsWith("422PATCH/schedules/5")`)
	const failures = `document.querySelector(".nav [href='#/_/requests'] .n")`
	p.until(failures + `?.textContent === "1"`)
	p.clickText("/schedules/5")
	p.until(`document.querySelector(".panel pre")?.textContent.includes("Scheduld") && !` + failures) // they have been seen
	p.press("Escape", "g", "o")
	p.until(`document.querySelector("[aria-label='Latest requests'] li") && !` + failures)
	p.until(`document.querySelector(".followers")?.textContent === "1 stream follows the data: /_/changes"`)
	p.run(`window.other = new EventSource("/schedules")`)
	p.until(`document.querySelector(".followers").textContent === "2 streams follow the data: /_/changes, /schedules"`)
	p.run(`window.other.close()`)
	p.until(`document.querySelector(".followers").textContent.startsWith("1 stream ")`)
	p.show("#/nothing")
	p.sees(`There is no collection "nothing". There are: schedules, drivers.`)
	p.show("#/schedule/4?q=piano")
	p.click(`main p:not(.links) a`) // did you mean
	p.until(`location.hash === "#/schedules/4?q=piano" && document.querySelector("#member-title")?.value === "Piano lesson"`)
	p.show("#/_/reqests")
	p.clickText("requests")
	p.until(`location.hash === "#/_/requests"`)
	p.console() // the browser logs the 404
}

// liveFlow edits the file in an editor, and writes as another client.
func liveFlow(p *pageTest) {
	p.open("#/schedules")
	p.until(cell("4", "title") + `?.textContent === "Piano lesson"`)
	p.until(`document.querySelector(".foot .live")?.textContent === "Live"`)
	p.edit(`Piano lesson`, `Piano recital`)
	p.until(`[...document.querySelectorAll(".row.file .cell.changed")].map(e => e.textContent).join() === "Piano recital"`)
	p.until(cell("4", "title") + `?.textContent === "Piano recital"`)
	p.holdNext("answer", `/_/status$`)
	p.api("PATCH", "/schedules/5", `{"status": "Rescheduled"}`, 200)
	p.until(`[...document.querySelectorAll(".row.api .cell.changed")].map(e => e.textContent).join() === "Rescheduled"`)
	p.until(cell("5", "status") + `?.textContent === "Rescheduled" && window.held`)
	p.api("DELETE", "/schedules/1", "", 200)
	p.until(`document.querySelector(".count").textContent === "6 records"`)
	p.until(`document.querySelector(".nav .n").textContent === "6"`)
	p.run(`const n = document.querySelector(".nav .n");
		new MutationObserver(() => { window.flicker = n.textContent }).observe(n, {subtree: true, characterData: true, childList: true});
		release()`) // a state that is older
	p.show("#/drivers")
	p.until(rows + ` === 4`)
	p.want(`window.flicker`, "undefined")

	// What could not be read without a network is read again with it.
	p.run(`window.realFetch = fetch; window.fetch = () => Promise.reject(new TypeError());
		dispatchEvent(new Event("pagehide")); dispatchEvent(new Event("online"))`)
	p.until(`document.querySelector(".banner.warn")`)
	p.run(`location.hash = "#/schedules/4?status=Scheduled"`)
	p.until(`document.querySelector("main [role=alert]") && document.querySelector(".panel [role=alert]")`)
	p.run(`window.fetch = realFetch; dispatchEvent(new Event("online"))`)
	p.until(rows + ` === 3 && document.querySelector("#member-title")?.value === "Piano recital" && !document.querySelector("[role=alert] strong")`)
}

func queryFlow(p *pageTest) {
	p.open("#/schedules")
	p.until(`document.querySelectorAll(".spacer .row").length === 7`)
	p.press("/")
	p.until(`document.activeElement.id === "filter"`)
	const options = `[...document.querySelectorAll("[role=option]")].map(e => e.innerText.replaceAll("\n", " ")).join()`
	p.enter("passenger=iv")
	p.until(options + ` === "Ivy 2 records,Ivy and Jonah 1 record"`)
	p.press("Escape")
	p.enter("driverId=ruth")
	p.until(options + ` === "Ruth Ellery 3"`)
	p.press("Escape")
	p.enter("status=")
	p.until(options + ` === "Scheduled 4 records,Canceled 1 record,Rescheduled 1 record,Unscheduled 1 record"`)
	p.press("ArrowDown", "Enter")
	p.until(`location.hash === "#/schedules?status=Scheduled"`)
	p.enter("pickupTime>=2026-09-15")
	p.press("Enter")
	p.until(`location.hash === "#/schedules?status=Scheduled&pickupTime:gte=2026-09-15"`)
	p.run(`[...document.querySelectorAll(".head .cell")].find(e => e.textContent === "pickupTime").click()`)
	p.until(`location.hash.endsWith("&_sort=pickupTime")`)
	list := p.api("GET", "/schedules?status=Scheduled&pickupTime:gte=2026-09-15&_sort=pickupTime&_fields=id", "", 200)
	p.until(`[...document.querySelectorAll(".spacer .row")].map(r => r.children[0].textContent).join() === ` + list + `.map(r => r.id).join()`)
	p.run(`history.back()`)
	p.until(`location.hash === "#/schedules?status=Scheduled&pickupTime:gte=2026-09-15"`)
	p.click("#filter")
	p.press("Backspace", "Backspace")
	p.until(`location.hash === "#/schedules"`)
	p.show("#/schedules?_where=" + `%7B%22status%22%3A%22Canceled%22%7D`)
	p.until(`document.querySelectorAll(".spacer .row").length === 1 && document.querySelector(".term")?.textContent.includes("_where")`)
	p.show("#/schedules?_limt=3")
	p.until(`document.querySelector("[role=alert]")?.textContent.includes("_limt")`)
	if list := p.console(); len(list) != 1 || !strings.Contains(list[0], "400") { // the browser logs failed requests
		p.Errorf("the console has %q", list)
	}
}

// cellFlow edits cells with the keyboard alone.
func cellFlow(p *pageTest) {
	p.open("#/schedules")
	p.until(cell("1", "driverId") + `?.textContent.startsWith("Dana Marlow")`)
	p.click(`[data-cell="0:1"]`)
	p.press("ArrowDown", "ArrowRight")
	p.until(`document.activeElement.dataset.cell === "1:2"`)
	p.want(`document.querySelectorAll("[data-cell][tabindex='0']").length`, "1")
	p.press("Enter")
	p.until(`document.activeElement.matches(".edits input")`)
	p.enter("Vet, second visit")
	p.press("Enter")
	p.until(`document.activeElement.dataset.cell === "2:2"`)
	p.holds(`"title": "Vet, second visit"`)
	if n := differing(p.sample, string(servertest.Read(p.T, p.file))); n != 1 {
		p.Errorf("%d lines of the file differ", n)
	}
	p.clickText("Undo")
	p.isSample()
	p.until(cell("2", "title") + `?.textContent === "Vet visit" && document.activeElement.dataset.cell === "2:2"`)
	p.press("F2")
	p.until(`document.activeElement.matches(".edits input")`)
	p.enter("x")
	p.run(`document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape", bubbles: true, isComposing: true}))`) // of an input method
	p.want(`document.activeElement.matches(".edits input")`, "true")
	p.press("Escape")
	p.until(`document.activeElement.dataset.cell === "2:2"`)
	p.press("End", "Enter") // the status
	p.until(`document.activeElement.matches(".edits select")`)
	p.run(`const s = document.activeElement; s.value = "Canceled"; s.dispatchEvent(new Event("change", {bubbles: true}))`)
	p.press("Tab")
	p.until(cell("3", "status") + `?.textContent === "Canceled"`)
	p.press("Ctrl+z")
	p.isSample()
	p.until(`document.querySelector(".toasts").textContent.includes("Undone")`)
	p.want(`document.querySelector(".toasts").textContent.includes("is Canceled")`, "false") // it no longer is
	p.until(`document.activeElement.dataset.cell?.startsWith("2:")`)
	p.press("Space")
	p.until(`location.hash === "#/schedules/3" && document.activeElement.closest(".panel")`)
	p.press("Escape")
	p.until(`location.hash === "#/schedules" && document.activeElement.dataset.cell?.startsWith("2:")`)

	// The edit follows its record when others come and go above it.
	p.press("Home", "ArrowRight", "ArrowRight", "Enter")
	p.until(`document.activeElement.matches(".edits input")`)
	long := strings.Repeat("Vet, ", 20) // one element takes all of it
	p.enter(long[:50])
	p.edit(`"schedules": [`, `"schedules": [{"id": "0", "title": "Above", "driverId": "1", "status": "Scheduled", "passenger": "Ivy",
		"pickupLocation": "A", "dropoffLocation": "B", "pickupTime": "2026-09-14T07:40:00Z", "dropoffTime": "2026-09-14T08:05:00Z"},`)
	p.until(cell("0", "title") + ` && document.querySelector(".edits input") === document.activeElement`)
	p.want(`document.activeElement.closest(".row").children[0].textContent`, "3")
	p.enter(long[50:])
	p.click(`[data-cell="5:2"]`) // saves
	p.holds(long)
	p.until(`document.activeElement.dataset.cell === "5:2" && !document.querySelector(".edits")`)
	p.press("ArrowUp")
	p.until(`document.activeElement.dataset.cell === "4:2"`)
	p.api("DELETE", "/schedules/0", "", 200)
	p.until(`document.activeElement.dataset.cell === "3:2" && document.querySelectorAll("[data-cell][tabindex='0']").length === 1`)
	p.press("Enter")
	p.until(`document.activeElement.matches(".edits input")`)
	p.enter("Not lost")
	p.api("DELETE", "/schedules/4", "", 200)
	p.until(rows + ` === 6 && document.querySelector(".cellerror")?.textContent.includes("deleted") && document.activeElement.value === "Not lost"`)
	p.press("Escape")
	p.until(`document.activeElement.dataset.cell === "3:2" && document.activeElement.textContent === "Dentist"`)
	p.press("Ctrl+End")
	p.until(`document.activeElement.dataset.cell === "5:8"`)
	p.api("DELETE", "/schedules/7", "", 200)
	p.until(`document.activeElement.dataset.cell === "4:8"`)
}

// refusedFlow stores a value that breaks the rules, and one whose record somebody
// else has changed.
func refusedFlow(p *pageTest) {
	p.open("#/drivers")
	p.until(`document.querySelectorAll(".spacer .row").length === 4`)
	p.click(`[data-cell="1:3"]`)
	p.press("Enter")
	p.until(`document.activeElement.matches(".edits input")`)
	p.enter("603")
	p.press("Enter")
	p.until(`document.querySelector(".cellerror")?.textContent.includes("telephone number")`)
	p.want(`document.activeElement.getAttribute("aria-invalid")`, "true")
	p.want(`document.getElementById(document.activeElement.getAttribute("aria-describedby")) !== null`, "true")
	p.press("Escape")
	p.until(`document.activeElement.dataset.cell === "1:3"`)
	p.console() // the browser logs the 422

	p.press("ArrowLeft", "ArrowLeft", "Enter")
	p.until(`document.activeElement.matches(".edits input")`)
	p.until(`performance.getEntriesByType("resource").some(e => e.name.endsWith("/drivers/2"))`) // which has the tag of the record
	p.api("PATCH", "/drivers/2", `{"driverName": "Theirs"}`, 200)
	p.enter("Mine")
	p.press("Enter")
	p.until(`document.querySelector(".cellerror")?.textContent.includes("driverName is now Theirs")`)
	p.press("Enter")
	p.holds(`"driverName": "Mine"`)
	p.console() // and the 412

	// Nobody has seen the value that is there when the edit begins.
	p.until(`!document.querySelector(".edits")`)
	p.run(`window.realFetch = fetch; window.fetch = async (...a) => { if (/drivers\/1$/.test(a[0])) await window.held; return realFetch(...a) };
		window.held = new Promise(done => { window.release = done })`)
	p.click(`[data-cell="0:1"]`)
	p.press("Enter")
	p.until(`document.activeElement.matches(".edits input")`)
	p.enter("Mine, too")
	p.api("PATCH", "/drivers/1", `{"driverName": "Theirs, too"}`, 200)
	p.press("Enter")
	p.run(`release()`)
	p.until(`document.querySelector(".cellerror")?.textContent.includes("driverName is now Theirs, too")`)
	p.press("Escape")
	p.run(`window.fetch = realFetch`)

	// An undo that is refused is not in the way of those before it.
	p.click(`[data-cell="2:1"]`)
	for _, text := range []string{"First", "Second"} { // the second is a row below
		p.press("Enter")
		p.until(`document.activeElement.matches(".edits input")`)
		p.enter(text)
		p.press("Enter")
		p.holds(text)
		p.until(`!document.querySelector(".edits")`)
	}
	p.api("PATCH", "/drivers/4", `{"driverName": "Third"}`, 200)
	p.press("Ctrl+z")
	p.until(`document.querySelector(".toast.bad")?.textContent.includes("Could not undo")`)
	p.press("Ctrl+z")
	p.holds(`"driverName": "Ruth Ellery"`)
	p.console() // the browser logs the 412 and the 409
}

// pickersFlow finds records by their names, and picks times.
func pickersFlow(p *pageTest) {
	const names = `[...document.querySelectorAll(".choices [role=option] .clip")].map(e => e.textContent).join()`
	p.open("#/schedules")
	p.until(cell("1", "driverId") + `?.textContent.startsWith("Dana Marlow")`)
	p.click(`[data-cell="0:1"]`)
	p.press("Enter")
	p.until(names + `.startsWith("Dana Marlow,Tomas Marlow")`)
	p.want(`document.getElementById(document.activeElement.getAttribute("aria-activedescendant"))?.textContent`, "Dana Marlow1")
	p.enter("ruth")
	p.until(names + ` === "Ruth Ellery"`)
	p.press("Enter")
	p.until(cell("1", "driverId") + `?.textContent.startsWith("Ruth Ellery")`)
	p.until(`document.activeElement.dataset.cell === "1:1"`)
	p.want(`document.querySelectorAll(".choices").length`, "0")
	p.press("Ctrl+z")
	p.isSample()

	p.show("#/schedules/4")
	p.fill("#member-driverId", "marlow")
	p.until(names + ` === "Dana Marlow,Tomas Marlow"`)
	p.press("ArrowDown")
	p.want(`document.getElementById(document.activeElement.getAttribute("aria-activedescendant"))?.textContent`, "Tomas Marlow2")
	p.press("Escape") // the list, not the record
	p.until(`document.querySelector("#member-driverId").value === "Tomas Marlow" && !document.querySelector(".dirty")`)
	p.press("ArrowDown")
	p.until(names + `.includes("Samuel Okafor")`)
	p.press("ArrowDown")
	p.want(`document.querySelector("#member-driverId").value`, "Ruth Ellery")
	p.press("Tab") // the list closes
	p.until(`!document.querySelector(".choices [role=option]") && document.querySelector(".panel .type [href='#/drivers/3']")?.textContent === "→ drivers 3"`)
	p.want(`document.querySelector("#member-driverId").value`, "Ruth Ellery")

	p.want(`document.querySelector("#member-pickupTime").value`, "2026-09-17T16:20:00Z")
	p.want(`document.querySelector(".timed .picker").value`, "2026-09-17T16:20")
	p.run(`const e = document.querySelector(".timed .picker"); e.value = "2026-09-18T08:05"; e.dispatchEvent(new Event("change", {bubbles: true}))`)
	p.want(`document.querySelector("#member-pickupTime").value`, "2026-09-18T08:05:00Z")       // the rest is as it was
	p.run(`HTMLInputElement.prototype.showPicker = function () { window.picked = this.type }`) // it is a window of the browser's
	p.run(`document.querySelector(".timed button").focus()`)                                   // what the server thinks of the new time may move it under a pointer
	p.press("Enter")
	p.want(`window.picked`, "datetime-local")
	p.press("Ctrl+s")
	p.holds(`"driverId": "3"`)
	p.holds(`"pickupTime": "2026-09-18T08:05:00Z"`)
	if n := differing(p.sample, string(servertest.Read(p.T, p.file))); n != 2 {
		p.Errorf("%d lines of the file differ", n)
	}
	p.fill("#member-pickupTime", "2026-09-18T08:05") // without a zone
	p.run(`const e = document.querySelector(".timed .picker"); e.value = "2026-09-19T08:05"; e.dispatchEvent(new Event("change", {bubbles: true}))`)
	p.want(`document.querySelector("#member-pickupTime").value`, "2026-09-19T08:05")
	p.clickText("Discard")

	// Keys wait for the choices that they are for.
	p.open("#/schedules")
	p.until(cell("2", "driverId") + `?.textContent.startsWith("Ruth Ellery")`)
	p.click(`[data-cell="1:1"]`)
	p.run(`window.realFetch = fetch; window.fetch = (...a) => new Promise(done => setTimeout(done, 300)).then(() => realFetch(...a))`)
	p.press("Enter")
	p.until(`document.activeElement.matches(".edits input")`)
	p.enter("marlow")
	p.press("ArrowDown", "Tab")
	p.until(`document.activeElement.dataset.cell === "1:2"`)
	p.until(cell("2", "driverId") + `?.textContent.startsWith("Tomas Marlow")`)
	p.show("#/schedules/7")
	p.fill("#member-driverId", "samuel")
	p.press("Tab")
	p.until(`document.querySelector("#member-driverId").value === "Samuel Okafor" && document.activeElement.id !== "member-driverId"`)
	p.fill("#member-driverId", "dana")
	p.click(".panel-foot .primary") // while it is looked up
	p.until(`!document.querySelector(".dirty") && document.querySelector("#member-driverId").value === "Dana Marlow"`)
	if text := p.api("GET", "/schedules/7", "", 200); !strings.Contains(text, `"driverId":"1"`) {
		p.Errorf("the record is %s", text)
	}
	p.fill("#member-driverId", "nobody")
	p.press("Ctrl+s")
	p.until(`document.querySelector("#member-driverId-wrong")?.textContent === "Drivers has no record “nobody”."`)
	p.want(`document.querySelector("#member-driverId").value`, "nobody")
	p.run(`window.fetch = realFetch`)
	p.clickText("Discard")

	// The ids of a collection may be numbers.
	p.leave()
	p.edit("{", `{"owners": [{"id": 1, "name": "Ann"}, {"id": 2, "name": "Bea"}],
		"toys": [{"id": 1, "name": "Ball", "ownerId": null}, {"id": 2, "name": "Bone", "ownerId": null}],
		"pets": [{"id": 1, "name": "Rex", "ownerId": 1}, {"id": 2, "name": "Tom"}, {"name": "Stray"}],`)
	p.open("#/pets/2")
	p.fill("#member-ownerId", "bea")
	p.until(names + ` === "Bea"`)
	p.press("Ctrl+s")
	p.holds(`"ownerId": 2`)
	p.until(`!document.querySelector(".dirty")`)

	// Where no value says what they are, they are stored as the record has them.
	for id, name := range map[string]string{"1": "ann", "2": "bea"} {
		p.show("#/toys/" + id)
		p.fill("#member-ownerId", name)
		p.press("Ctrl+s")
		p.until(`!document.querySelector(".dirty")`)
		if text := p.api("GET", "/toys/"+id, "", 200); !strings.Contains(text, `"ownerId":`+id) {
			p.Errorf("the record is %s", text)
		}
	}

	p.onPhone() // the number of the second line is not the id
	p.open("#/pets")
	const lines = `[...document.querySelectorAll(".card-row")].map(e => [...e.querySelectorAll(".card-name > *, .card-more")].map(e => e.textContent).join("/")).join()`
	p.want(lines, "Rex/1/Ann1,Tom/2/Bea2,Stray/no id/")
}

// keysFlow presses keys that are the page's, and those that are the browser's.
func keysFlow(p *pageTest) {
	p.api("PATCH", "/schedules/1", `{"tags": ["school"]}`, 200)
	p.open("#/schedules")
	p.until(rows + ` === 7`)
	p.click(`[data-cell="0:2"]`)
	p.until(`document.activeElement.dataset.cell === "0:2"`)
	p.want(`(() => {
		const press = (key, held) => document.activeElement.dispatchEvent(
			new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true, ...held}));
		const control = {ctrlKey: true}, shift = {ctrlKey: true, shiftKey: true}, alt = {altKey: true};
		const list = [["f", control], ["g", control], ["F3", {}], ["F5", {}], ["l", control], ["p", control], ["r", control], ["t", control],
			["w", control], ["s", control], ["+", control], ["-", control], ["0", control], ["k", shift], ["r", shift],
			["PageUp", control], ["PageDown", control], ["ArrowLeft", alt], ["ArrowRight", alt], ["ArrowDown", alt], ["d", alt], ["F6", {}], ["F12", {}]];
		const taken = list.filter(([key, held]) => !press(key, held)).map(([key]) => key);
		const wheel = held => document.activeElement.dispatchEvent(new WheelEvent("wheel", {deltaY: 9, bubbles: true, cancelable: true, ...held}));
		const middle = document.activeElement.dispatchEvent(new MouseEvent("auxclick", {button: 1, bubbles: true, cancelable: true}));
		return taken.join() + [wheel({shiftKey: true}), wheel(control), middle];
	})()`, "true,true,true")
	p.press("Ctrl+Shift+f")
	p.until(`location.hash.startsWith("#/schedules?title=")`)
	p.run(`history.back()`)
	p.until(`location.hash === "#/schedules" && ` + rows + ` === 7`)
	p.press("Ctrl+/")
	p.clickText("Use single letters")
	p.press("Escape")
	p.until(`!document.querySelector("dialog")`)
	p.click(`[data-cell="0:2"]`)
	p.press("f", "o", "n", "g", "c")
	p.press("ArrowDown")
	p.until(`document.activeElement.dataset.cell === "1:2"`)
	p.want(`location.hash`, "#/schedules") // no letter has done anything
	p.run(`localStorage.removeItem("pickup.letters")`)

	p.open("#/schedules")
	p.until(rows + ` === 7`)
	p.click(`[data-cell="2:2"]`)
	p.press("Space")
	p.until(`location.hash === "#/schedules/3" && document.querySelector("#member-title")?.value`)
	p.press("Alt+ArrowDown")
	p.until(`location.hash === "#/schedules/4" && document.querySelector("#member-title")?.value === "Piano lesson"`)
	// What the server answers about another record is not shown as this one.
	const dentist = `location.hash === "#/schedules/5" && document.querySelector("#member-title")?.value === "Dentist" &&
		!document.querySelector(".dirty")`
	p.holdNext("answer", `GET .*schedules.4$`)
	p.api("PATCH", "/schedules/4", `{"passenger": "Late"}`, 200)
	p.until(`window.held`)
	p.press("Alt+ArrowDown")
	p.until(dentist)
	p.run(`release()`)
	p.until(dentist)
	p.want(dentist, "true")
	p.press("Alt+ArrowUp")
	p.until(`document.querySelector("#member-passenger")?.value === "Late"`)
	p.holdNext("answer", `PATCH`)
	p.fill("#member-passenger", "Saved late")
	p.press("Ctrl+s")
	p.until(`window.held`)
	p.press("Alt+ArrowDown")
	p.clickText("Leave without saving")
	p.until(dentist)
	p.run(`release()`)
	p.sees("1 field of schedules 4 saved")
	p.want(dentist, "true")
	p.press("Alt+ArrowUp")
	p.until(`document.querySelector("#member-passenger")?.value === "Saved late"`)
	p.press("Alt+ArrowUp", "Alt+ArrowUp")
	p.until(`location.hash === "#/schedules/2" && document.querySelector("#member-title")?.value === "Vet visit"`)
	p.press("Escape")
	p.until(`location.hash === "#/schedules" && document.activeElement.dataset.cell === "2:2"`) // the cell that one came from
	p.show("#/schedules/2")
	p.until(`document.querySelector("#member-title")?.value === "Vet visit"`)
	p.click(`[data-cell="5:2"]`)
	p.press("Alt+ArrowDown")
	p.until(`location.hash === "#/schedules/3"`)
	p.click(`[data-cell="0:9"]`)
	p.press("Ctrl+Shift+f")
	p.sees("Cannot filter by a list or an object")
	p.want(`location.hash`, "#/schedules/3")
}

func recordFlow(p *pageTest) {
	p.open("#/schedules/4")
	p.until(`document.querySelector("#member-title")?.value === "Piano lesson"`)
	p.until(`document.querySelector("#member-driverId").value === "Tomas Marlow"`)
	p.want(`document.querySelector(".edge").ariaValueNow === String(document.querySelector(".panel").offsetWidth)`, "true")
	p.fill("#member-title", "Piano concert")
	p.fill("#member-passenger", "Ivy and Amara")
	p.until(`document.querySelectorAll(".field.differs").length === 2`)
	p.run(`navigator.clipboard.writeText = async text => { window.copied = text }; [...document.querySelectorAll(".panel .copy")].at(-1).click()`)
	p.until(`window.copied?.startsWith("curl -u 'pickup' -X PATCH -H 'Content-Type: application/json-patch+json' -H 'If-Match: \"")`)
	p.press("Ctrl+s")
	p.holds(`"passenger": "Ivy and Amara"`)
	if n := differing(p.sample, string(servertest.Read(p.T, p.file))); n != 2 {
		p.Errorf("%d lines of the file differ", n)
	}
	p.until(cell("4", "title") + `?.textContent === "Piano concert"`)
	p.press("Alt+ArrowDown")
	p.until(`document.querySelector("#member-title")?.value === "Dentist"`)
	p.fill("#member-title", strings.Repeat("Dentist ", 10)) // one element takes all of it
	p.want(`document.querySelector("#member-title").value`, strings.Repeat("Dentist ", 10))
	p.clickText("Add a field")
	p.enter("tags")
	p.run(`window.frame = requestAnimationFrame; window.requestAnimationFrame = () => {}`) // the next key comes before a frame
	p.press("Enter")
	p.run(`window.requestAnimationFrame = frame`)
	p.enter("x")
	p.press("Backspace")
	p.enter(`["a"]`)
	p.press("ArrowLeft")
	p.enter(`, "b"`)
	p.want(`document.activeElement.id + document.activeElement.value`, `member-tags["a", "b"]`)
	p.click("#filter")
	p.enter("id=5")
	p.press("Enter")
	p.until(rows + ` === 1 && document.querySelector("#member-title").value.startsWith("Dentist D")`)
	p.want(`document.querySelector("dialog")`, "null") // nothing would be lost
	p.run(`history.back()`)
	p.until(rows + ` === 7`)
	p.run(`history.back()`) // to another record
	p.sees("Not saved: Schedule 5")
	p.accessible("leave", true)
	p.press("Escape")
	p.until(`!document.querySelector("dialog") && location.hash === "#/schedules/5"`)
	p.want(`dispatchEvent(new Event("beforeunload", {cancelable: true}))`, "false")
	p.clickText("drivers")
	p.clickText("Stay")
	p.until(`!document.querySelector("dialog") && location.hash === "#/schedules/5" && document.querySelector("#member-title").value.startsWith("Dentist D")`)
	p.click(".panel-foot button:nth-last-child(2)") // Discard
	p.want(`dispatchEvent(new Event("beforeunload", {cancelable: true}))`, "true")
	p.run(`document.querySelector(".edge").focus()`)
	p.press("ArrowLeft")
	p.until(`document.querySelector(".panel").offsetWidth === 500`)
	p.edit("Dentist", "Optician") // a record without changes follows
	p.until(`document.querySelector("#member-title")?.value === "Optician"`)
	p.show("#/drivers/2")
	p.until(`[...document.querySelectorAll(".related li a")].some(a => a.textContent === "Piano concert")`)
	p.clickText("Piano concert")
	p.until(`location.hash === "#/schedules/4"`)
	p.show("#/drivers")
	p.show("#/drivers/2")
	p.fill("#member-driverName", "Tom")
	p.run(`history.back()`)
	p.clickText("Stay")
	p.until(`!document.querySelector("dialog") && location.hash === "#/drivers/2"`)
	p.run(`history.back()`)
	p.clickText("Leave without saving")
	p.until(`location.hash === "#/drivers"`)

	// What is not saved is saved on the way out, or the faults are shown where one stays.
	p.show("#/drivers/2")
	p.fill("#member-cellPhone", "603")
	p.run(`history.back()`)
	p.until(`document.activeElement.matches("dialog .primary")`)
	p.press("Enter")
	p.until(`!document.querySelector("dialog") && document.activeElement.matches("#member-cellPhone[aria-invalid]") && location.hash === "#/drivers/2"`)
	p.fill("#member-cellPhone", "(603) 555-0100")
	p.press("Escape")
	p.click("dialog .primary")
	p.holds(`(603) 555-0100`)
	p.until(`location.hash === "#/drivers" && !document.querySelector(".panel")`)
	p.show("#/schedules/99")
	p.sees("99")
	p.until(`document.querySelector(".panel [role=alert]")`)
	p.console() // the browser logs the 404
}

// conflictFlow edits a record in the page and in the file.
func conflictFlow(p *pageTest) {
	p.open("#/schedules/4")
	p.fill("#member-title", "Piano concert")
	p.fill("#member-passenger", "Ivy and Amara")
	text := strings.Replace(string(servertest.Read(p.T, p.file)), "Piano lesson", "Piano recital", 1)
	p.save(strings.Replace(text, "2026-09-17T16:20:00Z", "2026-09-17T16:10:00Z", 1))
	p.until(`document.querySelector(".merge")`)
	p.want(`document.querySelector(".panel-foot").textContent.includes("Merge first")`, "true")
	p.want(`document.querySelector(".merge tbody").textContent.includes("Piano recital")`, "true")
	p.want(`document.querySelector(".merge .primary").disabled`, "true")
	p.click(`.merge tbody td input`) // mine
	p.until(`!document.querySelector(".merge .primary").disabled`)
	p.clickText("Merge")
	p.until(`!document.querySelector(".merge") && document.querySelector(".panel").contains(document.activeElement)`)
	p.press("Ctrl+s")
	p.holds(`"passenger": "Ivy and Amara"`)
	p.holds(`"title": "Piano concert"`)
	p.holds(`"pickupTime": "2026-09-17T16:10:00Z"`)
	p.until(`!document.querySelector(".dirty")`)

	p.fill("#member-title", "Draft")
	p.api("PATCH", "/schedules/4", `{"title": "Theirs"}`, 200)
	p.until(`document.querySelector(".merge")`)
	p.click(".panel-foot button:nth-last-child(2)") // Discard
	p.until(`!document.querySelector(".merge") && document.querySelector("#member-title").value === "Theirs"`)
	p.fill("#member-title", "Draft")
	p.api("DELETE", "/schedules/4", "", 200)
	p.sees("This record has been deleted.")
	p.want(`document.activeElement.id + document.activeElement.value`, "member-titleDraft")
	p.clickText("Create it again")
	p.holds(`"title": "Draft"`)
	p.until(`document.querySelector("#member-title")?.value === "Draft" && !document.querySelector(".dirty")`)
	// The browser logs a 404 if the page asked for the record that it saved just
	// before it was deleted.
	for _, message := range p.console() {
		if !strings.Contains(message, " 404 ") || !strings.HasSuffix(message, "/schedules/4") {
			p.Errorf("the console has %q", message)
		}
	}
}

func jsonFlow(p *pageTest) {
	p.edit(`"title": "Piano lesson"`, `"title": "Piano lesson", "price": 1.10, "big": 12345678901234567890`)
	p.open("#/schedules/4")
	p.clickText("JSON")
	const content = `document.querySelector(".editor")?.shadowRoot?.querySelector(".cm-content")`
	p.until(content + `?.textContent.includes("12345678901234567890")`)
	// The editor has its styles in spite of the policy.
	p.want(`getComputedStyle(document.querySelector(".editor").shadowRoot.querySelector(".cm-scroller")).display`, "flex")
	p.want(`document.querySelectorAll("style").length`, "0")
	p.run(content + `.focus()`)
	p.press("Ctrl+End", "ArrowLeft")
	const texts = `[...document.querySelector(".editor").shadowRoot.querySelectorAll(`
	p.until(texts + `".bracket")].map(e => e.textContent).join("") === "{}"`)
	p.press("Backspace")
	p.enter(",")
	p.press("Enter")
	p.enter(`"tags": [`)
	p.press("Enter")
	p.enter("1")
	p.until(texts + `".cm-line")].map(e => e.textContent).slice(-3).join("|") === '  "tags": [|    1|  }'`)
	p.press("Ctrl+[")
	p.until(texts + `".cm-line")].map(e => e.textContent).slice(-3).join("|") === '  "tags": [|  1|  }'`)
	p.press("Ctrl+z", "Ctrl+z", "Ctrl+z", "Ctrl+z", "Ctrl+z", "Ctrl+z", "Ctrl+z", "Ctrl+z")
	p.until(`!document.querySelector(".dirty")`)
	p.press("Ctrl+End", "ArrowLeft")
	p.enter("x")
	p.until(`document.querySelector(".panel .primary").disabled && document.querySelector(".panel [role=status]")`)
	p.press("Backspace")
	p.until(`!document.querySelector(".panel .error")`)
	p.enter(`, "title": "twice"`)
	p.sees("“title” is there twice.")
	p.click(".panel-foot button:nth-last-child(2)") // Discard
	p.until(`!document.querySelector(".panel .error") && !/}x?}x?$/.test(` + content + `.textContent) && !document.querySelector(".dirty")`)
	p.clickText("Form")
	p.fill("#member-title", "Piano concert")
	p.press("Ctrl+s")
	p.holds(`"title": "Piano concert", "price": 1.10, "big": 12345678901234567890`)
	p.until(`!document.querySelector(".dirty")`)
	p.show("#/drivers/1")
	p.until(`document.querySelector("#member-email")`)
	p.fill("#member-cellPhone", "603")
	p.fill("#member-email", "dana@")
	p.press("Ctrl+s")
	p.until(`document.querySelectorAll(".panel [aria-invalid=true]").length === 2`)
	p.want(`document.activeElement.id`, "member-cellPhone")
	p.clickText("JSON")
	p.until(`[...document.querySelector(".editor")?.shadowRoot?.querySelectorAll(".fault") ?? []].map(e => e.textContent).join("|") === '"603"|"dana@"'`)
	p.clickText("Discard")
	p.until(`!document.querySelector(".dirty")`)
	p.console() // the browser logs the 422
}

func createFlow(p *pageTest) {
	p.open("#/schedules")
	p.until(`document.querySelectorAll(".spacer .row").length === 7`)
	p.press("n")
	p.until(`document.activeElement.closest(".field")`)
	p.want(`document.querySelector("#member-id") === null`, "true") // it is read-only
	for _, field := range [][2]string{{"driverId", "3"}, {"title", "Swimming"}, {"passenger", "Amara"}, {"pickupLocation", "School"},
		{"dropoffLocation", "Town baths"}, {"pickupTime", "2026-09-21T15:00:00Z"}, {"dropoffTime", "tomorrow"}} {
		p.fill("#member-"+field[0], field[1])
	}
	p.run(`const s = document.querySelector("#member-status"); s.value = "Scheduled"; s.dispatchEvent(new Event("change", {bubbles: true}))`)
	p.press("Ctrl+s")
	p.until(`document.querySelector("#member-dropoffTime-wrong")`)
	p.console() // the browser logs the 422
	p.fill("#member-dropoffTime", "2026-09-21T15:20:00Z")
	p.press("Ctrl+s")
	p.until(`/^#\/schedules\/\d+$/.test(location.hash) && document.querySelectorAll(".spacer .row").length === 8`)
	p.holds(`"title": "Swimming"`)
	p.press("Escape")
	p.clickText("Undo")
	p.isSample()
}

// faultsFlow sends a record that breaks rules: each fault names its member once.
func faultsFlow(p *pageTest) {
	p.open("#/_/new/schedules")
	p.fill("#member-pickupTime", "tomorrow")
	p.want(`document.querySelector("label[for=member-title] .need") !== null`, "true") // required in a new record
	p.press("Ctrl+s")
	p.until(`document.querySelectorAll(".panel [aria-invalid=true]").length === 8`)
	p.want(`document.querySelector("#member-driverId-wrong").textContent`, `Required; for example: "2"`)
	p.want(`document.querySelector("#member-title-wrong").textContent.startsWith("Required in a new record")`, "true")
	p.want(`document.querySelectorAll(".panel .wrong li").length`, "0") // those are at their inputs
	p.clickText("JSON")
	p.until(`document.querySelectorAll(".panel .wrong li").length === 8`)
	p.want(`[...document.querySelectorAll(".panel .wrong li")].find(e => e.textContent.startsWith("/driverId")).textContent`,
		`/driverId required; for example: "2"`)
	p.console() // the browser logs the 422
	p.show("#/schedules/4")
	p.clickText("Leave without saving")
	p.until(`document.querySelector("#member-title")`)
	p.want(`document.querySelector("label[for=member-title] .need") === null`, "true")
	p.click(`[data-cell="3:3"]`)
	p.press("Delete") // a passenger is required
	p.until(`document.querySelector(".toast.bad")?.textContent.includes("not a string")`)
	p.until(`document.querySelector(".offscreen[role=alert]").textContent.includes("not a string")`) // said at once
	p.console()
}

func deleteFlow(p *pageTest) {
	p.open("#/drivers/2")
	p.run(`window.realFetch = fetch;
		window.fetch = (url, ...more) => url.includes("driverId=") ? Promise.reject(new TypeError()) : realFetch(url, ...more)`)
	p.click(".delete")
	p.until(`document.querySelector("dialog .error")?.textContent.startsWith("Could not find out what refers to it")`)
	p.want(`document.querySelector("dialog .danger").disabled`, "true")
	p.run(`window.fetch = realFetch`)
	p.clickText("Try again")
	p.until(`document.querySelector("dialog")?.textContent.includes("2 of schedules refer to it by driverId")`)
	p.click("dialog .danger")
	p.until(`document.querySelectorAll(".spacer .row").length === 3 && !document.querySelector(".panel")`)
	p.api("GET", "/drivers/2", "", 404)
	p.clickText("Undo")
	p.isSample() // with its id
	p.open("#/drivers/2")
	p.click(".delete")
	p.clickText("Delete these, too")
	p.click("dialog .danger")
	p.until(`document.querySelectorAll(".spacer .row").length === 3`)
	p.api("GET", "/schedules/4", "", 404)
	p.clickText("Undo")
	p.isSample()
}

// severalFlow selects records, and changes and deletes them in one transaction.
func severalFlow(p *pageTest) {
	p.open("#/schedules")
	p.until(`document.querySelectorAll(".spacer .row").length === 7`)
	p.click(`[data-cell="1:1"]`)
	p.press("Shift+Space", "ArrowDown", "ArrowDown", "Shift+Space")
	p.until(`document.querySelector(".selection")?.textContent.includes("2 records selected")`)
	p.clickText("Set a field")
	p.run(`const s = document.querySelector("#set-member"); s.value = "passenger"; s.dispatchEvent(new Event("change", {bubbles: true}))`)
	p.want(`document.querySelector("dialog .primary").disabled`, "true") // there is no value yet
	p.fill("#set-value", "Everyone")
	p.click("dialog .primary")
	p.until(cell("2", "passenger") + `?.textContent === "Everyone" && ` + cell("4", "passenger") + `?.textContent === "Everyone"`)
	p.clickText("Undo")
	p.isSample()
	p.until(cell("2", "passenger") + `?.textContent === "Jonah, with Biscuit the dog"`)
	set := func(value string) {
		p.clickAt(`[data-cell="1:0"]`, 12)
		p.clickText("Set a field")
		p.run(`const s = document.querySelector("#set-member"); s.value = "passenger"; s.dispatchEvent(new Event("change", {bubbles: true}))`)
		p.fill("#set-value", value)
		p.click("dialog .primary")
		p.until(`!document.querySelector("dialog")`)
	}
	set("Nobody")
	p.holds(`"Nobody"`)
	p.api("PATCH", "/drivers/2", `{"driverName": "Somebody else"}`, 200)
	set("Nobody") // changes nothing, so there is only the first change to undo
	p.until(`document.querySelector(".toast:not(:has(button + button))")`)
	p.press("Ctrl+z")
	p.until(cell("2", "passenger") + `?.textContent === "Jonah, with Biscuit the dog"`)
	p.holds("Somebody else")
	p.api("POST", "/_/undo", "", 200)
	p.isSample()
	p.clickAt(`[data-cell="-1:0"]`, 12) // all, and none
	p.until(`document.querySelector(".selection")?.textContent.includes("7 records selected")`)
	p.clickAt(`[data-cell="-1:0"]`, 12)
	p.until(`!document.querySelector(".selection")`)
	p.click(`[data-cell="0:1"]`)
	p.press("ArrowUp", "Shift+Space")
	p.until(`document.querySelector(".selection")?.textContent.includes("7 records selected")`)
	p.click("[aria-label='Clear the selection']")
	p.clickAt(`[data-cell="1:0"]`, 12)
	p.run(`const {x, y} = document.querySelector('[data-cell="4:0"]').getBoundingClientRect();
		document.querySelector('[data-cell="4:0"]').dispatchEvent(new MouseEvent("click", {bubbles: true, shiftKey: true, clientX: x + 12, clientY: y + 9}))`)
	p.until(`document.querySelector(".selection")?.textContent.includes("4 records selected")`)
	p.want(`String(getSelection()) + document.querySelector('[data-cell="4:2"]').dispatchEvent(
		new MouseEvent("mousedown", {bubbles: true, cancelable: true, shiftKey: true}))`, "false") // nor does the browser select text
	p.click("[aria-label='Clear the selection']")
	p.until(`!document.querySelector(".selection")`)
	p.clickAt(`[data-cell="1:0"]`, 12)
	p.holdNext("request", `/_/transaction$`)
	p.click(".selection button:nth-last-child(2)")
	p.until(`window.held`)
	p.api("DELETE", "/schedules/2", "", 200)
	p.run(`release()`)
	p.until(`document.querySelector(".toast.bad")?.textContent.includes("Nothing was deleted")`)
	p.console() // the browser logs the 404
	p.until(rows + ` === 6`)
	p.save(p.sample)
	p.until(rows + ` === 7`)
	p.click("[aria-label='Clear the selection']")
	p.until(`!document.querySelector(".selection")`)
	for _, row := range []string{"1", "2"} { // the box is at the left edge
		p.clickAt(`[data-cell="`+row+`:0"]`, 12)
	}
	p.until(`document.querySelector(".selection")?.textContent.includes("2 records selected")`)
	p.click(".selection button:nth-last-child(2)")
	p.until(`document.querySelectorAll(".spacer .row").length === 5 && document.activeElement.closest(".grid")`)
	p.api("GET", "/schedules/3", "", 404)
	p.clickText("Undo")
	p.isSample()
}

func columnsFlow(p *pageTest) {
	p.open("#/schedules")
	p.until(`document.querySelectorAll(".spacer .row").length === 7`)
	const columns = `[...document.querySelectorAll(".head .name")].map(e => e.textContent).join()`
	p.click("[aria-label=Columns]")
	p.clickText("driverId")
	p.until(columns + `.startsWith("id,title")`)
	p.click("[aria-label='Move down']")
	p.click("[aria-label='Move down']")
	p.clickText("Done")
	p.open("#/schedules")
	p.until(columns + `.startsWith("id,title,passenger") && !` + columns + `.includes("driverId")`)
	p.click("[aria-label=Columns]")
	p.clickText("Reset")
	p.until(columns + `.startsWith("id,driverId,title")`)
	p.clickText("Done")

	width := func(want int) {
		p.Helper()
		p.until(fmt.Sprintf(`document.querySelector("[data-cell='0:1']")?.offsetWidth === %d`, want))
	}
	width(158)
	p.drag("[data-cell='-1:1'] .grip", 44)
	width(202)
	p.open("#/schedules")
	width(202)
	p.click("[data-cell='0:1']")
	p.press("ArrowUp", "Shift+ArrowLeft")
	width(182)
	p.want(`location.hash`, "#/schedules") // and nothing was sorted
	p.run(`document.querySelector("[data-cell='-1:1'] .grip").dispatchEvent(new MouseEvent("dblclick", {bubbles: true}))`)
	width(158)

	// Columns share the room, and stay where they are when a filter changes. A shadow
	// says that there are more.
	p.do(chromedp.EmulateViewport(1440, 900))
	const edges = `[...document.querySelectorAll(".head .cell")].map(e => Math.round(e.getBoundingClientRect().x)).join()`
	p.until(`document.querySelector(".head .cell:last-child").getBoundingClientRect().right <= innerWidth`) // all nine are visible
	p.want(`document.querySelector(".gridbox").matches("[data-more], [data-less]")`, "false")
	before := p.eval(edges)
	for _, query := range []string{"?status=Canceled", "?passenger=Ivy&title=Dentist", "?title=none"} {
		p.show("#/schedules" + query)
		p.want(edges, before)
	}
	p.show("#/schedules/4") // the panel takes room
	p.until(`document.querySelector(".gridbox[data-more]:not([data-less])")`)
	p.run(`document.querySelector(".grid").scrollLeft = 40`)
	p.until(`document.querySelector(".gridbox[data-more][data-less]")`)
	p.run(`document.querySelector(".grid").scrollLeft = 1e6`)
	p.until(`document.querySelector(".gridbox[data-less]:not([data-more])")`)
	p.until(`document.querySelector(".panel #member-status")`)
	p.want(`(e => e.scrollHeight - e.clientHeight)(document.querySelector(".panel-body"))`, "0") // nine fields fit
	p.do(chromedp.EmulateViewport(1024, 700))                                                    // and the filter and New are beside each other
	p.until(`(([a, b]) => a.top === b.top && a.right < b.left && b.bottom < 110)(
		[...document.querySelectorAll(".query, .tools .primary")].map(e => e.getBoundingClientRect()))`)
	p.do(desktop)

	// Texts are whole where there is room, and choices come early among many columns.
	p.leave()
	p.save(`{"notes": [{"id": 1, "text": "` + strings.Repeat("some words ", 5) + `", "n": 1}],
		"wide": [{"id": 1, "a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1, "h": 1, "i": 1, "driverName": "Dana"}]}`)
	p.open("#/notes")
	p.until(`(e => e.scrollWidth <= e.clientWidth)(document.querySelector("[data-cell='0:1']"))`)
	p.want(`document.querySelector("[data-cell='0:2']").getBoundingClientRect().right < 1000`, "true")
	p.show("#/wide")
	p.until(columns + `.startsWith("id,driverName,a,b")`)
}

func brokenFlow(p *pageTest) {
	p.api("PATCH", "/schedules/5", `{"title": "Optometrist"}`, 200)
	p.open("#/schedules")
	p.until(`document.querySelector(".foot .live")?.textContent === "Live"`)
	p.save(strings.Replace(p.sample, `"drivers": [`, `"drivers": [,`, 1))
	p.until(`document.querySelector(".banner.bad")?.textContent.includes("db.json:")`)
	p.want(`document.querySelector(".banner.bad").textContent.split("does not parse").length`, "2") // it says so once
	p.click("main .primary[aria-disabled=true]")                                                    // nothing can be made
	p.until(`location.hash === "#/schedules" && document.querySelector(".toast.bad")?.textContent.includes("does not parse")`)
	p.click(".toast [aria-label=Dismiss]")
	p.until(`!document.querySelector(".toast")`)
	p.press("Ctrl+k")
	p.until(`document.activeElement.matches(".palette input")`)
	p.enter("new record in schedules")
	p.until(`document.querySelector("#found [aria-disabled=true][aria-selected=true]")?.textContent.includes("does not parse")`)
	p.onPhone() // where the reason has a line of its own
	p.want(`document.querySelector("#found [aria-selected=true] .clip").offsetWidth > 150`, "true")
	p.do(desktop)
	p.press("Enter")
	p.until(`location.hash === "#/schedules" && document.querySelector(".toast.bad")?.textContent.includes("does not parse")`)
	p.show("#/_/changes")
	p.until(`document.querySelector(".changes li button[aria-disabled=true]")?.textContent === "Undo"`)
	p.show("#/schedules/4")
	p.fill("#member-title", "Typed")
	p.until(`document.querySelector(".panel-foot")?.textContent.includes("does not parse")`)
	p.press("Ctrl+s")
	p.save(p.sample)
	p.until(`!document.querySelector(".banner.bad") && document.querySelector("main .primary:not([aria-disabled])")`)
	p.want(`document.querySelector("#member-title").value`, "Typed")
	p.press("Ctrl+s")
	p.holds(`"title": "Typed"`)
	p.until(`!document.querySelector(".dirty")`)

	// Nor is what was typed lost while the file does not have the collection.
	p.fill("#member-title", "Typed again")
	p.edit(`"schedules"`, `"schedule"`)
	p.until(`document.querySelector(".nav [href='#/schedule']") && document.querySelector("main .wrong")`)
	p.want(`document.querySelector("#member-title").value`, "Typed again")
	p.edit(`"schedule"`, `"schedules"`)
	p.until(`document.querySelector(".nav [href='#/schedules']") && !document.querySelector("main .wrong, .panel .wrong")`)
	p.console() // the browser logs the 404
	p.want(`document.querySelector("#member-title").value`, "Typed again")
	p.press("Ctrl+s")
	p.holds(`"title": "Typed again"`)
	p.until(`!document.querySelector(".dirty")`)
}

func changesFlow(p *pageTest) {
	p.open("#/_/changes")
	p.api("PATCH", "/schedules/5", `{"title": "Optician"}`, 200)
	p.until(`document.querySelector(".changes li:first-child")?.textContent.includes("Optician")`)
	p.want(`document.querySelector(".changes li:first-child del").textContent`, "Dentist")
	p.click(".changes li:first-child button")
	p.until(`document.querySelector(".changes li:first-child")?.textContent.includes("undo of")`)
	p.isSample()
	p.fill(".snapshots input", "before")
	p.clickText("Take a snapshot")
	p.until(`document.querySelector(".snapshots .feed")?.textContent.includes("as it is now")`)
	p.fill(".snapshots input", "before") // which is there
	p.clickText("Take a snapshot")
	p.until(`document.querySelector(".toast.bad")?.textContent.includes("exists")`)
	p.console() // the browser logs the 412
	p.api("DELETE", "/schedules/5", "", 200)
	p.until(`document.querySelector(".snapshots .feed")?.textContent.includes("1 record differs")`)
	p.api("PATCH", "/drivers/2", `{"driverName": "Tom Marlow"}`, 200)
	p.until(`document.querySelector(".snapshots .feed")?.textContent.includes("2 records differ")`)
	const list = `[...document.querySelectorAll(".changes > li header a, .changes > li header b")].map(e => e.textContent).join()`
	p.run(`const s = document.querySelector("main select"); s.value = "schedules"; s.dispatchEvent(new Event("change", {bubbles: true}))`)
	p.until(`location.hash === "#/_/changes?of=schedules" && ` + list + `.startsWith("schedules 5,")`)
	p.fill("#filter", "nobody")
	p.api("PATCH", "/schedules/6", `{"title": "Dentist again"}`, 200) // while it is typed
	p.until(`document.querySelector(".changes li:first-child")?.textContent.includes("Dentist again")`)
	p.want(`document.querySelector("#filter").value`, "nobody")
	p.press("Enter")
	p.sees("No matches")
	p.show("#/_/changes?of=drivers%2F2")
	p.until(list + `.startsWith("drivers 2")`) // the latest is of schedules
	p.show("#/_/changes")
	p.clickText("Go back")
	p.click("dialog .primary")
	p.isSample()
	p.until(`!document.querySelector("dialog")`)
	p.click("[aria-label='Delete before']")
	p.until(`document.querySelector("dialog")?.textContent.includes("This cannot be undone")`)
	p.click("dialog .danger")
	p.until(`!document.querySelector(".snapshots .feed")`)
	p.until(`document.activeElement.id === "title"`) // the button that had the focus is gone
}

// problemsFlow breaks records by hand, and mends them with what the server suggests.
func problemsFlow(p *pageTest) {
	p.open("#/_/problems")
	p.sees("No problems")
	p.save(strings.ReplaceAll(p.sample, `"Rescheduled"`, `"Resheduled"`))
	p.until(`document.querySelector(".findings li")?.textContent.includes("db.json:")`)
	p.until(`document.querySelector(".nav [href='#/_/problems'] .n")?.textContent === "1"`)
	p.holdNext("request", "PATCH")
	p.clickText("Set it to “Rescheduled”")
	p.until(`window.held`)
	p.api("PATCH", "/schedules/4", `{"status": "Canceled"}`, 200)
	p.run(`release()`)
	p.until(`document.querySelector(".toast.bad")?.textContent.includes("Could not change it") && !document.querySelector(".findings li")`)
	p.console() // the browser logs the 412
	p.edit(`"Canceled"`, `"Resheduled"`)
	p.clickText("Dismiss") // it has undone the PATCH, too
	p.clickText("Set it to “Rescheduled”")
	p.isSample()
	p.sees("No problems")
	p.save(strings.ReplaceAll(strings.ReplaceAll(p.sample, `"Scheduled"`, `"Sheduled"`), `"Canceled"`, `"Cancelled"`))
	p.clickText("Set all 4 to “Scheduled”") // and not the other fault
	p.sees("4 records changed")
	p.holds(`"Cancelled"`)
	p.want(`document.querySelectorAll(".findings li").length`, "1")
	p.press("Ctrl+z")
	p.holds(`"Sheduled"`)
	p.show("#/drivers") // where any value that breaks a rule is marked
	p.edit("(603) 555-0117", "603")
	p.until(`document.querySelectorAll(".spacer [aria-invalid]").length === 1`)
	p.want(`document.querySelector(".spacer [aria-invalid]").title.includes("telephone number")`, "true")
	p.show("#/_/problems")
	p.save(p.sample[:len(p.sample)-3])
	p.until(`document.querySelector("main [role=alert]")?.textContent.includes("db.json:")`)
	p.save(strings.Replace(p.sample, `"drivers": [`, `"drivers": [,`, 1))
	p.until(`document.querySelector("main [role=alert] pre")?.textContent.endsWith('"drivers": [,\n' + " ".repeat(19) + "^")`)
	p.want(`document.querySelector("main [role=alert] mark").textContent`, ",")
	p.want(`document.querySelector("main .count").textContent.split(" ")[0] === document.querySelector(".nav [href='#/_/problems'] .n").textContent`, "true")
	p.save(p.sample)
	p.clickText("Dismiss")
	p.until(`!document.querySelector("main [role=alert]") && !document.querySelector(".nav [href='#/_/problems'] .n")`)
}

// editsFlow saves an older version of the file over what clients have written, and puts
// that back.
func editsFlow(p *pageTest) {
	older := strings.Replace(p.sample, "Piano lesson", "Organ lesson", 1)
	p.open("#/_/problems")
	p.sees("No problems")
	p.api("PATCH", "/schedules/5", `{"title": "Optician"}`, 200)
	p.api("POST", "/drivers", `{"driverName": "Zed", "cellPhone": "(603) 555-0142", "email": "zed@example.com"}`, 201)
	p.save(older)
	p.sees("an edit of the file undid what clients had written to drivers/5, schedules/5")
	p.until(`document.querySelector(".nav [href='#/_/problems'] .n")?.textContent === "1"`)
	p.clickText("Put back")
	p.holds("Optician")
	p.holds("Zed")
	p.holds("Organ lesson")
	p.sees("No problems")
	p.until(`document.querySelector(".toast")?.textContent.includes("Put back")`)

	p.save(older)
	p.show("#/_/changes")
	p.until(`document.querySelector(".changes li:first-child")?.textContent.includes("undid what clients had written to drivers/5, schedules/5")`)
	p.clickText("Put back")
	p.until(`document.querySelectorAll(".changes li")[1]?.textContent.includes("put back") && !document.querySelector(".nav [href='#/_/problems'] .n")`)
	p.holds("Optician")
	p.click(".toast:last-child button.quiet") // Undo, which the list has, too
	p.until(`document.querySelector(".changes li:first-child")?.textContent.includes("undo of")`)

	p.api("PATCH", "/schedules/5", `{"title": "Optician"}`, 200)
	p.save(older)
	p.show("#/_/problems")
	p.clickText("Dismiss")
	p.sees("No problems")
	p.until(`document.querySelector("h1") && !document.querySelector(".nav [href='#/_/problems'] .n")`)
	if got := string(servertest.Read(p.T, p.file)); got != older {
		p.Errorf("the file is\n%s", got)
	}
}

// relationsFlow shows which collections refer to which.
func relationsFlow(p *pageTest) {
	p.open("#/_/relations")
	p.until(`document.querySelectorAll("svg .edge").length === 1`)
	p.run(`navigator.clipboard.writeText = async text => { window.copied = text }`)
	p.click("[aria-label='Copy /schedules?_expand=driver']")
	p.until(`window.copied === location.origin + "/schedules?_expand=driver"`)
	p.click("[aria-label='Copy /drivers?_embed=schedules']")
	p.until(`window.copied === location.origin + "/drivers?_embed=schedules"`)
	var many strings.Builder
	for i := range 30 {
		fmt.Fprintf(&many, `"c%d": [], `, i)
	}
	p.save(strings.Replace(p.sample, "{", "{"+many.String(), 1))
	p.until(`document.querySelector("main #filter") && !document.querySelector("main svg .edge")`)
	p.fill("#filter", "nothing")
	p.sees("No matches")
	p.fill("#filter", "DRIVERID")
	p.until(`document.querySelectorAll(".reflist li").length === 1`)
}

// requestsFlow sends requests as a front end does.
func requestsFlow(p *pageTest) {
	p.open("#/_/requests")
	p.api("DELETE", "/_/requests", "", 204)
	p.until(`document.querySelector(".empty")`)
	p.api("GET", "/schedules?status=Canceled", "", 200)
	p.api("PATCH", "/schedules/5", `{"status": "Scheduld"}`, 422)
	p.until(`document.querySelectorAll("table.log tbody tr").length === 2`) // not those of the page
	p.want(`document.querySelector("table.log tbody tr").textContent.includes("/schedules/5")`, "true")
	p.click("table.log tbody tr:first-child td:nth-child(2)") // wherever it is clicked
	p.until(`document.querySelector(".panel pre")?.textContent.includes("Scheduld")`)
	p.want(`document.querySelector(".panel .wrong").textContent.includes("did you mean")`, "true")
	p.press("Escape")
	p.until(`!document.querySelector(".panel")`)
	p.clickText("failed")
	p.until(`document.querySelectorAll("table.log tbody tr").length === 1`)
	p.clickText("all")
	p.clickText("/schedules?status=Canceled")
	p.clickText("Open as a table")
	p.until(`location.hash === "#/schedules?status=Canceled" && document.querySelectorAll(".spacer .row").length === 1`)
}

// logFlow holds the list of requests, and sends some of them again.
func logFlow(p *pageTest) {
	p.api("DELETE", "/_/requests", "", 204)
	p.open("#/_/requests")
	p.until(`document.querySelector(".empty .code")?.textContent === location.origin`)
	p.api("GET", "/schedules/1", "", 200)
	const lines = `document.querySelectorAll("table.log tbody tr").length`
	p.until(lines + ` === 1`)
	p.press("Ctrl+k")
	p.until(`document.activeElement.matches(".palette input")`)
	p.enter("pause the")
	p.press("Enter")
	p.until(`document.querySelector("main .tools").textContent.includes("Resume")`)
	p.api("GET", "/schedules/2", "", 200)
	p.api("PATCH", "/schedules/5", `{"title": "Optician"}`, 200)
	p.until(`document.querySelector("main .tools .n")?.textContent === "2 new"`)
	p.want(lines, "1")
	p.clickText("writes")
	p.until(`document.querySelector("main .tools .n")?.textContent === "1 new"`)
	p.sees("No matches")
	p.clickText("all")
	p.clickText("Resume")
	p.until(lines + ` === 3`)
	p.run(`const send = fetch; // the stream begins with a request that the page knows
		window.fetch = (url, options) => send(url.replace(/_requests=\d+/, text => "_requests=" + (text.slice(10) - 1)), options);
		dispatchEvent(new Event("pagehide")); dispatchEvent(new Event("online"));
		window.fetch = send`)
	p.api("GET", "/schedules/3", "", 200)
	p.until(`document.querySelector("table.log tbody tr").textContent.includes("/schedules/3")`)
	p.want(lines, "4")

	p.api("PATCH", "/schedules/5", `{"title": "Dentist"}`, 200)
	p.until(lines + ` === 5`)
	p.clickText("/schedules/5")
	p.clickText("Send again")
	p.until(`document.querySelectorAll(".answers .s2").length === 2`)
	p.isSample()
	p.press("Escape")
	p.until(`!document.querySelector(".panel")`)
	p.clickText("/schedules/5")
	p.clickText("Open the record")
	p.until(`location.hash === "#/schedules/5" && document.querySelector("#member-title")`)
	p.api("PATCH", "/schedules/5", `{"accessToken": "s3cr3t"}`, 200)
	p.api("PATCH", "/_/s/alice/schedules/5", `{"title": "In a session"}`, 200)
	p.show("#/_/requests")
	p.clickText("/_/s/alice/schedules/5")
	p.until(`document.querySelector(".panel pre")?.textContent.includes("In a session")`)
	p.want(`[...document.querySelectorAll(".panel a")].some(e => e.textContent.startsWith("Open the record"))`, "false") // not this one
	p.clickText("Send again")
	p.until(`document.querySelectorAll(".answers .s2").length === 2`)
	p.press("Escape")
	p.until(`document.activeElement.textContent === "/_/s/alice/schedules/5"`)
	p.clickText("/schedules/5")
	p.sees("possible secrets in it were removed")
	p.want(`[...document.querySelectorAll(".panel button")].some(e => e.textContent.startsWith("Send again"))`, "false")
	if strings.Contains(string(servertest.Read(p.T, p.file)), "In a session") {
		p.Error("what was sent to a session is in the file")
	}
	p.api("DELETE", "/_/sessions/alice", "", 204)
	p.api("DELETE", "/_/requests", "", 204)
	p.sees("No requests yet")
}

// hostileFlow shows data that wants to be more than data.
func hostileFlow(p *pageTest) {
	long := strings.Repeat("<b>long</b> ", 400_000) // 5 MB
	var wide strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&wide, `, "member %d": %d`, i, i)
	}
	deep := strings.Repeat(`{"a":[`, 150) + strings.Repeat(`]}`, 150) // 300 levels
	p.save(`{
  "evil": [
    {"id": "<img src=x onerror=alert(1)>", "name": "<script>alert(1)</script>", "link": "javascript:alert(1)", "__proto__": {"polluted": true},
      "constructor": "c", "toString": 1, "a/b": "slash", "a~b": "tilde", "_": "underscore", "\u202erlo": "\u202egnp.exe", "emoji": "👩‍👩‍👧"},
    {"id": "../../secret", "name": "..", "__proto__": null},
    {"id": "long", "name": "` + long + `"},
    {"id": "wide"` + wide.String() + `},
    {"id": "deep", "name": ` + deep + `},
    {"name": "no id"},
    {"id": ".."}
  ],
  "<b>bold</b>": [],
  "constructor": {"hasOwnProperty": "x"}
}`)
	p.run(`window.alert = () => { window.pwned = true }`)
	p.open("#/")
	p.sees("<b>bold</b>")
	p.show("#/evil")
	p.until(`document.querySelectorAll(".spacer .row").length === 7`)
	p.until(`document.querySelector(".head").textContent.includes("__proto__") &&
		document.querySelector(".grid").textContent.includes("<script>alert(1)</script>") &&
		document.querySelector(".grid").textContent.includes("no id")`)
	p.run(`document.querySelector(".grid").scrollLeft = 1e6; await new Promise(done => setTimeout(done, 100))`)
	for _, id := range []string{"<img src=x onerror=alert(1)>", "../../secret", "long", "wide", "deep"} {
		p.show("#/evil/" + strings.ReplaceAll(netURL.PathEscape(id), "/", "%2F"))
		p.until(`document.querySelector(".panel .fixed")?.textContent.includes(` + quoted(id) + `)`)
	}
	p.run(`location.hash = "#/evil/.."`)
	p.sees("A browser cannot send a request for /evil/..")
	p.api("PATCH", "/evil/deep", `{"name": "<img src=x onerror=alert(1)>", "<b>": "\u202egnp.exe"}`, 200)
	p.api("GET", "/<img src=x onerror=alert(1)>?<b>=javascript:alert(1)", "", 404)
	for _, hash := range []string{"#/_/requests", "#/_/changes", "#/_/problems", "#/_/relations", "#/_/sessions", "#/%3Cb%3Ebold%3C%2Fb%3E", "#/<script>"} {
		p.show(hash)
	}
	p.until(`document.querySelector("main [role=alert]")`)
	p.console() // the browser logs the 404
	p.press("Ctrl+k")
	p.until(`document.activeElement.matches(".palette input")`)
	p.enter("<img")
	p.until(`document.querySelector("#found").textContent.includes("<img src=x onerror=alert(1)>")`)
	p.press("Escape")
	p.show("#/constructor")
	p.until(`document.querySelector("#member-hasOwnProperty")?.value === "x"`)
	p.want(`window.pwned || ({}).polluted || document.querySelectorAll("img[src=x], script:not([src]), main b b, a[href^='javascript']").length`, "0")
	p.show("#/evil/..%2F..%2Fsecret")
	p.fill("#member-name", "written")
	p.press("Ctrl+s")
	p.holds(`{"id": "../../secret", "name": "written", "__proto__": null}`)
	p.until(`!document.querySelector(".dirty")`)
	p.show("#/")
}

// docsFlow goes from the page to the description of the API, and back.
func docsFlow(p *pageTest) {
	p.open("#/schedules")
	p.until(`document.querySelectorAll(".spacer .row").length === 7`)
	ground := p.eval(`getComputedStyle(document.body).backgroundColor`)
	p.click(`a[href="/_/docs"]`)
	p.until(`document.querySelector('[data-path="/schedules/{id}"]')`)
	p.want(`getComputedStyle(document.body).backgroundColor`, ground)
	p.until(`document.querySelector("#operations-schedules-listSchedules, .opblock").getBoundingClientRect().y < 300`) // it begins with them
	const listed = `[...document.querySelectorAll(".opblock-summary")].map(e => e.innerText.split("\n").slice(0, 2).join(" ").replaceAll("\u200b", "")).join()`
	p.want(listed, "GET /schedules,POST /schedules,GET /schedules/{id},PUT /schedules/{id},PATCH /schedules/{id},DELETE /schedules/{id},GET /drivers/{id}/schedules,"+
		"GET /drivers,POST /drivers,GET /drivers/{id},PUT /drivers/{id},PATCH /drivers/{id},DELETE /drivers/{id},GET /db,GET /_/changes")
	p.want(`document.querySelector("#small-print li").innerText.startsWith("A list is an array")`, "true")
	p.click(`[data-path="/schedules/{id}"]`)
	p.until(`document.querySelector(".opblock.is-open .parameters")`)
	p.accessible("docs", true)
	const parameters = `[...document.querySelectorAll(".opblock.is-open .parameter__name")].map(e => e.firstChild.textContent)`
	p.want(parameters+`.includes("If-None-Match")`, "true")
	p.want(parameters+`.filter(name => name.trim() === "").length`, "0")
	p.click("#all")
	p.until(`document.querySelector('[data-path="/_/sessions/{id}/commit"]') && document.querySelectorAll(".opblock").length > 40`)
	p.click(".home")
	p.until(`location.pathname === "/_/" && document.querySelector("h1")?.textContent === "db.json"`)
}

func paletteFlow(p *pageTest) {
	p.open("#/")
	p.press("Ctrl+k")
	p.until(`document.activeElement.matches(".palette input")`)
	p.holdNext("answer", `[?]q=den&`)
	p.enter("den")
	p.until(`window.held`)
	p.enter("tist")
	p.until(`[...document.querySelectorAll("#found li")].some(e => e.textContent.includes("schedules 5"))`)
	p.want(`held.signal.aborted`, "true")
	p.press("Enter")
	p.until(`location.hash === "#/schedules/5"`)
	p.open("#/")
	p.press("?")
	p.until(`document.querySelector("dialog[open]")?.textContent.includes("find anything")`)
	p.press("Escape")
	p.until(`!document.querySelector("dialog")`)
}

// smallTargets is an expression for what a finger does not hit: what is not 18 pixels
// long on each side of a place in it, apart from links in a line of text.
const smallTargets = `[...document.querySelectorAll("a, button, input, select, textarea, [role=tab]")]
	.map(e => e.matches("[type=checkbox], [type=radio]") ? e.closest("label") ?? e : e)
	.filter(e => e.checkVisibility({visibilityProperty: true, opacityProperty: true}) && !e.closest(".offscreen, .skip, p:not(.links)"))
	.filter(e => {
		e.scrollIntoView({block: "center"});
		const {x, y, width, height} = e.getBoundingClientRect();
		const isHit = (dx, dy) => {
			const hit = document.elementFromPoint(x + Math.min(width, 99) / 2 + dx, y + height / 2 + dy);
			return e.contains(hit) || hit?.closest(".toasts");
		};
		return width > 0 && !(isHit(-18.4, 0) && isHit(18.4, 0) && isHit(0, -18.4) && isHit(0, 18.4));
	})
	.map(e => Math.round(e.offsetWidth) + " x " + Math.round(e.offsetHeight) + " " + e.outerHTML.slice(0, 90)).join("\n")`

// phoneFlow does with fingers what the other flows do with keys.
func phoneFlow(p *pageTest) {
	p.onPhone()
	fits := func() {
		p.Helper()
		p.want(`document.documentElement.scrollWidth <= innerWidth && document.documentElement.scrollHeight <= innerHeight`, "true")
		p.until(`!document.querySelector(".skeleton")`)
		if list := p.eval(smallTargets); list != "" {
			p.Errorf("too small for a finger: %s", list)
		}
	}
	p.open("#/schedules")
	p.until(`document.querySelectorAll(".card-row").length === 7`)
	fits()
	p.run(`const s = document.querySelector(".sort select"); s.value = "-title"; s.dispatchEvent(new Event("change", {bubbles: true}))`)
	p.until(`location.hash === "#/schedules?_sort=-title" && document.querySelector(".card-row b")?.textContent === "Vet visit"`)
	p.run(`history.back()`)
	p.until(`document.querySelector(".card-row b")?.textContent === "School run"`)
	p.click(`[data-cell="3:0"]`)
	p.until(`location.hash === "#/schedules/4" && document.querySelector("#member-title")`)
	fits()
	p.fill("#member-title", "Piano concert")
	p.click(".panel-foot .primary")
	p.holds(`"title": "Piano concert"`)
	p.clickText("Undo")
	p.isSample()
	p.until(`document.querySelector("#member-title")?.value === "Piano lesson"`)
	p.clickText("JSON")
	p.until(`document.querySelector(".editor")?.shadowRoot?.querySelector(".cm-content")`)
	fits()
	p.click(".panel .delete")
	p.until(`document.querySelector("dialog[open]").getBoundingClientRect().right <= innerWidth`)
	p.press("Escape")
	p.until(`!document.querySelector("dialog")`)
	p.click("[aria-label='Close (Esc)']")
	p.until(`location.hash === "#/schedules"`)
	p.click("#filter")
	p.enter("status=Canceled")
	p.press("Enter")
	p.until(`location.hash === "#/schedules?status=Canceled" && document.querySelectorAll(".card-row").length === 1`)
	fits()
	p.click("[aria-label=Contents].button")
	p.until(`document.querySelector(".nav.shown")?.contains(document.activeElement) && document.querySelector(".content").inert`)
	p.press("Escape")
	p.until(`!document.querySelector(".nav.shown") && document.activeElement.ariaLabel === "Contents"`)
	p.press("Enter")
	p.until(`document.querySelector(".nav.shown")`)
	p.clickText("drivers")
	p.until(`location.hash === "#/drivers" && !document.querySelector(".nav.shown") && document.activeElement.id === "title"`)
	p.api("PATCH", "/schedules/5", `{"status": "Scheduld"}`, 422)
	p.api("PUT", "/_/snapshots/before-the-demo-of-monday", "", 201)
	for _, hash := range []string{"#/", "#/_/requests", "#/_/simulate", "#/_/changes", "#/_/problems", "#/_/relations", "#/_/sessions", "#/_/new/schedules"} {
		p.show(hash)
		fits()
		if hash == "#/_/requests" {
			p.until(`document.querySelector(".log .right")`)
			p.want(`parseFloat(getComputedStyle(document.querySelector(".log .right")).paddingRight) > 0`, "true")
		}
		if hash == "#/_/changes" {
			p.until(`document.querySelector(".snapshots .feed .clip")`)
			p.want(`(e => e.scrollWidth <= e.clientWidth)(document.querySelector(".snapshots .feed .clip"))`, "true")
		}
	}
	p.show("#/")
	p.run(`document.querySelector(".top h1").style.width = "100%"`) // the version is on a second line
	p.want(`document.querySelector(".top").scrollHeight <= document.querySelector(".top").clientHeight`, "true")
	p.do(desktop)
}

// differing returns how many lines of two texts differ.
func differing(a, b string) int {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	if len(x) != len(y) {
		return max(len(x), len(y))
	}
	n := 0
	for i := range x {
		if x[i] != y[i] {
			n++
		}
	}
	return n
}
