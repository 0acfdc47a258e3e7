package server_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pickup/server"
)

// A selectionRecord is a record of TestSelectionForms.
type selectionRecord struct {
	ID     string `json:"id"`
	Rank   int    `json:"rank"`
	Status string `json:"status"`
}

// csv returns the record as a line of CSV.
func (r selectionRecord) csv() string {
	return fmt.Sprintf("%s,%d,%s", r.ID, r.Rank, r.Status)
}

// A selectionModel has the records that a database should have.
type selectionModel struct {
	*testing.T
	*rand.Rand
	http.Handler
	records []selectionRecord
	asked   int
	made    int
}

// ask sends a GET that no cache answers.
func (m *selectionModel) ask(query, accept string) *httptest.ResponseRecorder {
	m.asked++
	r := httptest.NewRequest("GET", fmt.Sprintf("/c?%s&_=%d", query, m.asked), nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	m.ServeHTTP(w, r)
	if w.Code != 200 {
		m.Fatalf("%s: %d %s", query, w.Code, w.Body)
	}
	return w
}

func (m *selectionModel) status() string {
	return []string{"Done", "Canceled"}[m.IntN(2)]
}

// write makes a random write in the database and in the model.
func (m *selectionModel) write() {
	m.made++
	r := selectionRecord{fmt.Sprint("new", m.made), m.IntN(1000), m.status()}
	i := m.IntN(len(m.records))
	switch m.IntN(4) {
	case 0:
		m.records = append(m.records, r)
		m.send("POST", "/c", r)
	case 1:
		m.send("DELETE", "/c/"+m.records[i].ID, nil)
		m.records = slices.Delete(m.records, i, i+1)
	default:
		r.ID = m.records[i].ID
		m.records[i] = r
		m.send("PATCH", "/c/"+r.ID, r)
	}
}

func (m *selectionModel) send(method, target string, value any) {
	body, _ := json.Marshal(value)
	request := httptest.NewRequest(method, target, strings.NewReader(string(body)))
	w := httptest.NewRecorder()
	m.ServeHTTP(w, request)
	if w.Code/100 != 2 {
		m.Fatalf("%s %s: %d %s", method, target, w.Code, w.Body)
	}
}

// check requests a page of the records that a query selects, in every form.
func (m *selectionModel) check(query string, want []selectionRecord) {
	total := len(want)
	pages := (total + 9) / 10
	page := 1 + m.IntN(pages)
	part := want[10*(page-1) : min(10*page, total)]

	w := m.ask(fmt.Sprintf("%s&_page=%d&_limit=10", query, page), "*/*")
	m.same(query, w.Body.Bytes(), part)
	if got := w.Header().Get("X-Total-Count"); got != fmt.Sprint(total) {
		m.Errorf("%s: X-Total-Count is %s and not %d", query, got, total)
	}
	if got, want := w.Header().Get("Content-Range"), fmt.Sprintf("c %d-%d/%d", 10*page-10, 10*page-11+len(part), total); got != want {
		m.Errorf("%s: Content-Range is %s and not %s", query, got, want)
	}
	links := make(map[string]int)
	for _, link := range regexp.MustCompile(`[?&]_page=(\d+)[^>]*>; rel="(\w+)"`).FindAllStringSubmatch(w.Header().Get("Link"), -1) {
		links[link[2]], _ = strconv.Atoi(link[1])
	}
	neighbors := map[string]int{"first": 1, "last": pages}
	if page > 1 {
		neighbors["prev"] = page - 1
	}
	if page < pages {
		neighbors["next"] = page + 1
	}
	if pages > 1 && fmt.Sprint(links) != fmt.Sprint(neighbors) {
		m.Errorf("%s: page %d has the links %v and not %v", query, page, links, neighbors)
	}

	w = m.ask(fmt.Sprintf("%s&_start=%d&_end=%d", query, 10*page-10, 10*page), "*/*")
	m.same(query, w.Body.Bytes(), part)

	w = m.ask(fmt.Sprintf("%s&_page=%d&_per_page=10", query, page), "*/*")
	var envelope struct {
		Pages, Items int
		Data         json.RawMessage
	}
	if err := json.Unmarshal(w.Body.Bytes(), &envelope); err != nil || envelope.Items != total || envelope.Pages != pages {
		m.Errorf("%s: %v, %d pages of %d records, not %d of %d", query, err, envelope.Pages, envelope.Items, pages, total)
	}
	m.same(query, envelope.Data, part)

	lines := []string{"id,rank,status"}
	for _, r := range part {
		lines = append(lines, r.csv())
	}
	w = m.ask(fmt.Sprintf("%s&_page=%d&_limit=10", query, page), "text/csv")
	if got := strings.Fields(w.Body.String()); !slices.Equal(got, lines) {
		m.Errorf("%s: CSV of page %d: %q\nnot %q", query, page, got, lines)
	}
}

// same compares a JSON array of records.
func (m *selectionModel) same(query string, body []byte, want []selectionRecord) {
	m.Helper()
	var got []selectionRecord
	if err := json.Unmarshal(body, &got); err != nil || !slices.Equal(got, want) {
		m.Errorf("%s: %v\n%v\nnot %v", query, err, got, want)
	}
}

// where returns the records of the model that match.
func (m *selectionModel) where(match func(selectionRecord) bool) (found []selectionRecord) {
	for _, r := range m.records {
		if match(r) {
			found = append(found, r)
		}
	}
	return found
}

// TestSelectionForms reads pages, headers, envelopes, CSV and streams of repeated queries between
// random writes. Each is compared with a plain evaluation.
func TestSelectionForms(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	m := &selectionModel{T: t, Rand: rand.New(rand.NewPCG(seed, 0))}
	for i := range 300 {
		m.records = append(m.records, selectionRecord{fmt.Sprint(i), m.IntN(1000), m.status()})
	}
	contents, _ := json.Marshal(map[string]any{"c": m.records})
	_, m.Handler = open(t, string(contents), server.Options{})
	web := httptest.NewServer(m)
	t.Cleanup(web.Close)
	canceled := func(r selectionRecord) bool { return r.Status == "Canceled" }
	for range count(12, 300) {
		for range m.IntN(4) {
			m.write()
		}
		for range 3 {
			m.check("status=Canceled", m.where(canceled))
			sorted := m.where(func(r selectionRecord) bool { return canceled(r) && r.Rank >= 200 })
			slices.SortStableFunc(sorted, func(a, b selectionRecord) int { return b.Rank - a.Rank })
			m.check("status=Canceled&rank_gte=200&_sort=-rank", sorted)
		}
		events := openEvents(t, web.Client(), web.URL+"/c?status=Canceled")
		m.state(nextEvent(t, events, "reset"), m.where(canceled))
		i := slices.IndexFunc(m.records, canceled)
		for _, status := range []string{"Done", "Canceled"} {
			m.records[i].Status = status
			m.send("PATCH", "/c/"+m.records[i].ID, m.records[i])
			name := map[string]string{"Done": "deleted", "Canceled": "created"}[status]
			if e := nextEvent(t, events, name); !strings.Contains(e.data, `"id":"`+m.records[i].ID+`"`) {
				t.Errorf("%s is not an event of %s", e, m.records[i].ID)
			}
		}
	}
}

// state compares the first event of a stream.
func (m *selectionModel) state(e streamEvent, want []selectionRecord) {
	var data struct{ Records json.RawMessage }
	if err := json.Unmarshal([]byte(e.data), &data); err != nil {
		m.Fatal(err)
	}
	m.same("the stream", data.Records, want)
}
