package page

import (
	"os"
	"slices"
	"strings"

	"pickup/internal/tools/servertest"
)

// An axeState is a state of the page that axe-core checks, in light and dark and on a
// phone.
type axeState struct {
	name, hash string
	act        func() // once the page shows the hash
	after      func()
	noPhone    bool
}

// axeOfRecords checks tables, records, and at last the list of the changes so far.
func axeOfRecords(p *pageTest) {
	p.checkStates([]axeState{
		{name: "table", hash: "#/schedules?status=Scheduled&_sort=-pickupTime", act: func() { p.until(`document.querySelectorAll(".spacer .row").length === 4`) }},
		{name: "record", hash: "#/schedules/4", act: func() { p.until(`document.querySelector("#member-title")`) }},
		{name: "json", hash: "#/drivers/1", act: func() {
			p.clickText("JSON")
			p.until(`document.querySelector(".editor")?.shadowRoot?.querySelector(".cm-content")`)
		}},
		{name: "merge", hash: "#/schedules/4", act: func() {
			p.fill("#member-title", "Piano concert")
			text := strings.Replace(p.sample, "Piano lesson", "Piano recital", 1)
			p.save(strings.Replace(text, "2026-09-17T16:20:00Z", "2026-09-17T16:10:00Z", 1))
			p.until(`document.querySelector(".merge tbody")`)
		}, after: p.reset},
		{name: "gone", hash: "#/schedules/4", act: func() {
			p.fill("#member-title", "Piano concert")
			p.api("DELETE", "/schedules/4", "", 200)
			p.sees("Create it again")
		}, after: p.reset},
		{name: "saved", hash: "#/schedules/4", act: func() {
			p.fill("#member-title", "Piano concert")
			p.press("Ctrl+s")
			p.until(`[...document.querySelectorAll("button")].some(e => e.textContent.startsWith("Undo"))`)
		}, after: p.reset},
		{name: "picker", hash: "#/schedules", noPhone: true, act: func() {
			p.until(rows + ` === 7`)
			p.click(`[data-cell="1:1"]`)
			p.press("Enter")
			p.until(`document.querySelector(".choices [aria-selected=true]")`)
		}},
		{name: "time", hash: "#/schedules", noPhone: true, act: func() {
			p.until(rows + ` === 7`)
			p.click(`[data-cell="1:6"]`)
			p.press("Enter")
			p.until(`document.querySelector(".edits .timed input")`)
		}},
		{name: "form-picker", hash: "#/schedules/4", act: func() {
			p.fill("#member-driverId", "marlow")
			p.until(`document.querySelector(".choices [aria-selected=true]")`)
		}, after: p.reset},
		{name: "refused-new", hash: "#/_/new/schedules", act: func() {
			p.fill("#member-pickupTime", "tomorrow")
			p.press("Ctrl+s")
			p.until(`document.querySelectorAll(".panel [aria-invalid=true]").length === 8`)
		}},
		{name: "new", hash: "#/_/new/schedules", act: func() { p.until(`document.querySelector("#member-title")`) }},
		{name: "refused", hash: "#/drivers", noPhone: true, act: func() {
			p.until(`document.querySelectorAll(".spacer .row").length === 4`)
			p.click(`[data-cell="1:3"]`)
			p.press("Enter")
			p.until(`document.activeElement.matches(".edits input")`)
			p.enter("603")
			p.press("Enter")
			p.until(`document.querySelector(".cellerror")`)
		}},
		{name: "delete", hash: "#/drivers/2", act: func() {
			p.click(".delete")
			p.until(`document.querySelector("dialog [type=checkbox]")`)
		}},
		{name: "changes", hash: "#/_/changes", act: func() { p.until(`document.querySelector(".snapshots") && !document.querySelector(".skeleton")`) }},
	})
}

