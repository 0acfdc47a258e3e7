package page

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	raster "image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"pickup/internal/tools/servertest"
)

var updatePictures = flag.Bool("update", false, "write the pictures in docs/page anew")

// maxPictures is the size of all pictures, in bytes.
const maxPictures = 900_000

// fixedClock is the clock of the page in the pictures: half a minute after the server's.
const fixedClock = `
	const now = Date.parse("2026-09-14T08:00:30Z"), Real = Date;
	window.Date = class extends Real {
		constructor(...parts) { parts.length === 0 ? super(now) : super(...parts) }
		static now() { return now }
	};`

// steady replaces what differs each time: durations, times and the port. It hides the
// cursors, which blink.
const steady = `
	document.documentElement.style.caretColor = "transparent";
	for (const host of document.querySelectorAll(".editor"))
		for (const cursor of host.shadowRoot?.querySelectorAll(".cm-cursorLayer") ?? []) cursor.style.visibility = "hidden";
	await Promise.all(document.getAnimations().map(a => a.finished.catch(() => {})));
	await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
	for (const cell of document.querySelectorAll("table.log:not(.sessions) td:nth-child(5)"))
		cell.firstChild.data = cell.closest("tr").querySelector(".simulated") ? "300" : "0.4";
	for (const time of document.querySelectorAll("time")) time.firstChild.data = "now";
	const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (texts.nextNode()) {
		const node = texts.currentNode;
		const text = node.data.replaceAll(location.origin, "http://localhost:3000").replace(/^\d+\.\d$/, "0.4")
			.replace(/^\d+(\.\d+)? ms$/, "0.4 ms").replace(/(?<![T\d])\d\d:\d\d:\d\d(?!Z)/, "08:00:00");
		if (text !== node.data) node.data = text;
	}
	await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));`

