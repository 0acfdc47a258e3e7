package page

import (
	"strings"
	"time"

	"pickup/internal/tools/servertest"
)

// simulateFlow sets rules for slow and failing answers, and turns them off and on again.
func simulateFlow(p *pageTest) {
	p.open("#/_/requests")
	p.clickText("Simulate")
	p.clickText("Slow answers")
	p.until(`document.querySelectorAll(".rule").length === 1 && document.querySelector(".rule .hits").textContent === "applied 0 times"`)
	field := func(row, n int, value string) {
		p.Helper()
		p.run(`const e = document.querySelectorAll(".rule")[` + string(rune('0'+row)) + `].querySelectorAll("label > :is(input, select)")[` + string(rune('0'+n)) + `];
			e.focus(); e.value = ` + quoted(value) + `;
			e.dispatchEvent(new Event("input", {bubbles: true})); e.dispatchEvent(new Event("change", {bubbles: true}))`)
	}
	rules := func(want string) {
		p.Helper()
		got := ""
		if !servertest.Eventually(func() bool { got = p.api("GET", "/_/simulate", "", 200); return strings.Contains(got, want) }) {
			p.Fatalf("the rules are %s, want %s", got, want)
		}
	}
	const path, delay, answer, share = 2, 3, 4, 5
	rules(`"path":"/**","delay":600`)
	p.want(`[...document.querySelectorAll("#paths option")].map(e => e.value).join()`,
		"/**,/schedules,/schedules/*,/schedules/**,/drivers,/drivers/*,/drivers/**")
	p.clickText("Held requests")
	p.until(`document.querySelectorAll(".rule .hits")[1]?.textContent === "never: a rule above applies to all"`)
	p.click(".rule:nth-of-type(2) [aria-label='Remove the rule']")
	p.until(`!document.querySelector(".rule + .rule")`)
	field(0, delay, "300")
	rules(`"delay":300`)
	field(0, path, "/schedules")
	rules(`"path":"/schedules","delay":300`)
	p.clickText("Failing writes")
	p.until(`document.querySelectorAll(".rule .hits")[1]?.textContent === "applied 0 times"`)
	p.want(`document.querySelector("main .tools .pill").textContent`, "2")
	field(0, answer, "503")
	rules(`"path":"/schedules","delay":300,"code":503},{"id"`)
	start := time.Now()
	p.api("GET", "/schedules", "", 503)
	if took := time.Since(start); took < 300*time.Millisecond {
		p.Errorf("the answer took %v", took)
	}
	p.api("PATCH", "/drivers/1", `{}`, 503)
	p.until(`document.querySelector("table.log tbody tr .pill")?.textContent.includes("503")`)
	field(0, share, "0")
	p.until(`document.querySelector(".toast.bad")?.textContent.includes("Could not change it")`)
	p.console()                                         // the browser logs the 422
	rules(`"path":"/schedules","delay":300,"code":503`) // it is as it was
	p.show("#/schedules")                               // the page is not affected
	p.until(rows + ` === 7 && document.querySelector(".banner.simulated")?.textContent.includes("all requests to /schedules wait 300 ms and get 503")`)

	// A rule that is off stays in the list, also when the page is loaded again.
	p.open("#/_/requests")
	p.until(`document.querySelectorAll(".rule").length === 2`) // shown, because there are some
	p.click(".rule [role=switch]")
	p.until(`document.querySelectorAll(".rule")[1].matches(".off")`)
	p.sees("A rule that is off is kept in this browser alone")
	p.api("GET", "/schedules", "", 200)
	p.open("#/_/requests")
	p.until(`document.querySelectorAll(".rule.off").length === 1`)
	field(1, path, "/drivers")
	p.click(".rule.off [role=switch]")
	rules(`"path":"/drivers","delay":300,"code":503`)
	p.api("GET", "/drivers", "", 503)
	for range 2 {
		p.click(".rule [aria-label='Remove the rule']")
		p.until(`!document.querySelector(".rule + .rule")`)
	}
	rules("[]")

	p.clickText("Held requests")
	p.sees("0 requests are waiting")
	answered := make(chan int)
	go func() {
		status, _ := servertest.Send(p.T, "GET", p.process.URL+"/schedules", "")
		answered <- status
	}()
	if !servertest.Eventually(func() bool { return strings.Contains(p.api("GET", "/_/holds", "", 200), "/schedules") }) {
		p.Fatal("the request is not held")
	}
	p.sees("GET /schedules")
	p.clickText("Release")
	if status := <-answered; status != 200 {
		p.Errorf("the status of the request that was held is %d", status)
	}
	p.sees("0 requests are waiting")
	p.api("DELETE", "/_/simulate", "", 204)

	p.show("#/schedules") // what others simulate is shown at once
	p.api("POST", "/_/simulate", `{"path": "/drivers", "code": 503, "times": 1}`, 201)
	p.until(`document.querySelector(".banner.simulated")?.textContent.includes("all requests to /drivers get 503 (the next one only)")`)
	p.api("GET", "/drivers", "", 503)
	p.show("#/_/requests")
	p.until(`document.querySelector(".rule .hits")?.textContent === "applied 1 time; times 1"`)
	p.run(`window.realFetch = fetch;
		window.fetch = (url, options) => /GET.*simulate$/.test(options.method + url) ? Promise.reject(new TypeError()) : realFetch(url, options)`)
	p.clickText("Slow answers")
	p.until(`document.querySelector(".toast.bad:last-child")?.textContent.includes("does not answer")`)
	p.run(`window.fetch = realFetch`)
	if list := p.api("GET", "/_/simulate", "", 200); !strings.Contains(list, `"times":1`) || strings.Contains(list, `"delay"`) {
		p.Errorf("the rules are %s", list)
	}
	p.clickText("Slow answers") // leaves that rule as it is, and what it has answered
	p.until(`document.querySelectorAll(".rule").length === 2`)
	p.api("GET", "/drivers", "", 200)
	p.accessible("simulate", true)
	p.api("DELETE", "/_/simulate", "", 204)
	p.until(`!document.querySelector(".banner.simulated")`)
}

