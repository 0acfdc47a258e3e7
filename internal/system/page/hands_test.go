package page

import (
	"strings"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// handsFlow does with a table what hands do by themselves: it types over cells, and
// copies, pastes, fills and clears ranges of them.
func handsFlow(p *pageTest) {
	p.open("#/schedules")
	p.until(cell("1", "driverId") + `?.textContent.startsWith("Dana Marlow") && ` + toolsLoaded)

	// A key begins to replace what a cell has, whatever its input is.
	p.click(`[data-cell="1:2"]`)
	p.enter("Nail trim") // N is no shortcut here
	p.until(`document.activeElement.matches(".edits input") && document.activeElement.value === "Nail trim"`)
	p.press("Enter")
	p.holds(`"title": "Nail trim"`)
	p.until(`document.activeElement.dataset.cell === "2:2"`)
	p.press("Ctrl+z")
	p.isSample()
	p.click(`[data-cell="1:8"]`)
	p.enter("c") // of a list, the choice that begins with it
	p.until(`document.activeElement.matches(".edits select") && document.activeElement.value === "Canceled"`)
	p.press("Escape")
	p.until(`!document.querySelector(".edits")`)
	p.click(`[data-cell="1:1"]`)
	p.enter("ruth")
	p.until(`[...document.querySelectorAll(".choices [role=option] .clip")].map(e => e.textContent).join() === "Ruth Ellery"`)
	p.press("Escape")
	p.until(`document.activeElement.dataset.cell === "1:1"`)
	p.press("Home", "g", "c") // no id can be typed over, so letters are shortcuts there
	p.until(`location.hash === "#/_/changes"`)
	p.show("#/schedules")
	p.until(rows + ` === 7`)

	// Ranges: with Shift and the arrow keys, with Shift and a click, by dragging.
	p.click(`[data-cell="0:2"]`)
	p.press("Shift+ArrowDown", "Shift+ArrowRight")
	p.want(ranged, "4")
	p.want(`document.activeElement.dataset.cell`, "0:2") // where the range begins
	p.want(`document.querySelectorAll("[aria-selected=true]").length`, "4")
	p.until(`document.querySelector("[role=status].offscreen").textContent === "2 rows, 2 columns"`)
	p.press("Escape")
	p.want(ranged, "0")
	p.press("Ctrl+Home")
	p.click(`[data-cell="0:2"]`)
	p.shiftClick(`[data-cell="3:4"]`)
	p.until(ranged + ` === 12`)
	p.want(`String(getSelection())`, "")
	p.dragTo(`[data-cell="2:2"]`, `[data-cell="4:3"]`)
	p.until(ranged + ` === 6`)
	p.want(`String(getSelection())`, "")
	p.press("ArrowUp")
	p.want(ranged, "0")

	// A range is copied as text for a spreadsheet, or as JSON.
	p.run(`navigator.clipboard.writeText = async text => { window.copied = text }`)
	p.click(`[data-cell="0:2"]`)
	p.press("Shift+ArrowDown", "Shift+ArrowRight", "Ctrl+c")
	p.until(`window.copied === "School run\tIvy and Jonah\r\nVet visit\tJonah, with Biscuit the dog"`)
	p.press("Ctrl+Shift+c")
	p.until(`JSON.stringify(JSON.parse(copied)[1]) === '{"title":"Vet visit","passenger":"Jonah, with Biscuit the dog"}'`)
	p.press("Escape")
	p.clickAt(`[data-cell="0:0"]`, 12)
	p.until(`document.querySelector(".selection")`)
	p.press("Ctrl+c") // all of the records that are selected
	p.until(`window.copied.startsWith("1\t1\tSchool run\t")`)
	p.click("[aria-label='Clear the selection']")

	// What is pasted, filled and cleared is one transaction, and one Undo takes it back.
	p.click(`[data-cell="0:2"]`)
	p.paste("Monday\tAda\nTuesday\t\"Grace \"\"Amazing\"\"\nHopper\"\n")
	p.until(cell("2", "title") + `?.textContent === "Tuesday"`)
	p.holds(`"passenger": "Grace \"Amazing\"\nHopper"`)
	p.sees("4 values of 2 records changed")
	p.press("Ctrl+z")
	p.isSample()
	p.until(cell("2", "title") + `?.textContent === "Vet visit"`)
	p.click(`[data-cell="1:2"]`)
	p.paste(`[{"id": "99", "title": "From JSON", "status": "Canceled"}, {"title": "Also"}]`)
	p.until(cell("2", "status") + `?.textContent === "Canceled" && ` + cell("3", "title") + `?.textContent === "Also"`)
	p.press("Ctrl+z")
	p.isSample()
	p.until(cell("3", "title") + `?.textContent === "Football practice"`)
	p.click(`[data-cell="0:2"]`)
	p.press("Shift+ArrowDown", "Shift+ArrowDown")
	p.paste("Same") // a value fills the range
	p.until(cell("3", "title") + `?.textContent === "Same" && ` + cell("1", "title") + `?.textContent === "Same"`)
	p.press("Ctrl+z")
	p.isSample()
	p.until(cell("3", "title") + `?.textContent === "Football practice"`)
	p.click(`[data-cell="0:2"]`)
	p.press("Shift+ArrowDown", "Shift+ArrowDown", "Ctrl+d")
	p.until(cell("3", "title") + `?.textContent === "School run"`)
	p.sees("2 values of 2 records changed")
	p.press("Ctrl+z")
	p.isSample()
	p.api("PATCH", "/drivers/2", `{"nickname": "Tom"}`, 200)
	p.api("PATCH", "/drivers/3", `{"nickname": "Ru"}`, 200)
	p.open("#/drivers")
	p.until(cell("3", "nickname") + `?.textContent === "Ru" && ` + toolsLoaded)
	p.click(`[data-cell="0:5"]`)
	p.press("Shift+ArrowDown", "Shift+ArrowDown", "Delete")
	p.until(cell("3", "nickname") + `?.textContent === "–missing"`)
	p.sees("2 values of 2 records changed")
	p.press("Ctrl+z")
	p.until(cell("3", "nickname") + `?.textContent === "Ru"`)
	p.save(p.sample)

	// The name of a record is as good as its id, if no other has it.
	p.open("#/schedules")
	p.until(cell("1", "driverId") + `?.textContent.startsWith("Dana Marlow") && ` + toolsLoaded)
	p.click(`[data-cell="0:1"]`)
	p.paste("Ruth Ellery\n2")
	p.until(cell("1", "driverId") + `?.textContent.startsWith("Ruth Ellery") && ` + cell("2", "driverId") + `?.textContent.startsWith("Tomas Marlow")`)
	p.holds(`"driverId": "3",` + "\n      " + `"title": "School run"`)
	p.press("Ctrl+z")
	p.isSample()
	p.until(cell("1", "driverId") + `?.textContent.startsWith("Dana Marlow")`)
	p.api("PATCH", "/drivers/4", `{"driverName": "Ruth Ellery"}`, 200)
	p.paste("Ruth Ellery\n2")
	p.sees("2 records of drivers have this name. Use an id: 3, 4.")
	p.want(`[...document.querySelectorAll("dialog .faults tbody tr")].map(r => [...r.cells].slice(0, 4).map(c => c.textContent).join()).join()`,
		"School run,driverId,Dana Marlow1,Ruth Ellery")
	p.press("Escape")
	p.save(p.sample)

	// What breaks rules is shown before anything is written.
	p.open("#/schedules")
	p.until(rows + ` === 7 && ` + toolsLoaded)
	p.click(`[data-cell="0:6"]`)
	p.paste("2026-09-14T07:45:00Z\ntomorrow\n2026-09-15T16:50:00Z")
	p.sees("Nothing has been written yet")
	p.isSample()
	p.want(`[...document.querySelectorAll("dialog .faults tbody tr")].map(r => [...r.cells].slice(0, 4).map(c => c.textContent).join()).join()`,
		"Vet visit,pickupTime,2026-09-14T15:10:00Z,tomorrow")
	p.clickText("Leave them out and write 2 records")
	p.holds("2026-09-14T07:45:00Z")
	p.holds("2026-09-15T16:50:00Z")
	p.holds("2026-09-14T15:10:00Z")
	p.until(`!document.querySelector("dialog") && document.activeElement.dataset.cell`)
	p.press("Ctrl+z")
	p.isSample()

	// Nobody is overwritten: what was seen is tested.
	p.until(cell("1", "title") + `?.textContent === "School run"`)
	p.click(`[data-cell="0:2"]`)
	p.holdNext("request", `POST .*/_/transaction$`)
	p.paste("Mine\nMine, too")
	p.until(`window.held`)
	p.api("PATCH", "/schedules/2", `{"title": "Theirs"}`, 200)
	p.run(`release()`)
	p.until(`document.querySelector(".toast.bad")?.textContent.includes("Somebody else has changed title of schedules 2. Nothing was written.")`)
	p.holds(`"title": "School run"`)
	p.api("PATCH", "/schedules/2", `{"passenger": "Theirs, too"}`, 200) // another field is in nobody's way
	p.until(cell("2", "passenger") + `?.textContent === "Theirs, too"`)
	p.paste("Mine\nMine, too")
	p.until(cell("2", "title") + `?.textContent === "Mine, too"`)
	p.save(p.sample)
	p.console() // the browser logs the 422 and the 409
	p.until(cell("2", "title") + `?.textContent === "Vet visit"`)

	// Rows after the last record become records.
	p.click(`[data-cell="6:2"]`)
	p.paste(strings.Repeat("Weekly\n", 2))
	p.sees("1 row would come after the last record.")
	p.clickText("Add 1 record")
	p.sees("cannot be stored") // it has no driver
	p.clickText("Leave them out and write 1 record")
	p.until(cell("7", "title") + `?.textContent === "Weekly"`)
	p.press("Ctrl+z")
	p.isSample()
	p.console() // and another 422
}

// menusFlow uses the menus of cells and headers, and replaces text in a column.
func menusFlow(p *pageTest) {
	const names = `[...document.querySelectorAll(".menu [role=menuitem]")].map(e => e.querySelector(".clip").textContent).join()`
	p.open("#/schedules")
	p.until(rows + ` === 7 && ` + toolsLoaded)
	p.rightClick(`[data-cell="3:1"]`)
	p.until(names + ` === "Edit,Open,Open drivers 2,Only with this value,Only without it,Copy,Copy as JSON,Paste,Clear,` +
		`Find and replace in driverId…,New record,Duplicate the record,Delete the record"`)
	p.want(`document.activeElement.textContent.startsWith("Edit")`, "true")
	p.press("ArrowUp", "ArrowDown", "o", "o")
	p.want(`document.activeElement.textContent.startsWith("Open drivers 2")`, "true")
	p.press("Escape")
	p.until(`!document.querySelector(".menu") && document.activeElement.dataset.cell === "3:1"`)
	choose := func(name string) {
		p.Helper()
		p.press("Shift+F10")
		p.until(names + `.includes(` + quoted(name) + `)`)
		p.clickText(name)
	}
	choose("Only without it")
	p.until(`location.hash === "#/schedules?driverId:ne=2" && ` + rows + ` === 5`)
	p.click(`[data-cell="0:8"]`)
	p.press("Ctrl+Shift+f")
	p.until(`location.hash === "#/schedules?driverId:ne=2&status=Scheduled" && ` + rows + ` === 4`)
	p.click(`[data-cell="0:8"]`)
	p.press("Ctrl+Shift+f") // and without it
	p.until(`location.hash === "#/schedules?driverId:ne=2&status:ne=Scheduled" && ` + rows + ` === 1`)
	p.show("#/schedules")
	p.until(rows + ` === 7`)
	p.click(`[data-cell="3:2"]`)
	p.press("ArrowDown", "ArrowUp")
	choose("Duplicate the record")
	p.until(rows + ` === 8`)
	p.clickText("Undo")
	p.isSample()
	p.until(rows + ` === 7`)
	p.press("Shift+ArrowUp")
	choose("Delete the 2 records")
	p.until(rows + ` === 5`)
	p.clickText("Undo")
	p.isSample()
	p.until(rows + ` === 7`)
	p.run(`navigator.clipboard.readText = async () => "Pasted"`)
	p.click(`[data-cell="3:2"]`)
	choose("Paste")
	p.until(cell("4", "title") + `?.textContent === "Pasted"`)
	p.press("Ctrl+z")
	p.isSample()
	p.click(`[data-cell="3:2"]`)
	p.press("Shift+Enter")
	p.until(`location.hash === "#/_/new/schedules"`)
	p.show("#/schedules")
	p.rightClick(`[data-cell="-1:2"]`)
	p.until(names + ` === "Sort,Sort by this, too,Columns…,Find and replace in title…,Add a field…,Rename title…,Remove title…"`)
	p.clickText("Columns…")
	p.until(`document.querySelector("dialog .columns-list")`)
	p.clickText("Done")

	// Find and replace, in what the table shows.
	p.show("#/schedules?status=Scheduled")
	p.until(rows + ` === 4`)
	p.click(`[data-cell="0:4"]`)
	choose("Find and replace in pickupLocation…")
	p.fill("#replace-from", "alder")
	p.fill("#replace-to", "Elm $&")
	p.sees("2 values of 4 records that the table shows")
	p.until(`document.querySelector(".replacements ins").textContent === "Home, 14 Elm $& Lane"`)
	p.clickText("Match case")
	p.sees("0 values of 4 records")
	p.clickText("Match case")
	p.clickText("Whole values only")
	p.sees("0 values of 4 records")
	p.clickText("Whole values only")
	p.click("dialog .primary")
	p.sees("2 values of 2 records changed")
	p.holds(`"Home, 14 Elm $& Lane"`)
	p.clickText("Undo")
	p.isSample()
	p.press("Escape")
	p.show("#/schedules")
	p.until(rows + ` === 7`)
	p.click(`[data-cell="0:8"]`)
	choose("Find and replace in status…")
	p.fill("#replace-from", "Scheduled")
	p.fill("#replace-to", "Cancelled")
	p.click("dialog .primary")
	p.sees("Nothing has been written yet") // none of the rules' choices
	p.press("Escape")
	p.until(`!document.querySelector("dialog")`)
	p.isSample()
	p.console() // the browser logs the 422

	p.run(`navigator.clipboard.readText = () => Promise.reject(new Error())`)
	p.click(`[data-cell="3:2"]`)
	choose("Paste")
	p.until(`document.querySelector(".toast.bad")?.textContent.includes("Press Ctrl V")`)
}

// ranged is an expression for the number of cells of the range, and toolsLoaded for
// whether the second bundle is there, which takes what is typed.
const (
	ranged      = `document.querySelectorAll(".cell.ranged").length`
	toolsLoaded = `performance.getEntriesByType("resource").some(e => e.name.endsWith("/tools.js"))`
)

// paste pastes a text where the focus is.
func (p *tab) paste(text string) {
	p.Helper()
	if p.firefox != nil { // its events of the clipboard have no data that a script made
		p.run(`await Clipboard.prototype.writeText.call(navigator.clipboard, ` + quoted(text) + `)`)
		p.press("Ctrl+v")
		return
	}
	p.run(`const data = new DataTransfer();
		data.setData("text/plain", ` + quoted(text) + `);
		document.activeElement.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}))`)
}

// shiftClick clicks the middle of an element while Shift is held.
func (p *tab) shiftClick(selector string) {
	p.Helper()
	at := p.place(selector)
	p.do(chromedp.MouseClickXY(at.X+at.Width/2, at.Y+at.Height/2, func(e *input.DispatchMouseEventParams) { e.Modifiers = int64(chromedp.ModifierShift) }))
}

// rightClick opens the menu of an element.
func (p *tab) rightClick(selector string) {
	p.Helper()
	at := p.place(selector)
	p.clickXY(at.X+at.Width/2, at.Y+at.Height/2, true)
}
