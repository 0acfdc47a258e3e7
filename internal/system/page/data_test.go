package page

import "strings"

// dataFlow makes a collection and a field, imports and exports records, has some made
// up, and reads the schema.
func dataFlow(p *pageTest) {
	menu := func(name string) {
		p.Helper()
		p.click("main [aria-label=More]")
		p.until(`document.activeElement.closest(".menu")`)
		p.clickText(name)
	}
	const status = `document.querySelector("dialog p[role=status]")?.textContent`
	importText := func(text string) { // at once, as a paste does
		p.until(`document.querySelector("#import-text")`)
		p.run(`const e = document.querySelector("#import-text");
			e.value = ` + quoted(text) + `;
			e.dispatchEvent(new Event("input", {bubbles: true}))`)
	}

	// A new collection, and a field that all records get.
	p.open("#/schedules")
	p.until(rows + ` === 7`)
	p.click(".nav [aria-label='New collection']")
	p.fill("#collection-name", "drivers")
	p.press("Enter")
	p.sees("The file has drivers already.")
	p.fill("#collection-name", "trips")
	p.press("Enter")
	p.until(`location.hash === "#/trips" && document.querySelector("h1").textContent === "trips"`)
	p.holds(`"trips": []`)
	p.clickText("Undo")
	p.isSample()
	p.show("#/schedules")
	p.until(rows + ` === 7`)
	p.api("PATCH", "/schedules/2", `{"seats": 4}`, 200)
	menu("Add a field…")
	p.fill("#field-name", "seats")
	p.press("Enter") // without a value it is null
	p.sees("6 records of schedules have seats now")
	if list := p.api("GET", "/schedules?_fields=seats", "", 200); strings.Count(list, "null") != 6 || !strings.Contains(list, "4") {
		p.Errorf("the seats are %s", list)
	}
	p.press("Ctrl+z")
	p.until(cell("7", "seats") + `?.textContent === "–missing"`)
	p.api("POST", "/_/undo", "", 200)
	p.isSample()
	menu("Add a field…")
	p.fill("#field-name", "seats")
	p.fill("#field-value", "2")
	p.press("Enter")
	p.until(cell("7", "seats") + `?.textContent === "2"`)
	p.press("Ctrl+z")
	p.isSample()
	p.click("main .head .plus")
	p.until(`document.activeElement.id === "field-name"`)
	p.press("Escape")
	p.until(`document.activeElement.matches(".plus")`)
	p.press("ArrowLeft", "Home", "End", "Enter") // it is one of the headers
	p.fill("#field-name", "seats")
	p.press("Enter")
	p.until(cell("7", "seats") + `?.textContent === "null"`)
	p.clickText("Undo")
	p.isSample()

	// The import of a table: what is wrong, by line, and then the rest.
	menu("Import…")
	importText("id;Title;Driver ID;passenger;pickupLocation;dropoffLocation;pickup_time;dropoffTime;status;from.city;code\n" +
		"4;\"Piano;\nrecital\";;;;;;;;;\n" +
		"5;;;;;;;;Never;;\n" +
		";Swimming;Ruth Ellery;Ivy;Home;Pool;2026-10-01T08:00:00Z;2026-10-01T09:00:00Z;Scheduled;Bath;007\n")
	p.until(status + ` === "1 record added, 1 record changed"`)
	p.want(`[...document.querySelectorAll("dialog select")].map(e => e.value).join()`,
		"id,title,driverId,passenger,pickupLocation,dropoffLocation,pickupTime,dropoffTime,status,from.city,code")
	p.want(`[...document.querySelectorAll("dialog .faults tbody tr")].map(r => [...r.cells].slice(0, 4).map(c => c.textContent).join()).join("; ")`,
		"Dentist,status,Canceled,Never")
	p.isSample() // it was only tried
	p.clickText("Leave them out and import 2 records")
	p.until(rows + ` === 8`)
	p.holds(`"Piano;\nrecital"`)
	p.holds(`"code": "007"`)
	if list := p.api("GET", "/schedules?from.city=Bath&driverId=3&_fields=title", "", 200); !strings.Contains(list, "Swimming") {
		p.Errorf("the records from Bath are %s", list)
	}
	p.press("Ctrl+z")
	p.isSample()
	p.console() // the browser logs the 422

	// What others write after the records were compared stays.
	menu("Import…")
	importText("id,title\n4,Mine\n5,Mine\n")
	p.until(status + ` === "2 records changed"`)
	p.holdNext("request", `POST .*/_/transaction$`)
	p.clickText("Import 2 records")
	p.until(`window.held`)
	p.api("PATCH", "/schedules/5", `{"title": "Theirs"}`, 200)
	p.run(`release()`)
	p.sees("Somebody else has changed title of schedules 5. Nothing was written.")
	p.holds(`"title": "Theirs"`)
	p.holds("Piano lesson")
	p.press("Escape")
	p.until(`!document.querySelector("dialog")`)
	p.save(p.sample)
	p.console() // the browser logs the 409

	// A file that is dropped, of JSON. A field can be left out, and lines are named.
	drop := func(text string) {
		p.Helper()
		p.run(`const data = new DataTransfer();
			data.items.add(new File([` + quoted(text) + `], "records.json"));
			for (const type of ["dragover", "drop"])
				if (document.querySelector("main").dispatchEvent(new DragEvent(type, {dataTransfer: data, bubbles: true, cancelable: true}))) throw "the browser leaves the page"`)
	}
	const record = `"driverId": "1", "passenger": "Ivy", "pickupLocation": "Home", "dropoffLocation": "Pool",
		"pickupTime": "2026-10-01T08:00:00Z", "dropoffTime": "2026-10-01T09:00:00Z", "status": "Scheduled"}`
	drop(`{"schedules": [{"title": "First", ` + record + ",\n" + `{"title": 5, ` + record + `]}`)
	p.until(status + ` === "1 record added"`)
	p.want(`document.querySelector("dialog .faults tbody td").textContent`, "line 3")
	p.run(`const e = document.querySelector("dialog [aria-label='Field of title']"); e.value = ""; e.dispatchEvent(new Event("change", {bubbles: true}))`)
	p.until(`document.querySelectorAll("dialog .faults tbody tr").length === 2`) // a title is required of new records
	p.press("Escape")
	p.until(`!document.querySelector("dialog")`)
	drop("[1]")
	p.sees("Line 1: this element is no object.")
	p.press("Escape")
	p.until(`!document.querySelector("dialog")`)
	p.show("#/_/changes")
	drop("[]") // becomes a collection
	p.until(`document.querySelector("dialog #new-data")?.value === "[]"`)
	p.press("Escape")
	p.until(`!document.querySelector("dialog")`)
	p.console()

	// What is filtered is exported.
	p.run(`HTMLAnchorElement.prototype.click = function () { window.savedAs = this.download };
		const make = URL.createObjectURL;
		URL.createObjectURL = blob => { window.saved = blob.text(); return make(blob) }`)
	p.show("#/schedules?status=Canceled")
	p.until(rows + ` === 1`)
	menu("Export as CSV")
	p.until(`window.savedAs === "schedules.csv"`)
	p.want(`(await saved).split("\r\n").map(line => line.slice(0, 12)).join()`, "id,driverId,,5,1,Dentist,,")
	menu("Export as JSON")
	p.until(`window.savedAs === "schedules.json"`)
	p.want(`JSON.parse(await saved).map(r => r.title).join()`, "Dentist")

	// Made-up records are those that were shown.
	p.open("#/schedules")
	p.until(rows + ` === 7`)
	menu("Add made-up records…")
	p.fill("#made-count", "5")
	p.until(`document.querySelectorAll("dialog .made tbody tr").length === 3 && document.querySelector("dialog .primary").textContent.includes("5 records")`)
	p.isSample()
	p.run(`window.first = document.querySelector("dialog .made tbody tr").children[2].textContent; window.before = document.querySelector("dialog .made").textContent`)
	p.clickText("Others")
	p.until(`document.querySelector("dialog .made").textContent !== before`)
	p.run(`window.first = document.querySelector("dialog .made tbody tr").children[2].textContent`)
	p.click("dialog .primary")
	p.until(rows + ` === 12`)
	p.until(`document.querySelector("[data-cell='7:2']")?.textContent === first`)
	p.press("Ctrl+z")
	p.isSample()

	// The schema, and the one that is made from the data.
	menu("Schema")
	p.until(`[...document.querySelectorAll("dialog tbody tr")].some(r => r.textContent.includes("driverId") && r.textContent.includes("of drivers"))`)
	p.clickText("JSON")
	p.until(`document.querySelector("dialog pre")?.textContent.includes("\n  \"$defs\"")`)
	p.clickText("made from the data")
	p.until(`document.querySelector("dialog pre")?.textContent.includes("inferred from the contents")`)
	p.run(`navigator.clipboard.writeText = async text => { window.copied = text }`)
	p.click("dialog .copy")
	p.until(`JSON.parse(window.copied).properties.schedules`)
	p.press("Escape")
	p.until(`!document.querySelector("dialog")`)
}

