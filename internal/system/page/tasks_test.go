package page

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"pickup/internal/tools/servertest"
)

// A task is something that people do with the page, by keys and the pointer alone.
type task struct {
	name string
	file string // what the file has at first; "": the sample
	run  func(*pageTest)
}

var tasks = []task{
	{"begin", "{}", beginTask},
	{"rename a field", manyPosts(1000), renameTask},
	{"remove a collection", manyPosts(3), removeTask},
	{"fill a range", "", fillTask},
	{"redo", "", redoTask},
	{"slow endpoint", "", slowTask},
	{"failing save", "", failingTask},
	{"answer from the log", "", answerTask},
	{"paste objects", `{"trips": [{"id": "1", "to": "Bath", "stops": [{"place": "Home", "at": 7}]}]}`, objectsTask},
	{"toggle booleans", manyPosts(40), toggleTask},
	{"reload", "", reloadTask},
	{"read-only", "", readOnlyTask},
}

// TestPageTasks does each task on a server and in a tab of its own, in Chromium.
func TestPageTasks(t *testing.T) {
	t.Parallel()
	ctx := sharedBrowser(t)
	for _, task := range tasks {
		t.Run(task.name, func(t *testing.T) {
			t.Parallel()
			task.do(t, func(url string) *tab { return newTab(t, ctx, url) })
		})
	}
}

