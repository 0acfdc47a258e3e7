package page

import (
	"errors"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// typingFlow types at once, on a slow machine, too: keys wait for the input that they are meant
// for, and none of them is lost or does something else.
func typingFlow(p *pageTest) {
	rates := []float64{10}
	pauses := []time.Duration{0}
	if long() {
		rates = []float64{1, 10, 20, 30, 40}
		pauses = []time.Duration{0, 60 * time.Millisecond}
	}
	for _, rate := range rates {
		for _, pause := range pauses {
			p.typesAtOnce(hands{rate, pause})
			p.composes()
			p.save(p.sample)
		}
	}
}

// slowDown makes the processor of the tab slower by a factor.
func (p *tab) slowDown(factor float64) {
	p.Helper()
	if p.firefox != nil {
		return // it has nothing to make it slower
	}
	_, err := chromedp.Call(p.ctx, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: factor})
	if err != nil {
		p.Fatal(err)
	}
}

// hands type with a pause before each key while the processor is slower by a factor.
type hands struct {
	rate  float64
	pause time.Duration
}

// enterWith types a text. What waits for its effects does so at full speed.
func (p *tab) enterWith(h hands, text string) {
	p.Helper()
	p.slowDown(h.rate)
	for _, r := range text {
		time.Sleep(h.pause)
		p.keys(string(r))
	}
	p.slowDown(1)
}

func (p *pageTest) typesAtOnce(h hands) {
	p.Helper()
	p.open("#/schedules")
	p.until(rows + ` === 7`)

	// Cells: a text, a reference, a choice, and what is typed while the cell before is saved.
	p.pointAt(`[data-cell="1:2"]`)
	p.enterWith(h, "Zoe Miller\rNext one\rThird\t")
	p.enterWith(h, "Nobody\r")
	p.holds(`"title": "Zoe Miller"`)
	p.holds(`"title": "Next one"`)
	p.until(`document.activeElement.dataset.cell === "4:3"`)
	p.holds(`"title": "Third"`)
	p.holds(`"passenger": "Nobody"`)
	p.pointAt(`[data-cell="1:1"]`)
	p.enterWith(h, "ruth\r")
	p.pointAt(`[data-cell="2:8"]`)
	p.enterWith(h, "canceled\r")
	p.holds(`"driverId": "3",` + "\n      " + `"title": "Zoe Miller"`)
	p.until(cell("3", "status") + `?.textContent === "Canceled"`)

	// A range, the palette and a new record.
	p.pointAt(`[data-cell="4:2"]`)
	p.press("Shift+ArrowDown")
	p.enterWith(h, "Ranged\r")
	p.holds(`"title": "Ranged"`)
	p.press("Ctrl+k")
	p.enterWith(h, "driv\r")
	p.until(`location.hash === "#/drivers" && ` + rows + ` === 4`)
	p.press("n")
	p.enterWith(h, "Zoe Miller\tAunt\t")
	p.until(`document.activeElement.matches(".panel #member-cellPhone") && document.querySelector("#member-driverName").value === "Zoe Miller"`)
	p.want(`document.querySelector("#member-driverIdentity").value`, "Aunt")
}

// composes types with an input method, which composes in an input that is there.
func (p *pageTest) composes() {
	p.Helper()
	p.press("Escape")
	p.clickText("Leave without saving")
	p.show("#/schedules")
	p.until(rows + ` === 7`)
	p.pointAt(`[data-cell="0:3"]`)
	p.press("ArrowRight")
	p.compose("にほん", "日本")
	p.press("Enter")
	p.holds("日本")
}

// pointAt clicks an element and does not wait for what the page does then.
func (p *tab) pointAt(selector string) {
	p.Helper()
	at := p.place(selector)
	p.clickXY(at.X+at.Width/2, at.Y+at.Height/2, false)
}

// compose types a text with an input method, which shows other letters first.
func (p *tab) compose(letters, text string) {
	p.Helper()
	steps := []error{
		call(p, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: "rawKeyDown", Key: "Process", WindowsVirtualKeyCode: 229}),
		call(p, input.ImeSetComposition, input.ImeSetCompositionParams{Text: letters, SelectionStart: int64(len([]rune(letters))), SelectionEnd: int64(len([]rune(letters)))}),
		call(p, input.InsertText, input.InsertTextParams{Text: text}),
	}
	if err := errors.Join(steps...); err != nil {
		p.Fatal(err)
	}
}

func call[P, R any](p *tab, command cdp.Command[P, R], parameters P) error {
	_, err := chromedp.Call(p.ctx, command, parameters)
	return err
}
