package page

import (
	"fmt"
	"strings"
)

// fieldsFlow opens a record with very many fields: what is not on the screen has no editor yet.
func fieldsFlow(p *pageTest) {
	var fields []string
	for i := range 300 {
		value := [...]string{`{"street": "Alder Lane", "no": 14}`, `"text"`, `true`}[i%3]
		fields = append(fields, fmt.Sprintf(`"field%d": %s`, i, value))
	}
	p.leave()
	p.save(`{"wide": [{"id": 1, ` + strings.Join(fields, ", ") + `}]}`)
	p.open("#/wide/1")
	const (
		// elements is the number of elements of the panel, with those of its editors.
		elements = `[document.querySelector(".panel"), ...[...document.querySelectorAll(".panel .editor")].map(e => e.shadowRoot)]
			.reduce((sum, root) => sum + (root?.querySelectorAll("*").length ?? 0), 0)`
		last = `document.querySelector("#member-field297")`
	)
	p.until(`document.querySelector("#member-field0")?.shadowRoot`)
	p.until(`document.querySelectorAll(".panel .field").length === 300`) // with the id, and without the last one
	if n := p.number(elements); n > 4000 {
		p.Errorf("the panel has %v elements", n)
	}
	p.run(last + `?.scrollIntoView()`)
	p.until(last + `?.shadowRoot?.querySelector(".name")?.textContent === '"street"'`)
	p.run(`document.querySelector("#member-field150").focus()`) // without being scrolled to before
	p.until(`document.querySelector("#member-field150").shadowRoot?.activeElement`)
	p.press("Ctrl+End", "ArrowLeft", "ArrowLeft", "Backspace")
	p.enter("5")
	p.press("Ctrl+s")
	p.holds(`"field150": {"street": "Alder Lane", "no": 15}`)
}

// listsFlow edits lists in the form: texts are chips, and objects a small table.
func listsFlow(p *pageTest) {
	const stops = `[{"place": "Home", "at": 7, "gate": {"no": 1}}, {"place": "School"}]`
	p.edit(`"title": "Piano lesson"`, `"title": "Piano lesson", "tags": ["music", "weekly"], "stops": `+stops)
	p.open("#/schedules/4")
	const chips = `[...document.querySelectorAll(".chips .pill")].map(e => e.textContent).join()`
	p.until(chips + ` === "music,weekly"`)
	p.run(`document.querySelector("#member-tags").focus()`)
	p.enter("piano\rjazz")
	p.until(chips + ` === "music,weekly,piano"`)
	p.press("Backspace", "Backspace", "Backspace", "Backspace", "Backspace") // the text, and then a chip
	p.until(chips + ` === "music,weekly"`)
	p.click(`.chips [aria-label="Remove music"]`)
	p.run(`document.querySelector("#member-tags").focus()`)
	p.enter("late\r")
	p.press("Ctrl+s")
	p.holds(`"tags": ["weekly", "late"]`)

	const table = `[...document.querySelectorAll(".objects tbody tr")].map(r => [...r.cells].slice(0, 3).map(e => e.querySelector("input")?.value ?? e.textContent).join()).join("; ")`
	p.want(`[...document.querySelectorAll(".objects th")].map(e => e.textContent).join()`, "place,at,gate")
	p.want(table, `Home,7,{"no":1}; School,,`)
	p.accessible("lists", true)
	cellOf := func(name string, row int) string {
		return fmt.Sprintf(`.objects [aria-label="%s of row %d"]`, name, row)
	}
	p.fill(cellOf("at", 1), "7.50")
	p.want(table, `Home,7.50,{"no":1}; School,,`) // as it was typed
	p.fill(cellOf("at", 2), "8")
	p.clickText("Add a row")
	p.fill(cellOf("place", 3), "12") // a text, as the others are
	p.press("Ctrl+s")
	p.holds(`"stops": [{"place": "Home", "at": 7.50, "gate": {"no": 1}}, {"place": "School", "at": 8}, {"place": "12"}]`)
	p.click(`.objects [aria-label="Remove row 3"]`)

	// Objects that are pasted become rows, and the cells of a spreadsheet cells.
	p.run(`document.querySelector('` + cellOf("place", 1) + `').focus()`)
	p.paste(`[{"place": "Gym", "at": 9}]`)
	p.until(table + ` === 'Home,7.50,{"no":1}; School,8,; Gym,9,'`)
	p.run(`document.querySelector('` + cellOf("place", 2) + `').focus()`)
	p.paste("Pool\t10\nPark\t11\nHome\t12\n")
	p.until(table + ` === 'Home,7.50,{"no":1}; Pool,10,; Park,11,; Home,12,'`)
	p.press("Ctrl+s")
	p.holds(`{"place": "Park", "at": 11}, {"place": "Home", "at": 12}]`)

	// The address of the list and code that reads it can be copied.
	p.run(`navigator.clipboard.writeText = async text => { window.copied = text }`)
	p.click(`.field:has(.objects) .row-of .copy`)
	p.until(`window.copied?.endsWith("/schedules/4/stops")`)
	if list := p.api("GET", "/schedules/4/stops", "", 200); !strings.Contains(list, "Park") {
		p.Errorf("the stops are %s", list)
	}
	p.click(`.field:has(.objects) .row-of .copy:nth-child(2)`)
	p.until(`window.copied.startsWith("const response = await fetch(")`)

	// What breaks no rule, but is a list of objects, becomes a table as soon as it is saved.
	p.show("#/drivers/1")
	p.clickText("Add a field")
	p.enter("cars\r")
	p.until(`document.activeElement.matches("#member-cars")`)
	p.run(`document.execCommand("insertText", false, '[{"plate": "A 1"}, {"plate": "B 2"}]')`)
	p.press("Ctrl+s")
	p.holds(`"cars": [`)
	p.until(`document.querySelectorAll("#member-cars tbody tr").length === 2`)
}
