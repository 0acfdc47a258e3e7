package page

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pickup/etcdstore/etcdtest"
	"pickup/internal/tools/servertest"
)

// folderServer edits a database that has a file for each collection.
func folderServer(t *testing.T, ctx context.Context) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := func(name string) string { return filepath.Join(dir, name+".json") }
	text := func(name string) string { return string(servertest.Read(t, path(name))) }
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(path(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sample := string(servertest.Read(t, "../../../db.json"))
	put("db.schema", string(servertest.Read(t, "../../../db.schema.json")))
	for _, name := range []string{"schedules", "drivers"} {
		_, list, _ := strings.Cut(sample, `"`+name+`": `)
		put(name, list[:strings.Index(list, "\n  ]")+4]+"\n")
	}
	put("notes", "[{\"id\": 1,\t\"text\": \"Buy milk\"}]\n")
	server, err := servertest.Launch("pickup", filepath.Dir(dir), openServerEnv, "--access-log", "off", "data")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	p := &pageTest{process: server, file: path("schedules"), sample: text("schedules"), tab: newTab(t, ctx, server.URL)}
	drivers, notes := text("drivers"), text("notes")
	is := func(name, want string) {
		t.Helper()
		if !servertest.Eventually(func() bool { got, _ := os.ReadFile(path(name)); return string(got) == want }) {
			t.Fatalf("%s.json is not %q", name, want)
		}
	}
	const listed = `[...document.querySelectorAll(".nav [href^='#/']:not([href^='#/_']) .clip")].map(e => e.textContent).join()`

	// A write changes the file of its collection, and Undo restores it.
	p.open("#/schedules")
	p.until(cell("1", "driverId") + `?.textContent.startsWith("Dana Marlow") && ` + toolsLoaded)
	p.click(`[data-cell="0:2"]`)
	p.enter("Nail trim")
	p.press("Enter")
	p.holds("Nail trim")
	p.until(`document.activeElement.dataset.cell === "1:2"`)
	p.press("Ctrl+z")
	p.isSample()
	p.show("#/_/new/drivers")
	p.fill("#member-driverName", "Zed")
	p.fill("#member-driverIdentity", "Uncle")
	p.fill("#member-cellPhone", "(603) 555-0142")
	p.fill("#member-email", "zed@example.com")
	p.press("Ctrl+s")
	p.until(`location.hash === "#/drivers/5"`)
	if !strings.Contains(text("drivers"), "Zed") {
		t.Error("the new record is not in drivers.json")
	}
	p.clickText("Undo")
	is("drivers", drivers)
	p.isSample()

	// A new collection is a new file, and the other way around.
	p.show("#/schedules")
	p.click(".nav [aria-label='New collection']")
	p.fill("#collection-name", "db")
	p.press("Enter")
	p.sees(`a file of this name has another meaning`)
	p.console() // the browser logs the 422
	p.fill("#collection-name", "trips")
	p.press("Enter")
	p.until(`location.hash === "#/trips" && document.querySelector("h1").textContent === "trips"`)
	is("trips", "[]\n")
	p.clickText("Undo")
	if !servertest.Eventually(func() bool { _, err := os.Stat(path("trips")); return errors.Is(err, fs.ErrNotExist) }) {
		t.Error("Undo leaves trips.json")
	}
	p.sees("There is no collection")
	p.console() // the browser logs the 404
	put("stops", `[{"id": 1, "to": "Bath"}]`)
	p.until(listed + `.endsWith(",stops")`)
	p.show("#/stops")
	p.until(cell("1", "to") + `?.textContent === "Bath"`)

	// A collection is renamed and removed with its file, and an object, too.
	menu := func(name string) {
		t.Helper()
		p.click("main [aria-label=More]")
		p.until(`document.activeElement.closest(".menu")`)
		p.clickText(name)
	}
	stops := text("stops")
	menu("Rename the collection…")
	p.sees("It changes the name of the file and 1 record.")
	p.fill("#new-name", "halts")
	p.press("Enter")
	p.until(`location.hash === "#/halts" && ` + rows + ` === 1`)
	is("halts", stops)
	p.clickText("Undo")
	is("stops", stops)
	p.show("#/stops")
	p.until(rows + ` === 1`)
	menu("Remove the collection…")
	p.clickText("Remove it")
	p.until(`location.hash === "#/" && ` + listed + ` === "Overview,drivers,notes,schedules"`)
	p.clickText("Undo")
	is("stops", stops)
	const settings = "{\"theme\":\t\"dark\"}\n"
	put("settings", settings)
	p.until(listed + `.endsWith(",settings")`)
	p.show("#/settings")
	p.until(`document.querySelector("#member-theme")`)
	menu("Rename the object…")
	p.fill("#new-name", "options")
	p.press("Enter")
	p.until(`location.hash === "#/options" && document.querySelector("#member-theme")?.value === "dark"`)
	is("options", settings)
	p.clickText("Undo")
	is("settings", settings)
	p.show("#/settings")
	p.until(`document.querySelector("#member-theme")`)
	menu("Remove the object…")
	p.sees("The object is removed with all of its fields. Undo brings it back.")
	p.clickText("Remove it")
	p.until(`location.hash === "#/" && !` + listed + `.includes("settings")`)
	p.clickText("Undo")
	is("settings", settings)
	p.api("POST", "/_/transaction", `[{"op": "remove", "collection": "settings"}]`, 200)
	p.until(`!` + listed + `.includes("settings")`)
	p.console() // the browser logs what is gone

	// An edit of a file is shown at once.
	p.show("#/schedules")
	put("drivers", strings.Replace(drivers, "Dana Marlow", "Dana M.", 1))
	p.until(cell("1", "driverId") + `?.textContent.startsWith("Dana M.")`)

	// A file that does not parse is broken alone.
	put("drivers", "[,"+drivers[1:])
	p.until(`document.querySelector(".banner.bad")?.textContent.includes("drivers.json:1:2")`)
	const off = `document.querySelector(".tools .primary").getAttribute("aria-disabled")`
	p.until(off + ` === null`)
	p.click(`[data-cell="0:2"]`)
	p.enter("Written meanwhile")
	p.press("Enter")
	p.holds("Written meanwhile")
	p.until(`document.activeElement.dataset.cell === "1:2"`)
	p.press("Ctrl+z")
	p.isSample()
	p.show("#/drivers")
	p.want(off, "true")
	p.click(`[data-cell="0:1"]`)
	p.press("F2")
	p.until(`document.querySelector(".toast.bad")?.textContent.includes("drivers.json does not parse, so nothing can be written to it.")`)
	p.show("#/_/problems")
	p.until(`document.querySelector("main [role=alert]")?.textContent.includes("drivers.json cannot be loaded")`)
	p.sees("The other files can be written meanwhile.")
	p.want(`document.querySelector(".nav [href='#/_/problems'] .n").textContent`, "1")
	p.accessible("folder-broken", true)
	put("drivers", drivers)
	p.until(`!document.querySelector(".banner.bad")`)
	p.sees("No problems")

	// A file that is deleted takes its collection with it, and Undo brings both back.
	p.show("#/notes")
	p.until(rows + ` === 1`)
	p.want(listed, "Overview,drivers,notes,schedules,stops")
	if err := os.Remove(path("notes")); err != nil {
		t.Fatal(err)
	}
	p.until(listed + ` === "Overview,drivers,schedules,stops"`)
	p.sees("There is no collection")
	p.console() // the browser logs the 404
	p.show("#/_/changes")
	p.until(`document.querySelector(".changes li:first-child")?.textContent.includes("notes")`)
	p.click(".changes li:first-child button")
	is("notes", notes)
	p.until(listed + ` === "Overview,drivers,notes,schedules,stops"`)
	p.until(`document.querySelector(".changes li:first-child").textContent.includes("undo of")`)
	p.quiet()
}

// clusterServer changes as many records at once as a transaction of a cluster may.
func clusterServer(t *testing.T, ctx context.Context) {
	c, err := etcdtest.Start(etcdtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	dir := servertest.SampleDir(t)
	var text strings.Builder
	for i := range 4_001 {
		fmt.Fprintf(&text, `,{"id": %d, "text": "Note"}`, i+1)
	}
	if err := os.WriteFile(dir+"/db.json", []byte(`{"notes": [`+text.String()[1:]+`]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	url := "etcd://" + c.Hosts() + "/notes"
	if out, err := exec.Command(servertest.Built(t), "import", dir+"/db.json", url).CombinedOutput(); err != nil {
		t.Fatalf("import: %v\n%s", err, out)
	}
	p := servePageOf(t, ctx, dir, openServerEnv, url)
	changed := func() int { return strings.Count(p.api("GET", "/notes", "", 200), "Pasted") }
	p.open("#/notes")
	p.until(cell("1", "text") + `?.textContent === "Note" && ` + toolsLoaded)
	p.click(`[data-cell="0:1"]`)
	p.paste(strings.Repeat("Pasted\n", 4_001))
	p.sees("At most 4,000 records can be changed at once.")
	p.paste(strings.Repeat("Pasted\n", 4_000))
	p.sees("4,000 values of 4,000 records changed")
	if n := changed(); n != 4_000 {
		t.Errorf("%d records have what was pasted", n)
	}
	p.press("Ctrl+z")
	p.until(cell("1", "text") + `?.textContent === "Note"`)
	if n := changed(); n != 0 {
		t.Errorf("Undo leaves %d of what was pasted", n)
	}
	p.click("main .head .plus") // all records lack the field
	p.fill("#field-name", "seats")
	p.press("Enter")
	p.sees("More than 4,000 records lack it")
	p.press("Escape")
	p.quiet()
}
