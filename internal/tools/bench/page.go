//go:build linux

package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	browserpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// page measures the page at /_/ in Chromium, which draws with the processors.
func (b *bench) page() error {
	var first, relative, frame, longest, heap, idle *row
	if name := "first rows of the page, 7 records"; b.wanted(name) {
		first = b.row(name, "ms")
	}
	if name := "first rows of the page, 100,000 records relative to 7"; b.wanted(name) {
		relative = b.row(name, "times", target{most: 1.3})
	}
	if name := "frame of the page while it scrolls by 40 pixels each, 100,000 records"; b.wanted(name) {
		frame = b.row(name, "ms")
	}
	if name := "longest frame of the page while it scrolls, 100,000 records"; b.wanted(name) {
		longest = b.row(name, "ms", target{most: 50})
	}
	if name := "memory of the page after 10,000 changes relative to 1,000"; b.wanted(name) {
		heap = b.row(name, "times", target{most: 1.1})
	}
	if name := "CPU time of the server in a second, one page open"; b.wanted(name) {
		idle = b.row(name, "ms", target{most: 1})
	}
	if b.times(first, relative, frame, longest, heap, idle) == 0 {
		return nil
	}
	few, err := b.launchPage("few.json", many(7))
	if err != nil {
		return err
	}
	defer few.stop()
	all, err := b.launchPage("all.json", many(100_000))
	if err != nil {
		return err
	}
	defer all.stop()
	for range b.times(first, relative) {
		var fewTimes, allTimes []float64
		for range 3 { // in turns, in a new browser each, as somebody who opens the page for the first time
			for _, p := range []*pageProcess{few, all} {
				took, err := b.firstRows(p)
				if err != nil {
					return err
				}
				if p == few {
					fewTimes = append(fewTimes, took)
				} else {
					allTimes = append(allTimes, took)
				}
			}
		}
		slices.Sort(fewTimes)
		slices.Sort(allTimes)
		first.add(ours, sample{value: fewTimes[1]})
		relative.add(ours, sample{value: allTimes[1] / fewTimes[1]})
	}
	for range b.times(frame, longest) {
		if err := b.scroll(all, frame, longest); err != nil {
			return err
		}
	}
	for range b.times(heap, idle) {
		if err := b.watch(few, heap, idle); err != nil {
			return err
		}
	}
	return nil
}

// A pageProcess is a server with the address of its page.
type pageProcess struct {
	*process
	page string
}

func (b *bench) launchPage(name, text string) (*pageProcess, error) {
	file := filepath.Join(b.work, name)
	if err := save(file, text); err != nil {
		return nil, err
	}
	p, err := b.launch(ours, file, "")
	if err != nil {
		return nil, err
	}
	address, err := url.Parse(p.url + "/_/#/schedules")
	if err != nil {
		p.stop()
		return nil, err
	}
	address.User = url.UserPassword(user, password)
	return &pageProcess{p, address.String()}, nil
}

