package page

import (
	"strings"

	"pickup/internal/tools/servertest"
)

// answersFlow chooses answers: of a request that is held, and of requests like one in the log from
// now on. What is simulated is in sight and ended by one click on each screen.
func answersFlow(p *pageTest) {
	const banner = `document.querySelector(".banner.simulated")`
	inSight := func() {
		p.Helper()
		p.until(banner + ` && ` + banner + `.getBoundingClientRect().bottom <= innerHeight && ` + banner + `.getBoundingClientRect().top >= 0`)
	}
	p.open("#/_/requests")
	p.until(toolsLoaded)
	p.clickText("Simulate")
	p.clickText("Held requests")
	inSight()
	type answer struct {
		status int
		body   string
	}
	answered := make(chan answer, 1)
	go func() {
		status, body := servertest.Send(p.T, "PATCH", p.process.URL+"/schedules/5", `{"title": "Held"}`)
		answered <- answer{status, body}
	}()
	p.clickText("Answer PATCH /schedules/5")
	p.until(`document.activeElement.id === "answer-code" && document.querySelector("#answer-body").shadowRoot?.querySelector(".cm-content")`)
	p.enter("409")
	p.fillJSON("#answer-body", `{"why": "taken}`)
	p.until(`document.querySelector("dialog .error")?.textContent.includes("line 1")`)
	p.press("Backspace")
	p.enter(`"}`)
	p.accessible("answer", true)
	p.picture("answer")
	p.press("Ctrl+Enter")
	if got := <-answered; got.status != 409 || !strings.Contains(got.body, `{"why":"taken"}`) {
		p.Errorf("the held request got %d %s", got.status, got.body)
	}
	p.until(`!document.querySelector("dialog")`)
	p.isSample()
	p.clickText("End it")
	p.until(`!` + banner)

	// From the log: at first with the answer that it got.
	p.api("GET", "/schedules/1", "", 200)
	p.until(`document.querySelector("table.log tbody tr")?.textContent.includes("/schedules/1")`)
	p.clickText("/schedules/1")
	p.clickText("Answer this from now on")
	p.until(`document.querySelector("#answer-body").shadowRoot?.textContent.includes("School run")`)
	p.fillJSON("#answer-body", `{"id": "1", "title": "Made up"}`)
	p.clickText("Answer so")
	p.until(`!document.querySelector("dialog")`)
	if text := p.api("GET", "/schedules/1", "", 200); text != `{"id":"1","title":"Made up"}`+"\n" {
		p.Errorf("the answer is %s", text)
	}
	p.api("GET", "/schedules/2", "", 200)
	for _, hash := range []string{"#/", "#/schedules", "#/schedules/2", "#/_/changes", "#/_/requests", "#/_/simulate"} {
		p.show(hash)
		inSight()
	}

	// Another answer for the same requests takes the place of the first.
	p.show("#/_/requests")
	p.clickText("/schedules/1")
	p.clickText("Answer this from now on")
	p.until(`document.querySelector("#answer-body").shadowRoot?.textContent.includes("Made up")`)
	p.fill("#answer-code", "404")
	p.clickText("Answer so")
	p.until(banner + `?.textContent.includes("GET to /schedules/1 get 404")`)
	p.api("GET", "/schedules/1", "", 404)
	p.clickText("End it")
	p.until(`!` + banner)
	p.api("GET", "/schedules/1", "", 200)
}