// TestPagePictures makes pictures of screens and compares them with those in
// docs/page, which the manual shows. A screen that looks different fails: if it ought
// to, -update writes the pictures anew.
func TestPagePictures(t *testing.T) {
	t.Parallel()
	ctx := browser(t, pictureFonts(t))
	dir := servertest.SampleDir(t)
	server, err := servertest.Launch("pickup", dir, openServerEnv, "--access-log", "off", "--now", "2026-09-14T08:00:00Z", "--seed", "1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	p := &pageTest{process: server, file: dir + "/db.json", sample: string(servertest.Read(t, dir+"/db.json")), tab: newTab(t, ctx, server.URL)}
	p.before(fixedClock)
	total := int64(0)
	for _, screen := range screens(p) {
		p.do(chromedp.EmulateViewport(1200, 750))
		if screen.phone {
			p.onPhone()
		}
		p.look(screen.dark)
		p.open(screen.hash)
		screen.act()
		p.until(`document.querySelector(".foot .live")?.textContent === "Live" && !document.querySelector(".skeleton-bar, .wait, .changed, .row.new")`)
		file := filepath.Join("..", "..", "..", "docs", "page", screen.name+".png")
		if *updatePictures {
			p.updatePicture(file)
		} else {
			p.comparePicture(file)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
		if screen.after != nil {
			screen.after()
		}
	}
	if total > maxPictures {
		t.Errorf("the pictures have %d bytes, want at most %d", total, maxPictures)
	}
}

// pictureFonts lets Chromium use the fonts of the pictures alone.
func pictureFonts(t *testing.T) chromedp.ExecAllocatorOption {
	t.Helper()
	config, err := filepath.Abs("testdata/fonts.conf")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"); err != nil {
		t.Fatal("the fonts of the pictures are missing: make setup installs them")
	}
	return chromedp.Env("FONTCONFIG_FILE="+config, "XDG_CACHE_HOME="+t.TempDir(), "TZ=UTC", "LANG=en_US.UTF-8")
}

// look sets the color scheme, and that nothing moves.
func (p *tab) look(dark bool) {
	p.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	if err != nil {
		p.Fatal(err)
	}
}

// A screen is what a picture shows.
type screen struct {
	name, hash  string
	dark, phone bool
	act         func() // once the page shows the hash
	after       func() // once the picture is made
}

// screens returns what the pictures show, one after the other.
func screens(p *pageTest) []screen {
	rows := func(n int) func() { return func() { p.until(fmt.Sprintf("%s === %d", rows, n)) } }
	seen := func(selector string) func() {
		return func() { p.until(`document.querySelector(` + quoted(selector) + `)`) }
	}
	names := func() { p.until(cell("1", "driverId") + `?.textContent.startsWith("Dana Marlow")`) }
	form := func() {
		p.until(`document.querySelector("#member-driverId")?.value === "Tomas Marlow"`)
	}
	undo := func() { // a reset of the file would be an edit that undoes a write, which is a finding
		p.api("POST", "/_/undo", "", 200)
		p.reset()
	}
	const failures = `document.querySelector(".nav [href='#/_/requests'] .n")`
	listed := func() {
		p.until(`document.querySelectorAll("table.log tbody tr").length > 3 && !` + failures) // they have been seen
		p.sees("POST to /schedules wait 300 ms and get 503")
	}
	return []screen{
		{name: "overview", hash: "#/", act: func() {
			p.until(`document.querySelector(".members")?.textContent.includes("pickupLocation")`)
			p.api("PATCH", "/schedules/5", `{"title": "Optician"}`, 200)
			p.frontEnd("GET", "/schedules?_sort=-pickupTime&_limit=20", "")
			p.frontEnd("PATCH", "/schedules/5", `{"status": "Scheduld"}`)
			p.until(`document.querySelector("[aria-label='Latest changes'] li") && document.querySelectorAll("[aria-label='Latest requests'] li").length === 3`)
			p.until(failures + `?.textContent === "1"`)
			p.sees("3,137 bytes") // of the file with the change
		}, after: undo},
		{name: "changes", hash: "#/_/changes", act: func() {
			p.api("PATCH", "/schedules/5", `{"title": "Optician"}`, 200)
			p.fill(".snapshots input", "before-the-demo")
			p.clickText("Take a snapshot")
			p.until(`document.querySelector(".changes li:first-child")?.textContent.includes("Optician")`)
			p.until(`document.querySelector(".snapshots .feed")?.textContent.includes("before-the-demo")`)
		}, after: undo},
		{name: "requests", hash: "#/_/requests", dark: true, act: func() {
			p.api("DELETE", "/_/requests", "", 204)
			p.frontEnd("GET", "/schedules?_sort=-pickupTime&_limit=20", "")
			p.frontEnd("GET", "/drivers/2?_embed=schedules", "")
			p.frontEnd("PATCH", "/schedules/5", `{"status": "Scheduld"}`)
			p.api("POST", "/_/simulate", `{"path": "/schedules", "methods": ["POST"], "delay": 300, "code": 503}`, 201)
			p.frontEnd("POST", "/schedules", `{"title": "Swimming"}`)
			p.open("#/_/requests") // which reads the rule
			listed()
		}},
		{name: "request", hash: "#/_/requests", act: func() {
			listed()
			p.clickText("/schedules/5")
			p.until(`document.querySelector(".panel pre")?.textContent.includes("Scheduld")`)
		}},
		{name: "sender", hash: "#/_/requests", act: func() {
			listed()
			p.clickText("/schedules/5")
			p.clickText("Edit and send")
			p.until(`document.querySelector(".answers section")`)
			p.fillJSON("#sent-body", `{"status": "Rescheduled"}`)
			p.click(".sender [type=submit]")
			p.until(`document.querySelectorAll(".answers section").length === 2 && document.querySelectorAll("table.log tbody tr").length === 5`)
			p.run(`document.activeElement.blur()`)
		}, after: undo},
		{name: "phone-requests", hash: "#/_/requests", phone: true, act: listed, after: func() {
			p.api("DELETE", "/_/simulate", "", 204)
			p.api("DELETE", "/_/requests", "", 204)
		}},
		{name: "table", hash: "#/schedules?status=Scheduled&_sort=-pickupTime", act: func() {
			rows(4)()
			p.until(cell("7", "driverId") + `?.textContent.startsWith("Ruth Ellery")`)
		}},
		{name: "table-dark", hash: "#/schedules", dark: true, act: names},
		{name: "suggestions", hash: "#/schedules", act: func() {
			names()
			p.press("/")
			p.until(`document.activeElement.id === "filter"`)
			p.enter("status=")
			p.until(`document.querySelectorAll("[role=option]").length === 4`)
		}},
		{name: "refused", hash: "#/drivers", act: func() {
			rows(4)()
			p.click(`[data-cell="1:3"]`)
			p.press("Enter")
			p.until(`document.activeElement.matches(".edits input")`)
			p.enter("603")
			p.press("Enter")
			seen(".cellerror")()
		}},
		{name: "selection", hash: "#/schedules", act: func() {
			names()
			p.click(`[data-cell="1:1"]`)
			p.press("Shift+Space", "ArrowDown", "ArrowDown", "Shift+Space")
			p.until(`document.querySelector(".selection")?.textContent.includes("2 records selected")`)
		}},
		{name: "range", hash: "#/schedules", act: func() {
			names()
			p.click(`[data-cell="1:2"]`)
			p.press("Shift+ArrowDown", "Shift+ArrowDown", "Shift+ArrowRight")
			p.rightClick(`[data-cell="3:3"]`)
			p.until(ranged + ` === 6 && document.activeElement.closest(".menu")`)
		}},
		{name: "import", hash: "#/schedules", act: func() {
			names()
			p.click("main [aria-label=More]")
			p.clickText("Import…")
			p.until(`document.querySelector("#import-text")`)
			p.run(`const e = document.querySelector("#import-text");
				e.value = "id;Title;Driver;status\n4;Piano recital;Ruth Ellery;Rescheduled\n5;Dentist;2;Never\n";
				e.dispatchEvent(new Event("input", {bubbles: true}))`)
			p.until(`document.querySelector("dialog .faults")`)
			p.run(`const e = document.querySelector("dialog [aria-label='Field of Driver']"); e.value = "driverId"; e.dispatchEvent(new Event("change", {bubbles: true}))`)
			p.until(`document.querySelector("dialog p[role=status]")?.textContent === "1 record changed" && document.querySelector("dialog .faults")`)
		}},
		{name: "record", hash: "#/schedules/4", act: func() { names(); form() }},
		{name: "new", hash: "#/_/new/schedules", dark: true, act: func() {
			names()
			p.fill("#member-title", "Swimming")
			p.fill("#member-pickupTime", "tomorrow")
			p.press("Ctrl+s")
			seen("#member-pickupTime-wrong")()
		}},
		{name: "json", hash: "#/drivers/1", act: func() {
			p.fill("#member-cellPhone", "603")
			p.press("Ctrl+s")
			seen("#member-cellPhone-wrong")()
			p.clickText("JSON")
			p.until(`document.querySelector(".editor")?.shadowRoot?.querySelector(".fault")`)
		}},
		{name: "merge", hash: "#/schedules/4", act: func() {
			names()
			p.fill("#member-title", "Piano concert")
			text := strings.Replace(p.sample, "Piano lesson", "Piano recital", 1)
			p.save(strings.Replace(text, "2026-09-17T16:20:00Z", "2026-09-17T16:10:00Z", 1))
			seen(".merge")()
		}, after: p.reset},
		{name: "delete", hash: "#/drivers/2", act: func() {
			p.click(".delete")
			seen("dialog [type=checkbox]")()
		}},
		{name: "broken", hash: "#/schedules", act: func() {
			names()
			p.save(strings.Replace(p.sample, `"drivers": [`, `"drivers": [,`, 1))
			seen(".banner.bad")()
		}, after: p.reset},
		{name: "problems", hash: "#/_/problems", act: func() {
			p.save(strings.ReplaceAll(p.sample, `"Rescheduled"`, `"Resheduled"`))
			seen(".findings li")()
			p.until(`document.querySelector(".nav .n.bad")`)
		}, after: p.reset},
		{name: "relations", hash: "#/_/relations", act: seen(".reflist li")},
		{name: "review", hash: "#/_/sessions/agent", act: func() {
			p.api("PUT", "/_/sessions/agent", `{"keep": true}`, 201)
			p.api("PATCH", "/_/s/agent/schedules/4", `{"title": "Piano concert", "status": "Scheduled"}`, 200)
			p.api("DELETE", "/_/s/agent/schedules/7", "", 200)
			p.until(`document.querySelectorAll(".changes > li").length === 2`)
		}},
		{name: "sessions", hash: "#/_/sessions", act: func() {
			p.api("PATCH", "/_/s/checkout/schedules/4", `{"title": "In the session"}`, 200)
			p.until(`document.querySelectorAll("table.sessions tbody tr").length === 2 && document.querySelector(".banner.session")`)
		}, after: func() {
			p.api("DELETE", "/_/sessions/checkout", "", 204)
			p.api("DELETE", "/_/sessions/agent", "", 204)
		}},
		{name: "palette", hash: "#/schedules", act: func() {
			names()
			p.press("Ctrl+k")
			p.until(`document.activeElement.matches(".palette input")`)
			p.enter("dentist")
			p.until(`[...document.querySelectorAll("#found li")].some(e => e.textContent.includes("schedules 5"))`)
		}},
		{name: "keys", hash: "#/schedules", dark: true, act: func() {
			names()
			p.press("?")
			seen("dialog .keys")()
		}},
		{name: "phone-table", hash: "#/schedules", phone: true, act: func() {
			p.until(`document.querySelectorAll(".card-row").length === 7 && document.querySelector(".grid").textContent.includes("Dana Marlow")`)
		}},
		{name: "phone-record", hash: "#/schedules/4", phone: true, dark: true, act: form},
	}
}

// frontEnd sends a request as the page of a front end does.
func (p *pageTest) frontEnd(method, path, body string) {
	p.Helper()
	r, err := http.NewRequest(method, p.process.URL+path, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	r.Header.Set("Origin", "http://localhost:5173")
	r.Header.Set("User-Agent", "Mozilla/5.0")
	r.Header.Set("X-Request-Id", "front-end")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	answer.Body.Close()
}

// capture returns a picture of the tab without what differs each time.
func (p *tab) capture() *raster.RGBA {
	p.Helper()
	p.run(steady)
	b, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.Fatal(err)
	}
	return p.decode(b)
}

func (p *tab) decode(b []byte) *raster.RGBA {
	p.Helper()
	decoded, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		p.Fatal(err)
	}
	picture := raster.NewRGBA(decoded.Bounds())
	draw.Draw(picture, picture.Bounds(), decoded, raster.Point{}, draw.Src)
	return picture
}