// oddFlow shows what is no list of records: other elements, other values, a sort by
// nothing, and a save that changes no record.
func oddFlow(p *pageTest) {
	p.leave()
	p.save(`{"version": 3, "scalars": [1, "two", null, {"id": 4, "name": "four"}],
		"lines": [{"id": 1, "text": "one\ntwo\nthree", "at": "2026-01-02T10:00:00Z", "day": "2026-01-02", "url": "https://example.com/a", "mail": "a@example.com"},
			{"id": 2, "text": "x", "at": "2026-01-02T10:00:00Z", "day": "2026-01-03", "url": "https://example.com/b", "mail": "b@example.com"}]}`)
	p.open("#/scalars")
	p.until(rows + ` === 4`)
	p.want(`[...document.querySelectorAll(".spacer [role=rowheader]")].map(e => e.innerText).join()`, `1,"two",null,4`)
	p.want(`[...document.querySelectorAll(".head .name")].map(e => e.textContent).join()`, "id,name")
	p.show("#/")
	p.until(`[...document.querySelectorAll(".overview tbody tr")].find(e => e.innerText.startsWith("version"))?.innerText.includes("no path of its own; part of /db")`)
	p.accessible("values", true)
	p.want(`[...document.querySelectorAll(".nav [href*='#/_/']")].map(e => e.innerText.trim()).slice(0, 2).join()`, "Requests,Changes")
	p.want(`document.querySelector(".nav :is([href='#/_/relations'], [href='#/_/sessions'])") === null`, "true") // hidden while empty
	p.show("#/version")
	p.sees("It is part of /db.")
	p.console() // the browser logs the 404
	p.show("#/lines?_sort=nope,-day")
	p.sees("No record has the field nope, so it sorts nothing.")
	p.want(`[...document.querySelectorAll(".spacer [role=rowheader]")].map(e => e.innerText).join()`, "2,1")
	p.clickText("Do not sort by it")
	p.until(`location.hash === "#/lines?_sort=-day" && !document.querySelector(".note")`)
	p.show("#/lines/1")
	p.until(`document.querySelector("#member-text")?.rows >= 4`)
	p.show("#/_/changes")
	p.until(`document.querySelector(".changes > li")`)
	before := p.eval(`document.querySelectorAll(".changes > li").length`)
	p.save(string(servertest.Read(p.T, p.file)) + "\n\n")
	p.api("PATCH", "/lines/2", `{"text": "y"}`, 200)
	p.until(`document.querySelectorAll(".changes > li").length === ` + before + ` + 1`)
	p.want(`document.body.innerText.includes("No records")`, "false")
}

