package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	raster "image"
	"image/color"
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
)

var updatePictures = flag.Bool("update", false, "write the pictures in docs/page anew")

// maxPictures is the size of all pictures, in bytes.
const maxPictures = 1_000_000

// fixedClock is the clock of the page in the pictures: half a minute after the server's.
const fixedClock = `
	const now = Date.parse("2026-09-14T08:00:30Z"), Real = Date;
	window.Date = class extends Real {
		constructor(...parts) { parts.length === 0 ? super(now) : super(...parts) }
		static now() { return now }
	};`

// steady replaces what differs each time, such as durations and the port, and hides
// the cursors, which blink.
const steady = `(async () => {
	document.documentElement.style.caretColor = "transparent";
	for (const host of document.querySelectorAll(".editor"))
		for (const cursor of host.shadowRoot?.querySelectorAll(".cm-cursorLayer") ?? []) cursor.style.visibility = "hidden";
	await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
	const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (texts.nextNode()) {
		const node = texts.currentNode;
		const text = node.data.replaceAll(location.origin, "http://localhost:3000")
			.replace(/\b\d+(\.\d+)? ms\b/, "2 ms").replace(/^ms ago$/, "now");
		if (text !== node.data) node.data = text;
	}
	for (const cell of document.querySelectorAll("table.log td:nth-child(5)")) if (Number(cell.textContent) < 300) cell.textContent = "0.2";
})()`

// TestPagePictures makes a picture of each screen and compares it with the one in
// docs/page, which the manual shows. A screen that looks different fails: if it ought
// to, -update writes the pictures anew.
func TestPagePictures(t *testing.T) {
	t.Parallel()
	fonts, err := filepath.Abs("testdata/fonts.conf")
	if err != nil {
		t.Fatal(err)
	}
	ctx := browserFor(t, 3*time.Minute, chromedp.Env("FONTCONFIG_FILE="+fonts, "TZ=UTC", "LANG=en_US.UTF-8"))
	dir := sampleDir(t)
	server, err := launch("pickup", dir, openServerEnv, "--access-log", "off", "--now", "2026-09-14T08:00:00Z", "--seed", "1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.kill)
	p := &pageTest{process: server, file: dir + "/db.json", sample: string(read(t, dir+"/db.json")), tab: newTab(t, ctx, server.url)}
	p.before(fixedClock)
	total := int64(0)
	for _, screen := range pictures(p) {
		if screen.phone {
			p.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch))
		} else {
			p.do(chromedp.EmulateViewport(1200, 750))
		}
		p.look(screen.dark)
		p.open(screen.hash)
		if screen.act != nil {
			screen.act()
		}
		p.until(`!document.querySelector(".bone, .wait, .changed, .row.new")`)
		p.run(steady)
		now, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join("..", "..", "docs", "page", screen.name+".png")
		total += p.compare(name, now)
		if screen.after != nil {
			screen.after()
		}
	}
	if total > maxPictures {
		t.Errorf("the pictures have %d bytes, want at most %d", total, maxPictures)
	}
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
type screenshot struct {
	name, hash  string
	dark, phone bool
	act         func() // once the page shows the hash
	after       func() // once the picture is made
}

