//go:build linux

package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// listRows are the reads of a page of a large list.
func listRows(large string) []read {
	all := records(large, "schedules")
	canceled := where(all, "status", "Canceled")
	rising := ranked(canceled)
	slices.Reverse(rising)
	high := slices.DeleteFunc(slices.Clone(all), func(r any) bool { return r.(object)["rank"].(float64) < 90_000 })
	visits := search(all, "visit xa")
	const third, sorted = "status = 'Canceled'", "status=Canceled&_sort=rank"
	last := rising[30_000].(object)["id"].(string)
	return []read{
		{name: plainPage, mockoon: "/schedules?page=1&limit=30", slow: true, target: "/schedules?_page=1&_limit=30", target1: "/schedules?_page=1&_per_page=30", want: all[:30], pocketBase: pocketPage("", "", 1, all)},
		listRow("filter and page, a third of 100,000", "status=Canceled&_page=1&_limit=30", canceled[:30]).inPocketBase(pocketPage(third, "", 1, canceled)),
		listRow("filter and page, 2,000 of 100,000", "driverId=d7&_page=1&_limit=30", where(all, "driverId", "d7")[:30]).inPocketBase(pocketPage("driverId = 'd7'", "", 1, where(all, "driverId", "d7"))),
		listRow("range and page, a tenth of 100,000", "rank_gte=90000&_page=1&_limit=30", high[:30]).inPocketBase(pocketPage("rank >= 90000", "", 1, high)),
		listRow("filter, sort and page of 100,000", sorted+"&_page=1&_limit=30", rising[:30]).inPocketBase(pocketPage(third, "rank", 1, rising)),
		listRow("the same, page 900", sorted+"&_page=900&_limit=30", rising[26_970:27_000]).inPocketBase(pocketPage(third, "rank", 900, rising)),
		{name: "the same, _start and _end", slow: true, target: "/schedules?" + sorted + "&_start=26970&_end=27000", want: rising[26_970:27_000], targets: []target{twoPages, {of: peer0, least: 100}}},
		{name: "the same, _per_page", slow: true, target: "/schedules?" + sorted + "&_page=900&_per_page=30", want: rising[26_970:27_000], alone: true, targets: []target{twoPages}},
		{name: "title_like and page of 100,000", slow: true, target: "/schedules?title_like=visit+xa&_page=1&_limit=30", want: visits[:30], targets: []target{twoPages, {of: peer0, least: 100}}, pocketBase: pocketPage("title ~ 'visit xa'", "", 1, visits)},
		{name: "q and page of 100,000", mockoon: "/schedules?search=dentist&page=1&limit=30", slow: true, target: "/schedules?q=dentist&_page=1&_limit=30", want: search(all, "dentist")[:30], targets: []target{twoPages, {of: peer0, least: 100}}},
		{name: "filter, sort and page beside 20 PATCHes a second", slow: true, target: "/schedules?" + sorted + "&_page=1&_limit=30", target1: "/schedules?" + sorted + "&_page=1&_per_page=30", want: rising[:30], beside: last,
			targets: []target{{of: plainPage, cpu: 1.0 / 3}, {of: peer0, least: 100}, {of: peer1, least: 100}}},
		{name: "filter and page, one that was never asked before", slow: true, another: func(n int) question {
			least := n * 7919 % 90_000
			target := fmt.Sprintf("/schedules?status=Canceled&rank_gte=%d&_page=1", least)
			return question{target + "&_limit=30", target + "&_per_page=30", func() any {
				return slices.DeleteFunc(slices.Clone(canceled), func(r any) bool { return r.(object)["rank"].(float64) < float64(least) })[:30]
			}}
		}},
	}
}

// plainPage is the row of a page of a whole list. Rows of filtered lists compare with it.
const plainPage = "page of 100,000"

// twoPages allows twice the CPU time of plainPage.
var twoPages = target{of: plainPage, cpu: 0.5}

// listRow returns the read of a page of a filtered list.
func listRow(name, query string, want []any) read {
	return read{name: name, mockoon: "/schedules?" + forMockoon(query), slow: true, target: "/schedules?" + query, target1: "/schedules?" + strings.Replace(query, "_limit", "_per_page", 1),
		want: want, targets: []target{twoPages, {of: peer0, least: 100}, {of: peer1, least: 100}}}
}

// PocketBase reads are measured with and without indexes on the fields that the rows filter
// and sort by, and with and without the number of all records that match, which pickup
// always returns. Its writes are measured as it is, which leaves the last ones to the
// operating system, and with a sync of each.
const (
	pocketBase        = "PocketBase"
	pocketBaseIndexed = "PocketBase with indexes"
	pocketBaseDurable = "PocketBase with syncs"
	withoutTotal      = ", without totals"
	pocketBaseRecords = "/api/collections/schedules/records"
)

func isPocketBase(who string) bool {
	return who == pocketBase || who == pocketBaseIndexed || who == pocketBaseDurable
}