// nestedFlow edits a field that holds an object, in the form: it has an editor, with
// colors and marks, and the same words in every browser.
func nestedFlow(p *pageTest) {
	p.edit(`"title": "Piano lesson"`, `"title": "Piano lesson", "place": {"street": "Alder Lane", "no": 14}`)
	p.open("#/schedules/4")
	const editor = `document.querySelector("#member-place")?.shadowRoot`
	p.until(editor + `?.querySelector(".name")?.textContent === '"street"'`)
	p.want(`[...document.querySelectorAll(".type a[target]")].map(a => new URL(a.href).pathname).join()`, "/schedules/4/place")
	p.api("GET", "/schedules/4/place", "", 200)
	p.run(`document.querySelector("#member-place").focus()`)
	p.press("Ctrl+End", "ArrowLeft", "ArrowLeft")
	p.enter(",")
	p.until(`document.querySelector("#member-place-wrong")?.textContent === "A name in double quotes is missing at line 4, column 1."`)
	p.until(editor + `.querySelector(".fault")?.title.includes("line 4")`)
	p.want(`document.querySelector(".panel .primary").disabled`, "true")
	p.press("Backspace")
	p.until(`!document.querySelector("#member-place-wrong") && !` + editor + `.querySelector(".fault") && !document.querySelector(".dirty")`)
	p.accessible("nested", true)
	p.press("Backspace")
	p.enter("5")
	p.press("Ctrl+s")
	p.holds(`"place": {"street": "Alder Lane", "no": 15}`)
	p.clickText("JSON")
	const tab = `document.querySelector(".panel-body > .editor")?.shadowRoot`
	p.until(tab + `?.querySelector(".cm-content")`)
	p.run(tab + `.querySelector(".cm-content").focus()`)
	for _, wrong := range []struct{ text, want string }{
		{"", "A value is missing at line 1, column 1."},
		{`{`, "A name in double quotes or } is missing at line 1, column 2."},
		{`{"a" 1`, "A colon is missing at line 1, column 6."},
		{`{"a": 01`, "A value is missing at line 1, column 7."},
		{`{"a": "b`, "A value is missing at line 1, column 7."},
		{`{"a": [1 2`, "A comma or ] is missing at line 1, column 10."},
		{`{"a": [1,]`, "A value is missing at line 1, column 10."},
	} {
		p.press("Ctrl+a", "Backspace")
		p.run(`const view = ` + tab + `.querySelector(".cm-content"); view.focus(); document.execCommand("insertText", false, ` + quoted(wrong.text) + `)`)
		p.until(`document.querySelector(".panel .error")?.textContent === ` + quoted(wrong.want))
	}
	p.click(".panel-foot button:nth-last-child(2)") // Discard
	p.until(`!document.querySelector(".dirty")`)
}

