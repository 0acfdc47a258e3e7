package page

import "os"

// habitsFlow does with keys what hands expect of a table: Escape does nothing, Ctrl A selects the
// records, and what this tab has done is undone and redone, also after the page is loaded anew.
func habitsFlow(p *pageTest) {
	p.open("#/schedules")
	p.until(rows + ` === 7 && ` + toolsLoaded)
	p.press("Ctrl+z")
	p.sees("Nothing to undo in this tab")
	p.press("Ctrl+y")
	p.sees("Nothing to redo in this tab")
	p.want(`document.querySelectorAll(".toast").length`, "1") // the latest alone
	p.click(`[data-cell="0:2"]`)
	p.press("Escape")
	p.want(`document.activeElement.dataset.cell`, "0:2")
	p.press("Ctrl+a")
	p.until(`document.querySelector(".selection")?.innerText.includes("7")`)
	p.want(`String(getSelection())`, "")
	p.click("[aria-label='Clear the selection']")

	p.click(`[data-cell="0:2"]`)
	p.enter("One\rTwo\rThree\r")
	p.until(cell("3", "title") + `?.textContent === "Three" && !document.querySelector(".edits")`)
	p.holds(`"Three"`)
	third := string(p.api("GET", "/db", "", 200))
	p.press("Ctrl+z", "Ctrl+z", "Ctrl+z")
	p.isSample()
	p.until(cell("1", "title") + `?.textContent === "School run"`)
	p.press("Ctrl+Shift+Z", "Ctrl+y", "Ctrl+y")
	p.until(cell("3", "title") + `?.textContent === "Three"`)
	if now := p.api("GET", "/db", "", 200); now != third {
		p.Errorf("after redo the database is %s", now)
	}
	p.open("#/_/changes")
	p.until(`document.querySelector(".changes li")`)
	p.want(`[...document.querySelectorAll(".changes li .pill")].some(e => e.textContent === "another page")`, "false")
	p.open("#/schedules")
	p.until(rows + ` === 7`)
	p.press("Ctrl+z", "Ctrl+z", "Ctrl+z")
	p.isSample()

	// What is typed into a range goes into the cell where it begins, or into all of them.
	p.until(cell("3", "title") + `?.textContent !== "Three" && ` + cell("1", "title") + `?.textContent === "School run"`)
	p.click(`[data-cell="0:2"]`)
	p.press("Shift+ArrowDown", "Shift+ArrowDown")
	p.enter("Filled")
	p.until(`document.activeElement.closest("[data-cell='0:2']")`)
	p.press("Ctrl+Enter")
	p.until(cell("1", "title") + `?.textContent === "Filled" && ` + cell("3", "title") + `?.textContent === "Filled"`)
	p.press("Ctrl+z")
	p.isSample()

	// Cells are cut, and booleans change with Space or a click.
	for _, id := range []string{"1", "2", "3", "4"} {
		p.api("PATCH", "/drivers/"+id, `{"nickname": "N`+id+`", "active": false}`, 200)
	}
	p.show("#/drivers")
	p.until(cell("4", "active") + `?.textContent === "false"`)
	p.run(`navigator.clipboard.writeText = async text => { window.copied = text }`)
	p.click(`[data-cell="0:5"]`)
	p.press("Shift+ArrowDown", "Ctrl+x")
	p.until(cell("2", "nickname") + `?.textContent === "–missing" && window.copied === "N1\r\nN2"`)
	p.click(`[data-cell="0:6"]`)
	p.press("Space", "ArrowDown", "Space", "ArrowDown", "Space", "ArrowDown", "Space")
	p.until(`document.querySelectorAll(".cell .yes").length === 4`)
	p.click(`[data-cell="1:6"] .yes`)
	p.until(cell("2", "active") + `?.textContent === "false"`)
	p.want(`location.hash`, "#/drivers")
	p.save(p.sample)
	p.show("#/schedules")
	p.until(rows + ` === 7`)

	// A choice that nobody has made does not look made.
	p.press("n")
	p.until(`document.querySelector("#member-status")?.selectedOptions[0].text === "Choose…"`)
	p.want(`[...document.querySelector("#member-status").options].filter(e => e.text === "Scheduled").length`, "1")
	p.press("Escape")

	// Many changes are folded in the list.
	p.click(`[data-cell="0:3"]`)
	p.press("Shift+ArrowDown", "Shift+ArrowDown", "Shift+ArrowDown", "Shift+ArrowDown", "Shift+ArrowDown", "Shift+ArrowDown")
	p.paste("Everybody")
	p.until(cell("7", "passenger") + `?.textContent === "Everybody"`)
	p.show("#/_/changes")
	const changes = `document.querySelectorAll(".changes > li:first-child .change").length`
	p.until(changes + ` === 5`)
	p.clickText("Show 2 more")
	p.until(changes + ` === 7`)
	p.save(p.sample)

	// A header that cannot be sent is named.
	p.show("#/_/requests")
	p.clickText("New request")
	p.fill("[aria-label='Name of header 1']", "bad header name")
	p.sees("“bad header name” is not the name of a header")
}