// do does the task in the tab that open returns for the URL of a server.
func (task task) do(t *testing.T, open func(url string) *tab) {
	dir := servertest.SampleDir(t)
	if task.file != "" {
		if err := os.WriteFile(dir+"/db.json", []byte(task.file), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(dir + "/db.schema.json"); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"--access-log", "off"}
	if task.name == "read-only" {
		args = append(args, "--read-only")
	}
	server, err := servertest.Launch("pickup", dir, openServerEnv, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	file := dir + "/db.json"
	p := &pageTest{process: server, file: file, sample: string(servertest.Read(t, file)), tab: open(server.URL)}
	task.run(p)
	p.quiet()
}

// manyPosts returns a file with n posts.
func manyPosts(n int) string {
	var b strings.Builder
	b.WriteString("{\n  \"posts\": [\n")
	for i := range n {
		fmt.Fprintf(&b, `    {"id": "%d", "title": "Post %d", "done": false}`, i+1, i+1)
		if i < n-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("  ]\n}\n")
	return b.String()
}

// table opens a table and waits for its rows.
func (p *tab) table(name string, n int) {
	p.Helper()
	p.open("#/" + name)
	p.until(fmt.Sprintf(`%s >= %d && %s`, rows, min(n, 7), toolsLoaded))
}

// tap clicks the button, link or item of a menu that begins with a text, with the pointer.
func (p *tab) tap(text string) {
	p.Helper()
	const found = `[...document.querySelectorAll("dialog *, *")].filter(e => e.matches("button, a, [role=menuitem], summary") && e.checkVisibility())`
	p.until(found + `.some(e => e.textContent.trim().startsWith(` + quoted(text) + `))`)
	p.run(`document.querySelector("[data-tapped]")?.removeAttribute("data-tapped");
		` + found + `.find(e => e.textContent.trim().startsWith(` + quoted(text) + `)).setAttribute("data-tapped", "")`)
	p.click("[data-tapped]")
}

// menu opens the menu More of a table and chooses an item.
func (p *tab) menu(item string) {
	p.Helper()
	p.click("main [aria-label=More]")
	p.until(`document.activeElement.closest(".menu")`)
	p.tap(item)
}

// beginTask makes two collections of ten records, one of which refers to the other, and copies a
// typed fetch of one record.
func beginTask(p *pageTest) {
	p.open("#/")
	p.click("#collection-name")
	p.enter("authors\tname\t\temail\te\t")
	p.until(`document.querySelector("[aria-label='Kind of field 2']").value === "email"`)
	p.tap("Create it with 10 records")
	p.until(`location.hash === "#/authors" && ` + rows + ` === 10`)
	p.click(".nav [aria-label='New collection']")
	p.until(`document.activeElement.id === "collection-name"`)
	p.enter("posts\ttitle\t\t\t→\t")
	p.until(`document.querySelector("[aria-label='Name of field 2']").value === "authorId"`)
	p.tap("Create it with 10 records")
	p.until(`location.hash === "#/posts" && ` + rows + ` === 10`)
	p.until(cell("1", "authorId") + `?.querySelector(".refid")`)
	p.run(`navigator.clipboard.writeText = async text => { window.copied = text }`)
	p.tap("Code")
	p.until(`document.querySelector("dialog pre")?.textContent.includes("interface Post {")`)
	p.click("dialog [aria-label=Call] button:nth-child(2)")
	p.until(`document.querySelector("dialog pre").textContent.includes("const data: Post = ")`)
	p.click("dialog .copy")
	p.until(`window.copied?.includes("/posts/1")`)
	p.want(`(async () => {
		const call = copied.slice(copied.indexOf("const response")).replace(": Post", "");
		const post = await Function("return (async () => {" + call + "; return data })()")();
		return typeof post.title + typeof post.authorId;
	})()`, "stringstring")
}

// undoneTo presses Ctrl Z, and waits until the file is a text.
func (p *pageTest) undoneTo(text string) {
	p.Helper()
	p.press("Ctrl+z")
	p.isFile(text)
}

// isFile waits until the file is a text.
func (p *pageTest) isFile(text string) {
	p.Helper()
	if !servertest.Eventually(func() bool { return string(servertest.Read(p.T, p.file)) == text }) {
		p.Errorf("the file is not what it should be, but %.1500s", servertest.Read(p.T, p.file))
	}
}

func renameTask(p *pageTest) {
	p.table("posts", 1000)
	p.rightClick(`[data-cell="-1:1"]`)
	p.tap("Rename title…")
	p.sees("It changes all 1,000 records of posts.")
	p.press("Ctrl+a")
	p.enter("headline\r")
	p.until(cell("7", "headline") + ` && !` + cell("7", "title"))
	p.holds(`"headline": "Post 1000"`)
	p.undoneTo(p.sample)
	p.until(cell("7", "title") + ` && !` + cell("7", "headline"))
}

func removeTask(p *pageTest) {
	p.table("posts", 3)
	before := p.api("GET", "/db", "", 200)
	p.menu("Remove the collection…")
	p.sees("It has 3 records.")
	p.tap("Remove it")
	p.until(`location.hash === "#/" && !document.querySelector(".nav a[href='#/posts']")`)
	p.press("Ctrl+z")
	p.until(`document.querySelector(".nav a[href='#/posts']")`)
	if after := p.api("GET", "/db", "", 200); after != before { // the file is laid out anew
		p.Errorf("the database is %s", after)
	}
	p.console() // the browser may log what is gone
}

func fillTask(p *pageTest) {
	p.table("schedules", 7)
	p.click(`[data-cell="1:3"]`)
	p.press("Shift+ArrowDown", "Shift+ArrowDown", "Shift+ArrowDown")
	p.enter("Zoe Miller")
	p.press("Ctrl+Enter")
	p.until(cell("2", "passenger") + `?.textContent === "Zoe Miller" && ` + cell("5", "passenger") + `?.textContent === "Zoe Miller"`)
	p.want(cell("6", "passenger")+`.textContent === "Zoe Miller"`, "false")
	p.undoneTo(p.sample)
}

func redoTask(p *pageTest) {
	p.table("schedules", 7)
	p.click(`[data-cell="0:2"]`)
	p.enter("One\rTwo\rThree\r")
	p.holds(`"Three"`)
	p.until(`!document.querySelector(".edits")`)
	done := string(servertest.Read(p.T, p.file))
	p.press("Ctrl+z", "Ctrl+z")
	p.undoneTo(p.sample)
	p.press("Ctrl+y", "Ctrl+Shift+Z", "Ctrl+y")
	p.isFile(done)
}

func slowTask(p *pageTest) {
	p.table("schedules", 7)
	p.click(".request [aria-label=Simulate]")
	p.until(`document.activeElement.closest(".menu")`)
	p.tap("Slow answers")
	p.until(`document.querySelector(".banner.simulated")?.textContent.includes("all requests to /schedules wait 1000 ms")`)
	if rules := p.api("GET", "/_/simulate", "", 200); !strings.Contains(rules, `"path":"/schedules/*"`) {
		p.Errorf("the rules are %s", rules)
	}
	p.tap("End it")
	p.until(`!document.querySelector(".banner.simulated")`)
	if rules := p.api("GET", "/_/simulate", "", 200); strings.TrimSpace(rules) != "[]" {
		p.Errorf("the rules are %s", rules)
	}
}

// failingTask saves a record while the server cannot be reached: the form keeps the draft.
func failingTask(p *pageTest) {
	p.open("#/schedules/4")
	p.until(`document.querySelector("#member-title")?.value === "Piano lesson" && ` + toolsLoaded)
	p.click("#member-title")
	p.press("Ctrl+a")
	p.enter("Piano recital")
	p.run(`const send = fetch;
		window.fetch = (url, options) => {
			if (options.method === "GET") return send(url, options);
			window.fetch = send;
			return Promise.resolve(new Response("{}", {status: 503, statusText: "Service Unavailable"}));
		}`)
	p.press("Ctrl+s")
	p.until(`document.querySelector(".panel .wrong, .toast.bad")`)
	p.want(`document.querySelector("#member-title").value`, "Piano recital")
	p.isSample()
	p.press("Ctrl+s")
	p.holds(`"Piano recital"`)
	p.until(`!document.querySelector(".panel .wrong, .dirty")`)
}

func answerTask(p *pageTest) {
	p.open("#/_/requests")
	p.api("GET", "/schedules/1", "", 200)
	p.tap("/schedules/1")
	p.tap("Answer this from now on")
	p.until(`document.activeElement.id === "answer-code"`)
	p.enter("410\r")
	p.until(`document.querySelector(".banner.simulated")?.textContent.includes("GET to /schedules/1 get 410")`)
	p.api("GET", "/schedules/1", "", 410)
	p.tap("End it")
	p.until(`!document.querySelector(".banner.simulated")`)
	p.api("GET", "/schedules/1", "", 200)
}

func objectsTask(p *pageTest) {
	p.open("#/trips/1")
	const places = `[...document.querySelectorAll(".objects tbody tr")].map(r => [...r.querySelectorAll("input")].map(e => e.value).join(" ")).join()`
	p.until(places + ` === "Home 7" && ` + toolsLoaded)
	p.click(`.objects [aria-label="place of row 1"]`)
	p.paste(`[{"place": "School", "at": 8}, {"place": "Gym", "at": 9}]`)
	p.until(places + ` === "Home 7,School 8,Gym 9"`)
	p.press("Ctrl+s")
	p.holds(`{"place": "Home", "at": 7}, {"place": "School", "at": 8}, {"place": "Gym", "at": 9}`)
	p.tap("Undo")
	p.isSample()
}

// toggleTask turns forty booleans on, with two keys for each.
func toggleTask(p *pageTest) {
	p.table("posts", 40)
	p.click(`[data-cell="0:2"]`)
	for range 40 {
		p.press("Space", "ArrowDown")
	}
	if !servertest.Eventually(func() bool { return strings.Count(string(servertest.Read(p.T, p.file)), `"done": true`) == 40 }) {
		p.Errorf("the file is %s", servertest.Read(p.T, p.file))
	}
}

// reloadTask loads the page anew while a field is edited, and undoes what was done before.
func reloadTask(p *pageTest) {
	p.table("schedules", 7)
	p.click(`[data-cell="3:2"]`)
	p.enter("Before\r")
	p.holds(`"Before"`)
	p.until(cell("4", "title") + `?.textContent === "Before" && !document.querySelector(".edits")`)
	p.enter("Half")
	p.table("schedules", 7)
	p.until(cell("4", "title") + `?.textContent === "Before"`)
	p.undoneTo(p.sample)
}

// readOnlyTask tries to write in every way: it is refused in words, and nothing is red.
func readOnlyTask(p *pageTest) {
	p.table("schedules", 7)
	isCalm := func() {
		p.Helper()
		p.want(`document.querySelectorAll(".toast.bad, .banner.bad, .wrong, .error:not(:empty), .danger").length`, "0")
	}
	p.click(`[data-cell="0:2"]`)
	for _, keys := range [][]string{{"z"}, {"Delete"}, {"Ctrl+x"}, {"Ctrl+d"}, {"n"}, {"Ctrl+z"}, {"Ctrl+Enter"}} {
		p.press(keys...)
		isCalm()
	}
	p.paste("Nobody")
	p.sees("You have read-only access.")
	isCalm()
	for _, hash := range []string{"#/", "#/schedules/1", "#/_/changes", "#/_/problems", "#/_/sessions", "#/_/requests", "#/_/simulate"} {
		p.show(hash)
		isCalm()
	}
	p.show("#/_/simulate")
	p.sees("You have read-only access.")
	p.isSample()
}