func pictures(p *pageTest) []screenshot {
	rows := func(n int) func() { return func() { p.until(fmt.Sprintf("%s === %d", rows, n)) } }
	seen := func(selector string) func() {
		return func() { p.until(`document.querySelector(` + quoted(selector) + `)`) }
	}
	names := func() { p.until(cell("1", "driverId") + `?.textContent.startsWith("Dana Marlow")`) }
	form := func() {
		p.until(`document.querySelector("#member-title") && document.querySelector(".after .clip")?.textContent === "Tomas Marlow"`)
	}
	return []screenshot{
		{name: "overview", hash: "#/", act: func() { p.until(`document.querySelector(".members")?.textContent.includes("pickupLocation")`) }},
		{name: "table", hash: "#/schedules?status=Scheduled&_sort=-pickupTime", act: func() {
			rows(4)()
			p.until(cell("7", "driverId") + `?.textContent.startsWith("Ruth Ellery")`)
		}},
		{name: "table-dark", hash: "#/schedules", dark: true, act: names},
		{name: "suggestions", hash: "#/schedules", act: func() {
			names()
			p.press("/")
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
			seen(".strip.bad")()
		}, after: p.reset},
		{name: "problems", hash: "#/_/problems", act: func() {
			p.save(strings.ReplaceAll(p.sample, `"Rescheduled"`, `"Resheduled"`))
			seen(".findings li")()
			p.until(`document.querySelector(".nav .n.bad")`)
		}, after: p.reset},
		{name: "relations", hash: "#/_/relations", act: seen(".reflist li")},
		{name: "changes", hash: "#/_/changes", act: func() {
			p.api("PATCH", "/schedules/5", `{"title": "Optician"}`, 200)
			p.fill(".snapshots input", "before-the-demo")
			p.clickText("Take a snapshot")
			p.until(`document.querySelector(".changes li:first-child")?.textContent.includes("Optician")`)
			p.until(`document.querySelector(".snapshots .feed")?.textContent.includes("before-the-demo")`)
		}, after: p.reset},
		{name: "requests", hash: "#/_/requests", dark: true, act: func() {
			p.api("DELETE", "/_/requests", "", 204)
			p.frontEnd("GET", "/schedules?_sort=-pickupTime&_limit=20", "")
			p.frontEnd("GET", "/drivers/2?_embed=schedules", "")
			p.frontEnd("PATCH", "/schedules/5", `{"status": "Scheduld"}`)
			p.api("POST", "/_/simulate", `{"path": "/schedules", "methods": ["POST"], "delay": 300, "code": 503}`, 201)
			p.frontEnd("POST", "/schedules", `{"title": "Swimming"}`)
			p.until(`document.querySelectorAll("table.log tbody tr").length === 4 && document.querySelector(".simulation.on")`)
		}},
		{name: "request", hash: "#/_/requests", act: func() {
			p.until(`document.querySelectorAll("table.log tbody tr").length === 4`)
			p.clickText("/schedules/5")
			p.until(`document.querySelector(".panel pre")?.textContent.includes("Scheduld")`)
		}},
		{name: "phone-requests", hash: "#/_/requests", phone: true, act: func() {
			p.until(`document.querySelectorAll("table.log tbody tr").length === 4`)
		}, after: func() { p.api("DELETE", "/_/simulate", "", 204) }},
		{name: "sessions", hash: "#/_/sessions", act: func() {
			p.api("PUT", "/_/sessions/checkout", "", 201)
			p.api("PATCH", "/_/s/checkout/schedules/4", `{"title": "In the session"}`, 200)
			p.until(`document.querySelector(".changes b")?.textContent === "checkout"`)
			p.click(".changes button[aria-expanded]")
			p.until(`document.querySelector(".changes .feed")?.textContent.includes("schedules 4")`)
		}, after: func() { p.api("DELETE", "/_/sessions/checkout", "", 204) }},
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
	r, err := http.NewRequest(method, p.process.url+path, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	r.Header.Set("Origin", "http://localhost:5173")
	r.Header.Set("User-Agent", "Mozilla/5.0")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	answer.Body.Close()
}

// compare compares a picture with the one in a file, or writes it. It returns the
// size of the file.
func (p *tab) compare(name string, now []byte) int64 {
	p.Helper()
	got, err := png.Decode(bytes.NewReader(now))
	if err != nil {
		p.Fatal(err)
	}
	if *updatePictures {
		var b bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, withPalette(got)); err != nil {
			p.Fatal(err)
		}
		if kept, err := os.ReadFile(name); err == nil {
			if want, err := png.Decode(bytes.NewReader(kept)); err == nil && difference(got, want) == "" {
				return int64(len(kept)) // the same to the eye
			}
		}
		if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
			p.Fatal(err)
		}
		return int64(b.Len())
	}
	kept := read(p.T, name)
	want, err := png.Decode(bytes.NewReader(kept))
	if err != nil {
		p.Fatal(err)
	}
	if found := difference(got, want); found != "" {
		failed := filepath.Join(p.ArtifactDir(), filepath.Base(name))
		if err := os.WriteFile(failed, now, 0o644); err != nil {
			p.Error(err)
		}
		p.Errorf("%s: %s (now %s; if it is right: go test ./cmd/pickup -run TestPagePictures -update)", name, found, failed)
	}
	return int64(len(kept))
}

