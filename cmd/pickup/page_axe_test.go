package main

import (
	"os"
	"slices"
)

// axeFlow checks each screen with axe-core, in light and dark and on a phone.
func axeFlow(p *pageTest) {
	axe := string(read(p.T, "../../server/page/node_modules/axe-core/axe.min.js"))
	long := os.Getenv("PICKUP_LONG") != ""
	for _, state := range []struct {
		name, hash string
		act        func()
		noPhone    bool
	}{
		{name: "overview", hash: "#/"},
		{name: "table", hash: "#/schedules?status=Scheduled&_sort=-pickupTime", act: func() { p.until(`document.querySelectorAll(".spacer .row").length === 4`) }},
		{name: "record", hash: "#/schedules/4", act: func() { p.until(`document.querySelector("#member-title")`) }},
		{name: "json", hash: "#/drivers/1", act: func() {
			p.clickText("JSON")
			p.until(`document.querySelector(".editor")?.shadowRoot?.querySelector(".cm-content")`)
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
		{name: "suggestions", hash: "#/schedules", noPhone: true, act: func() {
			p.until(`document.querySelector("#filter")`)
			p.press("/")
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
		{name: "empty", hash: "#/schedules?q=nothing+like+this", act: func() { p.sees("Nothing matches") }},
		{name: "delete", hash: "#/drivers/2", act: func() {
			p.click(".delete")
			p.until(`document.querySelector("dialog [type=checkbox]")`)
		}},
		{name: "requests", hash: "#/_/requests", act: func() {
			p.api("PATCH", "/schedules/5", `{"status": "Scheduld"}`, 422)
			p.until(`document.querySelector("table.log tbody tr")`)
		}},
		{name: "changes", hash: "#/_/changes", act: func() { p.until(`document.querySelector(".snapshots")`) }},
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
	} {
		for _, look := range []string{"light", "dark", "phone"} {
			if look == "phone" && (state.noPhone || !long && !slices.Contains([]string{"overview", "table", "record", "requests"}, state.name)) {
				continue
			}
			if look == "phone" {
				p.onPhone()
			} else {
				p.prefer(look)
			}
			// A change of the color scheme needs no new page, nor does that of the width.
			if look == "light" {
				p.open(state.hash)
				if state.act != nil {
					state.act()
				}
				p.run(axe)
			}
			p.picture(state.name + "-" + look)
			// The colors are all that the scheme changes.
			rules := `["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]`
			if look == "dark" && !long {
				rules = `["color-contrast"]`
			}
			found := p.eval(`(async () => {
				await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
				await Promise.all(document.getAnimations().map(a => a.finished.catch(() => {})));
				const result = await axe.run(document, {runOnly: ` + rules + `});
				if (result.passes.length === 0) return "axe has checked nothing";
				const why = n => (n.any[0] ?? n.all[0] ?? n.none[0])?.message;
				const node = n => n.html.slice(0, 160) + " " + why(n);
				return result.violations.map(v => v.id + ": " + v.nodes.map(node).join("\n\t")).join("\n");
			})()`)
			if found != "" {
				p.Errorf("%s, %s: %s", state.name, look, found)
			}
			if look == "phone" {
				p.do(desktop)
			}
		}
		p.prefer("light")
	}
	p.console() // the browser logs the 422
}