// missingFlow removes the file: the next write creates it again, as the banner says.
func missingFlow(p *pageTest) {
	p.open("#/schedules")
	p.until(rows + ` === 7 && ` + toolsLoaded)
	if err := os.Remove(p.file); err != nil {
		p.Fatal(err)
	}
	p.until(`document.querySelector(".banner")?.innerText.includes("creates it again")`)
	p.until(`!document.querySelector(".tools .primary").ariaDisabled`)
	p.click(`[data-cell="0:2"]`)
	p.enter("Again\r")
	p.until(cell("1", "title") + `?.textContent === "Again" && !document.querySelector(".edits")`)
	p.holds(`"title": "Again"`)
	p.until(`!document.querySelector(".banner")`)
}

// codeFlow copies code for any call, and simulates answers from the table of an endpoint.
func codeFlow(p *pageTest) {
	const code = `document.querySelector("[aria-labelledby=usage] pre").textContent`
	p.open("#/")
	p.until(`document.querySelector("[aria-labelledby=usage] pre")?.textContent.includes("interface Schedule {")`)
	p.want(code+`.includes("const data: Schedule[] = await response.json();")`, "true")
	p.click("[aria-labelledby=usage] [aria-label=Call] button:nth-child(3)")
	p.until(code + `.includes('method: "POST"') && ` + code + `.includes('"title": "School run"') && !` + code + `.includes('"id": "1"')`)
	p.click("[aria-labelledby=usage] [aria-label=Language] button:nth-child(2)")
	p.until(code + `.includes('await axios.post<Schedule>("' + location.origin + '/schedules", {')`)
	p.click("[aria-labelledby=usage] [aria-label=Call] button:nth-child(4)")
	p.click("[aria-labelledby=usage] [aria-label=Language] button:nth-child(3)")
	p.until(code + `.includes('await ky.patch("' + location.origin + '/schedules/1", { json: {')`)
	p.want(code+`.endsWith(".json<Schedule>();")`, "true")
	p.click("[aria-labelledby=usage] [aria-label=Language] button:nth-child(4)")
	p.until(code + `.startsWith("curl -u 'pickup' -X PATCH")`)
	p.accessible("code", true)

	p.show("#/schedules?status=Canceled")
	p.until(rows + ` === 1`)
	p.clickText("Code")
	p.until(`document.querySelector("dialog pre")?.textContent.includes("/schedules?status=Canceled")`)
	p.press("Escape")
	simulate := func(name string) {
		p.Helper()
		p.click(".request [aria-label=Simulate]")
		p.until(`document.activeElement.closest(".menu")`)
		p.clickText(name)
	}
	simulate("Fail the next request")
	p.until(`document.querySelector(".banner.simulated")?.textContent.includes("(the next one only)")`)
	p.api("GET", "/schedules", "", 503)
	p.api("GET", "/schedules", "", 200)
	simulate("Empty list")
	p.until(`document.querySelector(".banner.simulated")?.textContent.includes("GET to /schedules get 200")`)
	if list := p.api("GET", "/schedules", "", 200); list != "[]" && list != "[]\n" {
		p.Errorf("the list is %s", list)
	}
	p.clickText("End it")
	p.until(`!document.querySelector(".banner.simulated")`)
	p.api("GET", "/schedules/1", "", 200)
}