// open opens the page in a new browser and waits for its first rows. firstRows is the
// time of the first frame that has them, in milliseconds.
func (b *bench) open(p *pageProcess) (tab context.Context, firstRows float64, closed func(), err error) {
	path, err := exec.LookPath("chromium-headless-shell")
	if err != nil {
		return nil, 0, nil, fmt.Errorf("the rows of the page need a browser (make setup installs it): %w", err)
	}
	dir, err := os.MkdirTemp(b.work, "browser-")
	if err != nil {
		return nil, 0, nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(dir), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-background-networking", true), chromedp.WindowSize(1360, 850))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	ctx, cancelProcess := chromedp.NewExecAllocator(ctx, options...)
	ctx, cancelTab := chromedp.NewContext(ctx)
	closed = func() { cancelTab(); cancelProcess(); cancel() }
	const note = `(function look() {
		if (document.querySelectorAll(".spacer .row .cell").length > 20 && !document.querySelector(".spacer .bone")) window.firstRows = performance.now();
		else requestAnimationFrame(look);
	})()`
	if err = chromedp.Do(ctx, chromedp.Navigate("about:blank")); err == nil {
		_, err = chromedp.Call(ctx, browserpage.AddScriptToEvaluateOnNewDocument, browserpage.AddScriptToEvaluateOnNewDocumentParams{Source: note})
	}
	if err == nil {
		err = chromedp.Do(ctx, chromedp.Navigate(p.page))
	}
	if err == nil {
		firstRows, err = chromedp.Run(ctx, chromedp.Evaluate[float64](`(async () => {
			while (!window.firstRows) await new Promise(done => setTimeout(done, 5));
			return window.firstRows;
		})()`, chromedp.EvalAwaitPromise))
	}
	if err != nil {
		closed()
		return nil, 0, nil, err
	}
	return ctx, firstRows, closed, nil
}

func (b *bench) firstRows(p *pageProcess) (float64, error) {
	_, took, closed, err := b.open(p)
	if err != nil {
		return 0, err
	}
	closed()
	return took, nil
}

// scroll scrolls through 400 frames of a list.
func (b *bench) scroll(p *pageProcess, frame, longest *row) error {
	tab, _, closed, err := b.open(p)
	if err != nil {
		return err
	}
	defer closed()
	times, err := chromedp.Run(tab, chromedp.Evaluate[[]float64](`(async () => {
		const frame = () => new Promise(requestAnimationFrame), grid = document.querySelector(".grid"), times = [];
		await new Promise(done => setTimeout(done, 1000)); // until the labels and the schemas are there
		for (let last = await frame(), i = 0; i < 400; i++) {
			grid.scrollTop += 40;
			const now = await frame();
			times.push(now - last);
			last = now;
		}
		return times.sort((a, b) => a - b);
	})()`, chromedp.EvalAwaitPromise))
	if err != nil {
		return err
	}
	frame.add(ours, sample{value: times[len(times)/2]})
	longest.add(ours, sample{value: times[len(times)-1]})
	return nil
}

// watch opens a page, leaves it alone, and then changes the records that it shows.
func (b *bench) watch(p *pageProcess, heap, idle *row) error {
	tab, _, closed, err := b.open(p)
	if err != nil {
		return err
	}
	defer closed()
	if idle != nil {
		time.Sleep(2 * time.Second)
		before, begin := p.cpu(), time.Now()
		time.Sleep(2 * b.duration)
		idle.add(ours, sample{value: (p.cpu() - before).Seconds() * 1000 / time.Since(begin).Seconds()})
	}
	if heap == nil {
		return nil
	}
	c, err := p.connect()
	if err != nil {
		return err
	}
	defer c.conn.Close()
	var sizes []float64
	for _, n := range []int{1000, 9000} {
		for i := range n {
			body := fmt.Sprintf(`{"title":"change %d"}`, len(sizes)*1000+i)
			status, answer, err := c.do("PATCH", fmt.Sprintf("/schedules/%d", i%7+1), body)
			if err := checkWrite("PATCH", status, answer, err, 200, "change"); err != nil {
				return err
			}
		}
		last := fmt.Sprintf("change %d", len(sizes)*1000+n-1)
		size, err := heapOf(tab, last)
		if err != nil {
			return err
		}
		sizes = append(sizes, size)
	}
	heap.add(ours, sample{value: sizes[1] / sizes[0]})
	return nil
}

// heapOf waits until a page shows a text, and returns the memory of its objects once
// what they do not need is freed.
func heapOf(tab context.Context, text string) (float64, error) {
	shown, err := chromedp.Run(tab, chromedp.Evaluate[bool](`(async () => {
		const shows = () => document.querySelector(".grid").textContent.includes("`+text+`") && !document.querySelector(".changed");
		for (let i = 0; i < 1000 && !shows(); i++) await new Promise(done => setTimeout(done, 20));
		return shows();
	})()`, chromedp.EvalAwaitPromise))
	if err != nil || !shown {
		return 0, fmt.Errorf("the page does not show %s: %w", text, err)
	}
	if _, err := chromedp.Call(tab, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
		return 0, err
	}
	usage, err := chromedp.Call(tab, runtime.GetHeapUsage, cdp.Empty{})
	return usage.UsedSize, err
}