// sessionsFlow looks into a session: what is of the file is not shown there.
func sessionsFlow(p *pageTest) {
	p.api("DELETE", "/_/requests", "", 204)
	p.open("#/_/sessions")
	p.sees("No sessions")
	p.want(`document.querySelector(".nav [href='#/_/sessions']") === null`, "true")
	p.api("PATCH", "/_/s/checkout/schedules/4", `{"title": "In the session"}`, 200) // which is listed at once
	p.until(`document.querySelector("table.sessions tbody tr")?.innerText.startsWith("checkout\t1\t") && document.querySelector(".nav [href='#/_/sessions']")`)
	p.api("PATCH", "/_/s/checkout/schedules/6", `{"title": "In the session"}`, 200)
	p.until(`document.querySelector("table.sessions tbody tr").innerText.startsWith("checkout\t2\t")`)
	p.save(strings.Replace(p.sample, `"Rescheduled"`, `"Resheduled"`, 1)) // a problem of the file
	p.until(`document.querySelector(".nav [href='#/_/problems'] .n")`)
	p.click("table.sessions .enter")
	p.until(`document.querySelector(".banner.session")?.textContent.includes("checkout") && document.querySelector("h1")?.textContent === "Session checkout"`)
	p.want(`document.querySelector(".nav [href='#/_/problems']") === null`, "true")
	p.want(`document.querySelector(".state").innerText.includes("is well")`, "false")
	p.show("#/_/problems")
	p.sees("The problems are those of the file.")
	p.want(`document.querySelectorAll(".findings").length`, "0")
	p.accessible("session-problems", true)
	p.save(p.sample)
	p.show("#/schedules")
	p.until(cell("4", "title") + `?.textContent === "In the session"`)
	p.isSample()
	p.api("PATCH", "/_/s/checkout/schedules/4", `{"title": "Live, too"}`, 200)
	p.until(cell("4", "title") + `?.textContent === "Live, too"`)
	p.show("#/_/requests") // a request of the file is sent to the file again
	p.api("PATCH", "/schedules/5", `{"title": "Optician"}`, 200)
	p.clickText("/schedules/5")
	p.api("PATCH", "/schedules/5", `{"title": "Dentist"}`, 200)
	p.clickText("Send again")
	p.holds("Optician")
	p.api("POST", "/_/undo", "", 200)
	p.isSample()
	p.api("DELETE", "/_/sessions/checkout", "", 204) // the page begins it anew, and says so
	p.sees("the one before has ended")
	p.open("#/schedules") // also when it is loaded again
	p.sees("the one before has ended")
	p.show("#/_/sessions")
	p.click("[aria-label='End checkout']")
	p.until(`document.querySelector("dialog")?.textContent.includes("No changes.")`)
	p.click("dialog .danger")
	p.until(`!document.querySelector(".banner") && document.querySelector("h1")?.textContent === "db.json" && document.querySelector("table")`)
	p.show("#/schedules")
	p.until(cell("4", "title") + `?.textContent === "Piano lesson"`)
	if list := p.api("GET", "/_/sessions", "", 200); list != "[]\n" {
		p.Errorf("the sessions are %s", list)
	}
}