// comparePicture waits until the tab looks like a picture.
func (p *tab) comparePicture(file string) {
	p.Helper()
	want := p.decode(servertest.Read(p.T, file))
	got := p.capture()
	for end := time.Now().Add(servertest.Patience); visibleDifference(got, want) != "" && time.Now().Before(end); got = p.capture() {
		time.Sleep(100 * time.Millisecond)
	}
	if found := visibleDifference(got, want); found != "" {
		failed := filepath.Join(p.ArtifactDir(), filepath.Base(file))
		p.write(failed, got)
		p.Errorf("%s: %s (now %s; if it is right: go test -tags nomsgpack ./cmd/pickup -run TestPagePictures -update)", file, found, failed)
	}
}

// updatePicture writes a picture of the tab, unless it looks like the one in the file.
func (p *tab) updatePicture(file string) {
	p.Helper()
	got := p.capture()
	for next := p.capture(); !bytes.Equal(got.Pix, next.Pix); next = p.capture() { // until nothing moves
		got = next
	}
	if kept, err := os.ReadFile(file); err == nil && visibleDifference(got, p.decode(kept)) == "" {
		return
	}
	p.write(file, withPalette(got))
}

func (p *tab) write(file string, picture raster.Image) {
	p.Helper()
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, picture); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		p.Fatal(err)
	}
}