// Pictures are compared block by block, because a word is few of a million pixels.
// The mean of a block hides what smoothing makes of the edge of a letter.
const (
	blockSize     = 16 // pixels
	maxDifference = 8  // of 255, the mean of a block
)

// difference reports where two pictures differ, "" if they look the same.
func difference(a, b raster.Image) string {
	if a.Bounds() != b.Bounds() {
		return fmt.Sprintf("the picture is %v and was %v", a.Bounds().Max, b.Bounds().Max)
	}
	size, n, first := a.Bounds().Max, 0, raster.Point{}
	for y := 0; y < size.Y; y += blockSize {
		for x := 0; x < size.X; x += blockSize {
			block := raster.Rect(x, y, min(x+blockSize, size.X), min(y+blockSize, size.Y))
			if meanDifference(a, b, block) > maxDifference {
				if n++; n == 1 {
					first = block.Min
				}
			}
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d blocks of %d pixels differ, the first at %v", n, blockSize, first)
}

func meanDifference(a, b raster.Image, block raster.Rectangle) float64 {
	sum := 0.0
	for y := block.Min.Y; y < block.Max.Y; y++ {
		for x := block.Min.X; x < block.Max.X; x++ {
			sum += math.Sqrt(distance(rgb(a.At(x, y)), rgb(b.At(x, y))) / 3)
		}
	}
	return sum / float64(block.Dx()*block.Dy())
}

func rgb(c color.Color) color.RGBA { return color.RGBAModel.Convert(c).(color.RGBA) }

// distance returns the square of how far two colors are apart.
func distance(a, b color.RGBA) float64 {
	square := func(x, y uint8) float64 { d := float64(x) - float64(y); return d * d }
	return square(a.R, b.R) + square(a.G, b.G) + square(a.B, b.B)
}

// withPalette returns a picture with its 256 most frequent colors, which is a third
// of the size.
func withPalette(picture raster.Image) *raster.Paletted {
	bounds := picture.Bounds()
	frequency := make(map[color.RGBA]int)
	for y := range bounds.Max.Y {
		for x := range bounds.Max.X {
			frequency[rgb(picture.At(x, y))]++
		}
	}
	colors := slices.SortedFunc(maps.Keys(frequency), func(a, b color.RGBA) int {
		return cmp.Or(frequency[b]-frequency[a], cmp.Compare(int(a.R)<<16|int(a.G)<<8|int(a.B), int(b.R)<<16|int(b.G)<<8|int(b.B)))
	})
	nearest := make(map[color.RGBA]uint8)
	var palette color.Palette
	for i, c := range colors {
		if i < 256 {
			palette, nearest[c] = append(palette, c), uint8(i)
			continue
		}
		for j := range palette {
			if distance(c, palette[j].(color.RGBA)) < distance(c, palette[nearest[c]].(color.RGBA)) {
				nearest[c] = uint8(j)
			}
		}
	}
	result := raster.NewPaletted(bounds, palette)
	for y := range bounds.Max.Y {
		for x := range bounds.Max.X {
			result.SetColorIndex(x, y, nearest[rgb(picture.At(x, y))])
		}
	}
	return result
}