// reviewFlow looks at the changes of a session that waits for a person, commits and
// discards them, and decides where the file has changed meanwhile.
func reviewFlow(p *pageTest) {
	p.open("#/schedules")
	p.until(rows + ` === 7`)
	p.api("PUT", "/_/sessions/agent", `{"keep": true}`, 201)
	p.api("PATCH", "/_/s/agent/schedules/4", `{"title": "By the agent", "passenger": "Amara"}`, 200)
	p.sees("agent has 1 change for you: Review")
	p.api("DELETE", "/_/s/agent/schedules/7", "", 200)
	p.api("PATCH", "/_/s/agent/drivers/1", `{"driverName": "Dana M."}`, 200)
	p.sees("agent has 3 changes for you: Review")
	p.accessible("review-banner", true)
	p.clickText("Review")
	const changes = `[...document.querySelectorAll(".changes > li")].map(e => e.innerText.replace(/\s+/g, " ").trim())`
	p.until(`document.querySelector("h1").textContent === "agent" && ` + changes + `.length === 3 && !document.querySelector(".banner")`)
	p.want(changes+`[0]`, "~ updated schedules 4 By the agent title Piano lesson becomes By the agent passenger Ivy becomes Amara")
	p.want(changes+`[1].startsWith("− deleted schedules 7 Airport pick-up id 7 driverId 3")`, "true")
	p.accessible("review", true)
	p.api("PATCH", "/_/s/agent/drivers/2", `{"driverName": "Tom"}`, 200) // it is followed
	p.until(changes + `.length === 4`)
	p.isSample()
	p.clickText("Commit")
	p.holds("By the agent")
	p.until(changes + `.length === 0`)
	p.sees("No changes")
	p.show("#/_/changes")
	p.until(`document.querySelector(".changes li:first-child .pill.session")?.textContent === "agent"`)
	p.clickText("Undo")
	p.isSample()

	p.until(`document.querySelector(".changes li:first-child")?.textContent.includes("undo of")`) // the file has it before requests see it

	// Both have changed the title: the form asks, and nothing is committed before.
	p.api("PUT", "/_/sessions/agent", `{"keep": true, "from": "now"}`, 200)
	p.api("PATCH", "/_/s/agent/schedules/4", `{"title": "By the agent", "passenger": "Amara"}`, 200)
	p.api("PATCH", "/_/s/agent/schedules/5", `{"title": "By the agent, too"}`, 200)
	p.api("PATCH", "/_/s/agent/schedules/6", `{"title": "By the agent, too"}`, 200)
	p.api("PATCH", "/schedules/4", `{"title": "By a person", "pickupLocation": "Elsewhere"}`, 200)
	p.api("DELETE", "/schedules/6", "", 200)
	p.show("#/_/sessions/agent")
	p.clickText("Commit")
	p.until(`document.querySelectorAll(".merge").length === 2`)
	p.console() // the browser logs the 409
	p.want(`document.querySelector(".merge h3").textContent`, "schedules 4 has changed in the file, too")
	p.want(`[...document.querySelectorAll(".merge tbody tr")].map(e => e.textContent).join()`, "titleagent: By the agentfile: By a person")
	p.want(`document.querySelector(".merge .primary").disabled`, "true")
	p.accessible("review-conflict", true)
	p.click(".merge tbody td:last-child input")
	p.api("PATCH", "/schedules/4", `{"passenger": "Somebody"}`, 200) // before it is decided: nothing is written there
	before := string(servertest.Read(p.T, p.file))
	p.clickText("Merge into the file")
	p.until(`document.querySelector(".toast.bad")?.textContent.includes("The file was not changed.")`)
	p.until(`[...document.querySelectorAll(".merge tbody tr")].map(e => e.textContent).join() === "passengeragent: Amarafile: Somebody"`)
	if string(servertest.Read(p.T, p.file)) != before {
		p.Error("the file was changed")
	}
	p.console() // the browser logs the 412
	p.click(".merge tbody td input")
	p.clickText("Merge into the file")
	p.until(`document.querySelectorAll(".merge").length === 1`)
	p.holds("Amara")
	p.holds("By a person")
	p.holds("Elsewhere")
	if strings.Contains(string(servertest.Read(p.T, p.file)), "By the agent") {
		p.Error("what nobody has committed is in the file")
	}
	p.clickText("Keep the file's") // which has deleted it
	p.until(`!document.querySelector(".merge") && ` + changes + `.length > 0`)
	p.clickText("Commit")
	p.holds("By the agent, too")
	p.until(changes + `.length === 0`)

	p.api("PATCH", "/_/s/agent/schedules/1", `{"title": "Not wanted"}`, 200)
	p.until(changes + `.length === 1`)
	p.clickText("Discard")
	p.until(`document.querySelector("dialog")?.textContent.includes("Discard 1 change of agent?")`)
	p.click("dialog .danger")
	p.sees("No changes")
	p.show("#/schedules")
	p.api("DELETE", "/_/sessions/agent", "", 204)
	p.until(`!document.querySelector(".banner")`)
}