// Pictures are compared block by block, because a word is few of a million pixels. The
// mean of a block hides how the edges of letters are smoothed, and what the palette
// lacks: that is at most 1.5, and a digit that differs is 6.
const (
	blockSize     = 16 // pixels
	maxDifference = 4  // of 255, the mean of a block
)

// visibleDifference reports where two pictures differ, "" if they look the same.
func visibleDifference(a, b *raster.RGBA) string {
	if a.Bounds() != b.Bounds() {
		return fmt.Sprintf("the picture is %v and was %v", a.Bounds().Max, b.Bounds().Max)
	}
	size, n, first := a.Bounds().Max, 0, raster.Point{}
	for y := 0; y < size.Y; y += blockSize {
		for x := 0; x < size.X; x += blockSize {
			if meanDifference(a, b, raster.Rect(x, y, x+blockSize, y+blockSize)) > maxDifference {
				if n++; n == 1 {
					first = raster.Pt(x, y)
				}
			}
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d blocks of %d pixels differ, the first at %v", n, blockSize, first)
}

// meanDifference returns the mean difference of the channels of a block of two pictures.
// The race detector would take ten times as long for a million pixels.
//
//go:norace
func meanDifference(a, b *raster.RGBA, block raster.Rectangle) float64 {
	block = block.Intersect(a.Bounds())
	sum := 0
	for y := block.Min.Y; y < block.Max.Y; y++ {
		for i := a.PixOffset(block.Min.X, y); i < a.PixOffset(block.Max.X, y); i++ {
			sum += max(int(a.Pix[i])-int(b.Pix[i]), int(b.Pix[i])-int(a.Pix[i]))
		}
	}
	return float64(sum) / float64(3*block.Dx()*block.Dy()) // nothing is transparent
}

// TestVisibleDifference changes a picture in ways that people see, and in one that
// they do not.
func TestVisibleDifference(t *testing.T) {
	t.Parallel()
	p := &tab{T: t}
	kept := p.decode(servertest.Read(t, "../../../docs/page/table.png"))
	button := raster.Rect(1071, 103, 1176, 137)
	ground := kept.RGBAAt(button.Min.X-4, button.Min.Y)
	for _, test := range []struct {
		name   string
		change func(*raster.RGBA)
		seen   bool
	}{
		{"nothing", func(*raster.RGBA) {}, false},
		{"smoother edges", func(picture *raster.RGBA) {
			for i := range picture.Pix {
				picture.Pix[i] = uint8(min(255, int(picture.Pix[i])+i%3))
			}
		}, false},
		{"a button of another color", func(picture *raster.RGBA) {
			for y := button.Min.Y; y < button.Max.Y; y++ {
				for x := button.Min.X; x < button.Max.X; x++ {
					c := picture.RGBAAt(x, y)
					c.R, c.B = c.B, c.R
					picture.SetRGBA(x, y, c)
				}
			}
		}, true},
		{"a button in another place", func(picture *raster.RGBA) {
			draw.Draw(picture, button, raster.NewUniform(ground), raster.Point{}, draw.Src)
			draw.Draw(picture, button.Add(raster.Pt(-2, 0)), kept, button.Min, draw.Src)
		}, true},
		{"no button", func(picture *raster.RGBA) {
			draw.Draw(picture, button, raster.NewUniform(ground), raster.Point{}, draw.Src)
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			picture := raster.NewRGBA(kept.Bounds())
			copy(picture.Pix, kept.Pix)
			test.change(picture)
			if found := visibleDifference(picture, kept); (found != "") != test.seen {
				t.Errorf("the difference is %q", found)
			}
		})
	}
}

// withPalette returns a picture with 256 colors, which is a third of the size: first
// those that are unlike all others, because red may be rare, then the most frequent.
func withPalette(picture *raster.RGBA) *raster.Paletted {
	bounds := picture.Bounds()
	frequency := make(map[color.RGBA]int)
	for y := range bounds.Max.Y {
		for x := range bounds.Max.X {
			frequency[picture.RGBAAt(x, y)]++
		}
	}
	colors := slices.SortedFunc(maps.Keys(frequency), func(a, b color.RGBA) int {
		return cmp.Or(frequency[b]-frequency[a], cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var palette color.Palette
	nearest := func(c color.RGBA) (index uint8, far float64) {
		far = math.Inf(1)
		for i := range palette {
			if d := distance(c, palette[i].(color.RGBA)); d < far {
				index, far = uint8(i), d
			}
		}
		return index, far
	}
	for _, apart := range []float64{20, 0} {
		for _, c := range colors {
			if _, far := nearest(c); far > apart && len(palette) < 256 {
				palette = append(palette, c)
			}
		}
	}
	indices := make(map[color.RGBA]uint8)
	for _, c := range colors {
		indices[c], _ = nearest(c)
	}
	result := raster.NewPaletted(bounds, palette)
	for y := range bounds.Max.Y {
		for x := range bounds.Max.X {
			result.SetColorIndex(x, y, indices[picture.RGBAAt(x, y)])
		}
	}
	return result
}

// distance returns how far two colors are apart.
func distance(a, b color.RGBA) float64 {
	square := func(x, y uint8) float64 { d := float64(x) - float64(y); return d * d }
	return math.Sqrt(square(a.R, b.R) + square(a.G, b.G) + square(a.B, b.B))
}