// axeOfScreens checks the other screens, and what opens above a table.
func axeOfScreens(p *pageTest) {
	p.checkStates([]axeState{
		{name: "overview", hash: "#/"},
		{name: "broken", hash: "#/schedules", act: func() {
			p.save(p.sample[:len(p.sample)-3])
			p.until(`document.querySelector(".banner.bad")`)
		}},
		{name: "broken-problems", hash: "#/_/problems", act: func() { p.until(`document.querySelector("main [role=alert]")`) }, after: p.reset},
		{name: "findings", hash: "#/_/problems", act: func() {
			p.save(strings.ReplaceAll(p.sample, `"Rescheduled"`, `"Resheduled"`))
			p.until(`document.querySelector(".findings li")`)
		}, after: p.reset},
		{name: "columns", hash: "#/schedules", noPhone: true, act: func() {
			p.click("[aria-label=Columns]")
			p.until(`document.querySelector("dialog[open]")`)
		}},
		{name: "set", hash: "#/schedules", noPhone: true, act: func() {
			p.until(`document.querySelectorAll(".spacer .row").length === 7`)
			p.click(`[data-cell="1:1"]`)
			p.press("Shift+Space")
			p.clickText("Set a field")
			p.until(`document.querySelector("dialog #set-member")`)
		}},
		{name: "range", hash: "#/schedules", noPhone: true, act: func() {
			p.until(rows + ` === 7 && ` + toolsLoaded)
			p.click(`[data-cell="1:2"]`)
			p.press("Shift+ArrowDown", "Shift+ArrowRight")
			p.until(ranged + ` === 4`)
		}},
		{name: "menu", hash: "#/schedules", noPhone: true, act: func() {
			p.until(rows + ` === 7`)
			p.rightClick(`[data-cell="1:1"]`)
			p.until(`document.activeElement.closest(".menu")`)
		}},
		{name: "review", hash: "#/schedules", act: func() {
			p.until(rows + ` === 7 && ` + toolsLoaded)
			p.click(`[data-cell="1:8"]`)
			p.paste("No\nNever")
			p.until(`document.querySelector("dialog .faults")`)
		}},
		{name: "replace", hash: "#/schedules", noPhone: true, act: func() {
			p.until(rows + ` === 7`)
			p.rightClick(`[data-cell="1:2"]`)
			p.clickText("Find and replace in title…")
			p.fill("#replace-from", "e")
			p.until(`document.querySelector(".replacements li")`)
		}},
		{name: "add-field", hash: "#/schedules", noPhone: true, act: func() {
			p.until(rows + ` === 7`)
			p.rightClick(`[data-cell="-1:2"]`)
			p.clickText("Add a field…")
			p.until(`document.querySelector("dialog #field-name")`)
		}},
		{name: "more", hash: "#/schedules", noPhone: true, act: func() {
			p.click("main [aria-label=More]")
			p.until(`document.activeElement.closest(".menu")`)
		}},
		{name: "import", hash: "#/schedules", noPhone: true, act: func() {
			p.click("main [aria-label=More]")
			p.clickText("Import…")
			p.fill("#import-text", "[{\"title\": 5}]")
			p.until(`document.querySelector("dialog .faults")`)
		}},
		{name: "import-text", hash: "#/schedules", noPhone: true, act: func() {
			p.click("main [aria-label=More]")
			p.clickText("Import…")
			p.until(`document.querySelector("#import-text")`)
		}},
		{name: "made-up", hash: "#/schedules", noPhone: true, act: func() {
			p.click("main [aria-label=More]")
			p.clickText("Add made-up records…")
			p.until(`document.querySelector("dialog .made")`)
		}},
		{name: "schema", hash: "#/schedules", noPhone: true, act: func() {
			p.click("main [aria-label=More]")
			p.clickText("Schema")
			p.until(`document.querySelector("dialog tbody tr")`)
		}},
		{name: "new-collection", hash: "#/", noPhone: true, act: func() {
			p.click(".nav [aria-label='New collection']")
			p.until(`document.querySelector("#collection-name")`)
		}},
		{name: "sender", hash: "#/_/requests/new", act: func() {
			p.click(".sender [type=submit]")
			p.until(`document.querySelector(".answers section")`)
		}},
		{name: "refused-query", hash: "#/schedules?_limt=3", act: func() { p.until(`document.querySelector("main [role=alert]")`) }},
		{name: "nothing", hash: "#/nothing", act: func() { p.sees("There is no collection") }},
		{name: "nearest", hash: "#/schedule", act: func() { p.sees("Did you mean") }},
		{name: "no-screen", hash: "#/_/nothing", act: func() { p.until(`document.querySelector("main .links")`) }},
		{name: "suggestions", hash: "#/schedules", noPhone: true, act: func() {
			p.until(`document.querySelector("#filter")`)
			p.press("/")
			p.until(`document.activeElement.id === "filter"`)
			p.enter("s")
			p.press("ArrowDown")
			p.until(`document.querySelector("[role=option][aria-selected=true]")`)
		}},
		{name: "selection", hash: "#/schedules", noPhone: true, act: func() {
			p.until(`document.querySelectorAll(".spacer .row").length === 7`)
			p.click(`[data-cell="1:1"]`)
			p.press("Shift+Space")
			p.until(`document.querySelector(".selection")`)
		}},
		{name: "empty", hash: "#/schedules?q=nothing+like+this", act: func() { p.sees("No matches") }},
		{name: "no-requests", hash: "#/_/requests", act: func() {
			p.api("DELETE", "/_/requests", "", 204)
			p.until(`document.querySelector(".empty .copy")`)
		}},
		{name: "requests", hash: "#/_/requests", act: func() {
			p.api("PATCH", "/schedules/5", `{"status": "Scheduld"}`, 422)
			p.until(`document.querySelector("table.log tbody tr")`)
		}},
		{name: "request", hash: "#/_/requests", act: func() {
			p.clickText("/schedules/5")
			p.until(`document.querySelector(".panel pre")`)
		}},
		{name: "simulated", hash: "#/schedules", act: func() {
			p.api("POST", "/_/simulate", `{"path": "/drivers", "delay": 300}`, 201)
			p.open("#/schedules")
			p.until(`document.querySelector(".banner.simulated")`)
		}, after: func() { p.api("DELETE", "/_/simulate", "", 204) }},
		{name: "problems", hash: "#/_/problems", act: func() { p.until(`document.querySelector(".findings li, .empty")`) }},
		{name: "relations", hash: "#/_/relations", act: func() { p.until(`document.querySelector(".reflist li")`) }},
		{name: "sessions", hash: "#/_/sessions", act: func() { p.until(`document.querySelector(".empty")`) }},
		{name: "palette", hash: "#/", noPhone: true, act: func() {
			p.press("Ctrl+k")
			p.until(`document.querySelector("#found li")`)
		}},
		{name: "keys", hash: "#/", noPhone: true, act: func() {
			p.press("?")
			p.until(`document.querySelector("dialog .keys")`)
		}},
	})
}

