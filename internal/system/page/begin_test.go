package page

import "pickup/internal/tools/servertest"

// beginFlow makes a mock at the page alone, from an empty file: two collections, one of which
// refers to the other, and changes of what they are.
func beginFlow(p *pageTest) {
	choose := func(label, kind string) {
		p.Helper()
		p.run(`const s = document.querySelector("[aria-label='` + label + `']");
			s.value = ` + quoted(kind) + `;
			s.dispatchEvent(new Event("change", {bubbles: true}))`)
	}
	menu := func(name string) {
		p.Helper()
		p.click("main [aria-label=More]")
		p.until(`document.activeElement.closest(".menu")`)
		p.clickText(name)
	}
	p.leave()
	p.save("{}")
	p.open("#/")
	p.fill("#collection-name", "authors")
	p.fill("[aria-label='Name of field 1']", "name")
	p.fill("[aria-label='Name of field 2']", "email")
	choose("Kind of field 2", "email")
	p.clickText("Create it with 10 records")
	p.until(`location.hash === "#/authors" && ` + rows + ` === 10`)
	p.until(cell("10", "email") + `?.textContent.includes("@")`)
	p.accessible("begin", true)

	p.click(".nav [aria-label='New collection']")
	p.fill("#collection-name", "posts")
	p.fill("[aria-label='Name of field 1']", "title")
	choose("Kind of field 2", "authors")
	p.want(`document.querySelector("[aria-label='Name of field 2']").value`, "authorId")
	p.clickText("Create it with 10 records")
	p.until(`location.hash === "#/posts" && ` + rows + ` === 10`)
	p.until(cell("1", "authorId") + `?.querySelector(".refid")`)
	if list := p.api("GET", "/_/sessions", "", 200); list != "[]\n" {
		p.Errorf("the sessions are %s", list)
	}

	// What a program writes is in the form for a new record, without an id.
	p.api("PATCH", "/posts/1", `{"published": true}`, 200)
	p.until(cell("1", "published") + `?.textContent === "true"`)
	p.press("n")
	p.until(`[...document.querySelectorAll(".panel .field label")].map(e => e.textContent).join() === "title,authorId,published"`)
	p.press("Escape")

	// A field of all records, and the collection, are renamed and removed; each is undone.
	before := p.api("GET", "/db", "", 200)
	undone := func() {
		p.Helper()
		p.clickText("Undo")
		if !servertest.Eventually(func() bool { return p.api("GET", "/db", "", 200) == before }) {
			p.Errorf("the database is %s, want %s", p.api("GET", "/db", "", 200), before)
		}
	}
	p.rightClick(`[data-cell="-1:1"]`)
	p.clickText("Rename title…")
	p.sees("It changes all 10 records of posts.")
	p.fill("#new-name", "headline")
	p.press("Enter")
	p.until(cell("10", "headline") + ` && !` + cell("10", "title"))
	undone()
	p.until(cell("10", "title") + ` && !` + cell("10", "headline"))
	p.rightClick(`[data-cell="-1:3"]`)
	p.clickText("Remove published…")
	p.clickText("Remove it")
	p.until(`!` + cell("1", "published"))
	undone()
	p.show("#/authors")
	p.until(rows + ` === 10`)
	menu("Rename the collection…")
	p.sees("posts.authorId refers to it")
	p.fill("#new-name", "writers")
	p.press("Enter")
	p.until(`location.hash === "#/writers" && ` + rows + ` === 10`)
	undone()
	p.show("#/posts")
	p.until(rows + ` === 10`)
	menu("Remove the collection…")
	p.sees("It has 10 records.")
	p.clickText("Remove it")
	p.until(`location.hash === "#/" && document.querySelectorAll(".nav a[href='#/posts']").length === 0`)
	undone()
	p.console() // the browser logs what is gone

	// Data that is typed or pasted becomes a collection, or several.
	p.click(".nav [aria-label='New collection']")
	p.fill("#collection-name", "trips")
	p.fill("#new-data", "to,seats\rBath,4\rYork,2\r")
	p.sees("trips with 2 records")
	p.clickText("Create it")
	p.until(`location.hash === "#/trips" && ` + rows + ` === 2`)
	if list := p.api("GET", "/trips?_fields=to,seats", "", 200); list != `[{"to":"Bath","seats":4},{"to":"York","seats":2}]`+"\n" {
		p.Errorf("the trips are %s", list)
	}
	menu("Import…")
	p.fill("#import-text", "to,seats\rWells,3\r")
	p.until(`document.querySelector("dialog p[role=status]")?.textContent === "1 record added"`)
	p.want(`document.querySelector("#import-text").value.split("\n").length`, "3")
	p.press("Escape")
}