// senderFlow edits requests and sends them.
func senderFlow(p *pageTest) {
	const answers = `[...document.querySelectorAll(".answers section")].map(e => e.querySelector("h3").textContent.replace(/ [\d.]+ ms/, "")).join()`
	p.api("DELETE", "/_/requests", "", 204)
	p.api("PATCH", "/schedules/5", `{"status": "Canceld"}`, 422)
	p.open("#/_/requests")
	p.clickText("/schedules/5")
	p.clickText("Edit and send")
	p.until(answers + ` === "Before 422"`)
	p.want(`[...document.querySelectorAll(".headers input")].map(e => e.value).join()`, "Content-Type,application/json,,")
	// What the server has found is at its place, and what is not JSON before it is sent.
	const editor = `document.querySelector("#sent-body").shadowRoot`
	p.until(editor + `?.querySelector(".fault")?.textContent === '"Canceld"'`)
	p.want(`[...document.querySelectorAll(".sender .error")].map(e => e.textContent).join("").startsWith("/status ")`, "true")
	p.want(`document.querySelector(".answers .wrong").textContent.includes("did you mean")`, "true")
	p.fillJSON("#sent-body", `{"status": "Rescheduled"`)
	p.until(`[...document.querySelectorAll(".sender .error")].map(e => e.textContent).join("") === "A comma or } is missing at line 1, column 25."`)
	p.enter("}")
	p.until(`[...document.querySelectorAll(".sender .error")].every(e => e.textContent === "")`)
	p.click(".sender [type=submit]")
	p.until(answers + ` === "Before 422,Answer 200"`)
	p.until(`document.querySelector(".answers section:last-child > pre").textContent.includes("Rescheduled")`)
	p.holds(`"Rescheduled"`)
	// It is listed as others are. A browser may send it without the password first.
	p.until(`[...document.querySelectorAll("table.log tbody tr")].filter(row => row.cells[1].textContent !== "401").length === 2`)
	p.run(`navigator.clipboard.writeText = async text => { window.copied = text }`)
	p.fill("[aria-label='Name of header 1']", "Prefer")
	p.want(`[...document.querySelectorAll("#header-names option")].some(e => e.value === "If-Match")`, "true")
	p.until(`[...document.querySelectorAll("#header-values-0 option")].some(e => e.value === "tx=rollback")`)
	p.fill("[aria-label='Value of header 1']", "return=minimal")
	p.clickText("curl")
	p.until(`window.copied?.startsWith("curl -u 'pickup' -X PATCH -H 'Prefer: return=minimal' --data-binary '{\"status\": \"Rescheduled\"}' 'http://localhost")`)
	p.clickText("fetch")
	p.until(`window.copied.includes('headers: { "Prefer": "return=minimal" }')`)
	const paths = `[...document.querySelectorAll("#sender-paths option")].map(e => e.value)`
	p.fill(".sender [aria-label=Path]", "schedules/5")
	p.sees("The path begins with /")
	p.fill("[aria-label='Name of header 1']", "no name")
	p.press("Ctrl+Enter")
	p.until(`document.activeElement.matches("[aria-label=Path][aria-invalid=true]")`)
	p.fill(".sender [aria-label=Path]", "/schedules?_sort=title&")
	p.until(paths + `.includes("/schedules?_sort=title&passenger=") && ` + paths + `.includes("/schedules?_sort=title&_limit=")`)
	p.fill(".sender [aria-label=Path]", "/schedules/5")
	p.until(paths + `.includes("/schedules/7") && ` + paths + `.includes("/drivers")`)
	p.press("Ctrl+Enter")
	p.until(`document.activeElement.matches("[aria-label='Name of header 1'][aria-invalid=true]")`)
	p.fill("[aria-label='Name of header 1']", "Prefer")
	p.press("Ctrl+Enter") // without a Content-Type it is JSON
	p.until(answers + ` === "Before 200,Answer 204" && document.querySelector(".answers section:last-child > .dim").textContent === "no body"`)
	p.want(`document.querySelector(".answers section:last-child details").textContent.includes("pickup-revision")`, "true")
	p.press("Escape")
	p.until(`!document.querySelector(".panel")`)

	// Faults of parameters are at the path.
	p.clickText("New request")
	p.fill(".sender [aria-label=Path]", "/schedules?_limt=3")
	p.press("Enter")
	p.until(`document.querySelector("#path-wrong").textContent.includes("_limit")`)
	p.press("Escape")
	p.until(`!document.querySelector(".panel")`)

	// A request of one's own, which rules simulate as those of a front end.
	p.clickText("New request")
	p.until(`location.hash === "#/_/requests/new" && document.querySelector(".sender [aria-label=Path]").value === "/schedules"`)
	p.api("POST", "/_/simulate", `{"path": "/schedules", "code": 503}`, 201)
	p.click(".sender [type=submit]")
	p.until(answers + ` === "Answer 503"`)
	p.api("DELETE", "/_/simulate", "", 204)
	p.run(`const e = document.querySelector(".sender select"); e.value = "DELETE"; e.dispatchEvent(new Event("change", {bubbles: true}))`)
	p.fill(".sender [aria-label=Path]", "/schedules/1")
	p.press("Enter")
	p.until(answers + ` === "Before 503,Answer 200"`)
	p.api("GET", "/schedules/1", "", 404)
	p.save(strings.Replace(p.sample, "School run", "School ride", 1))
	p.console() // the browser logs the 422 and the 503
}