// checkStates shows states, one after another, and checks each.
func (p *pageTest) checkStates(states []axeState) {
	p.Helper()
	for _, state := range states {
		p.open(state.hash)
		if state.act != nil {
			state.act()
		}
		onPhone := !state.noPhone && (long() || slices.Contains([]string{"overview", "table", "record", "requests", "merge", "sender", "review"}, state.name))
		p.accessible(state.name, onPhone)
		if state.after != nil {
			state.after()
		}
	}
	p.console() // the browser logs the 422
}

// accessible checks what the tab shows, or parts of it, with axe-core: in light and
// dark and on a phone.
func (p *tab) accessible(name string, onPhone bool, parts ...string) {
	p.Helper()
	part := "document"
	if len(parts) > 0 {
		part = `{include: ["` + strings.Join(parts, `", "`) + `"]}`
	}
	p.run(string(servertest.Read(p.T, "../../../server/page/node_modules/axe-core/axe.min.js")))
	// A change of the color scheme needs no new page, nor does that of the width.
	for _, look := range []string{"light", "dark", "phone"} {
		if p.firefox != nil && look != "light" { // which Marionette cannot emulate
			return
		}
		rules := `["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]`
		switch look {
		case "phone":
			if !onPhone {
				continue
			}
			p.onPhone()
		case "dark":
			if p.prefer(look); !long() { // the colors are all that the scheme changes
				rules = `["color-contrast"]`
			}
		}
		p.picture(name + "-" + look)
		found := p.eval(`(async () => {
			await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
			await Promise.all(document.getAnimations().map(a => a.finished.catch(() => {})));
			const result = await axe.run(` + part + `, {runOnly: ` + rules + `, resultTypes: ["violations"], selectors: false});
			if (result.passes.length === 0) return "axe has checked nothing";
			const why = n => (n.any[0] ?? n.all[0] ?? n.none[0])?.message;
			const node = n => n.html.slice(0, 160) + " " + why(n);
			return result.violations.map(v => v.id + ": " + v.nodes.map(node).join("\n\t")).join("\n");
		})()`)
		if found != "" {
			p.Errorf("%s, %s: %s", name, look, found)
		}
	}
	p.do(desktop)
	p.prefer("light")
}

// long reports whether tests have time.
func long() bool { return os.Getenv("PICKUP_LONG") != "" }