// A pocketRead is a page of a list of PocketBase.
type pocketRead struct {
	query   string
	sorted  bool
	matches []any // all records that match
	from    int   // the index of the first one of the page
}

// pocketPage returns a page of 30 records.
func pocketPage(filter, sort string, page int, matches []any) *pocketRead {
	query := url.Values{"page": {fmt.Sprint(page)}, "perPage": {"30"}}
	if filter != "" {
		query.Set("filter", "("+filter+")")
	}
	if sort != "" {
		query.Set("sort", sort)
	}
	return &pocketRead{query.Encode(), sort != "", matches, 30 * (page - 1)}
}

// inPocketBase returns r with the same page of PocketBase.
func (r read) inPocketBase(p *pocketRead) read {
	r.pocketBase = p
	r.targets = append(r.targets, target{of: pocketBaseIndexed, cpu: 10})
	return r
}

// readPocketBase is readOnce of PocketBase.
func (b *bench) readPocketBase(row *row, p *process, r *pocketRead) error {
	for query, who := range map[string]string{r.query: p.name, r.query + "&skipTotal=1": p.name + withoutTotal} {
		target := pocketBaseRecords + "?" + query
		status, body, err := p.get(target)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d", status)
		}
		if err == nil {
			err = r.check(body)
		}
		if err != nil {
			return fmt.Errorf("%s, GET %s: %w", p.name, target, err)
		}
		s, err := p.wrk(target, "", fewReaders, b.duration)
		if err != nil {
			return err
		}
		row.add(who, s)
	}
	return nil
}

// checkTotal checks that PocketBase has its first records and one for each turn.
func (p *process) checkTotal(records int, turns []int) error {
	for _, n := range turns {
		records += n
	}
	status, body, err := p.get(pocketBaseRecords + "?perPage=1")
	if err == nil && (status != http.StatusOK || !strings.Contains(string(body), fmt.Sprintf(`"totalItems":%d`, records))) {
		err = fmt.Errorf("%s does not have %d records: %d %.200s", p.name, records, status, body)
	}
	return err
}

// check checks a page. Its records may be any that match, unless it is sorted.
func (r *pocketRead) check(body []byte) error {
	v, err := decode(body)
	if err != nil {
		return err
	}
	answer, _ := v.(object)
	items, _ := answer["items"].([]any)
	total := answer["totalItems"]
	right := len(items) == 30 && (total == float64(len(r.matches)) || total == -1.0)
	for i, item := range items {
		has := func(want any) bool { return item.(object)["id"] == want.(object)["id"] }
		right = right && (r.sorted && has(r.matches[r.from+i]) || !r.sorted && slices.ContainsFunc(r.matches, has))
	}
	if !right {
		return fmt.Errorf("wrong answer: %.200s", body)
	}
	return nil
}

// selected is the number of selections that a collection has at most.
const selected = 16

// patchesOfLists measures PATCHes that change what selections filter and sort by. The floor
// is pickup without selections.
func (b *bench) patchesOfLists() error {
	for _, clients := range []int{1, 64} {
		name := fmt.Sprintf("PATCH beside %d selections, %d clients, 100,000 records; the floor: without", selected, clients)
		if !b.wanted(name) {
			continue
		}
		row := b.row(name, "ms", target{of: floor, most: 1.3}, target{of: floor, cpu: 1 / 1.3})
		for range b.times(row) {
			for n, who := range map[int]string{0: floor, selected: ours} {
				if err := b.patchOfLists(row, who, n, clients); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (b *bench) patchOfLists(row *row, who string, selections, clients int) error {
	const n = 100_000
	file := filepath.Join(b.work, "lists.json")
	if err := save(file, many(n)); err != nil {
		return err
	}
	p, err := b.launch(ours, file, "")
	if err != nil {
		return err
	}
	defer p.stop()
	for i := range 3 * selections {
		target := fmt.Sprintf("/schedules?status=Canceled&id_ne=no%d&_sort=rank&_page=1&_limit=30", i/3)
		status, body, err := p.get(target)
		if err != nil || status != http.StatusOK {
			return errors.Join(err, fmt.Errorf("GET %s: %d %.200s", target, status, body))
		}
	}
	before := p.cpu()
	did, err := p.load(clients, 2*b.duration, 1<<30, func(c *client, w, i int) (int, error) {
		status := []string{"Canceled", "Done"}[i%2]
		change := fmt.Sprintf(`{"status":"%s","rank":%d}`, status, (w*104729+i*7919)%n)
		code, answer, err := c.do("PATCH", fmt.Sprintf("/schedules/%d", (w*7919+i*104729)%n+1), change)
		return 1, checkWrite("PATCH", code, answer, err, http.StatusOK, status)
	})
	if err != nil {
		return err
	}
	used := p.cpu() - before
	row.add(who, sample{value: did.took.Seconds() * 1000 / float64(did.ops), cpu: used / time.Duration(did.ops), p99: did.p99})
	return nil
}
