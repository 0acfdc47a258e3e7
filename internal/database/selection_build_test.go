package database

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestWriteDuringBuild writes while a selection is built. The writes do not wait, and later
// snapshots have the selection with their changes.
func TestWriteDuringBuild(t *testing.T) {
	var records []string
	for i := range 300 {
		records = append(records, fmt.Sprintf(`{"id":"%d","k":%d}`, i, i%3))
	}
	db := openFor(t, `{"c":[`+strings.Join(records, ",")+`]}`, "")
	const text = "k_ne=0&_sort=-k&_page=1&_limit=2"
	q, err := db.Snapshot().ParseQuery("c", text)
	if err != nil {
		t.Fatal(err)
	}
	page := func() string {
		r, err := db.Snapshot().Run(q)
		if err != nil {
			t.Fatal(err)
		}
		found := fmt.Sprint(r.Total)
		for _, r := range r.Records {
			found += " " + r.ID
		}
		return found
	}
	write := func(id, body string) {
		mustUpdate(t, db, func(tx *Tx) error { _, err := tx.Put(Merge, "c", id, jsontext.Value(body)); return err })
	}
	page()
	s, key, _ := q.Selection()
	x := db.Snapshot().byName["c"].indexes
	if !x.start(key, false) {
		t.Fatal("the query has come before, and no selection is due")
	}
	matching, _, err := x.matching(s, s.Matcher(nil))
	if err != nil {
		t.Fatal(err)
	}
	write("3", `{"k":7}`)
	if got := page(); got != "201 3 2" {
		t.Errorf("during the build: %s", got)
	}
	write("6", `{"k":9}`)
	x.finish(key, newSelection(s, x.version, matching))
	for i, id := range []string{"9", "12"} {
		want := fmt.Sprint(202+i, " 6 3")
		if got := page(); got != want {
			t.Errorf("after the build: %s, want %s", got, want)
		}
		if x := db.Snapshot().byName["c"].indexes; x.byKey[key] == nil || x.building {
			t.Error("the selection was not collected")
		}
		write(id, `{"k":1}`)
	}
}

// TestSelectionsInTurn asks more queries in turn than there are selections. Most keep theirs.
func TestSelectionsInTurn(t *testing.T) {
	var records []string
	for i := range 300 {
		records = append(records, fmt.Sprintf(`{"id":"%d","k":%d}`, i, i))
	}
	s := openFor(t, `{"c":[`+strings.Join(records, ",")+`]}`, "").Snapshot()
	x := s.byName["c"].indexes
	ask := func(i int) {
		q, err := s.ParseQuery("c", fmt.Sprintf("k_gte=%d&_page=1", i))
		if err != nil {
			t.Fatal(err)
		}
		if r, err := s.Run(q); err != nil || r.Total != 300-i {
			t.Fatalf("k_gte=%d: %v, %v", i, r, err)
		}
	}
	var before map[string]*index
	for range 4 {
		before = maps.Clone(x.byKey)
		for i := range maxIndexes + 3 {
			ask(i)
		}
	}
	if len(x.byKey) != 1+maxIndexes { // with the index of names
		t.Errorf("%d indexes", len(x.byKey))
	}
	for key, ix := range before {
		if x.byKey[key] != ix {
			t.Errorf("%s was replaced", key)
		}
	}
	for range 2 {
		ask(100)
	}
	q, _ := s.ParseQuery("c", "k_gte=100")
	if _, key, _ := q.Selection(); x.byKey[key] == nil || len(x.byKey) != 1+maxIndexes {
		t.Errorf("a new query has no selection, of %d", len(x.byKey))
	}
}

// TestSelectionsLag writes large records while nobody asks a query, whose selection must not
// retain all of them. Before that, an old snapshot and the latest one are read in turn.
func TestSelectionsLag(t *testing.T) {
	var records []string
	for i := range 300 {
		records = append(records, fmt.Sprintf(`{"id":"%d","k":%d}`, i, i))
	}
	db := openFor(t, `{"c":[`+strings.Join(records, ",")+`]}`, `{"properties":{"c":{"items":{"properties":{"k":{"x-unique":true}}}}}}`)
	first := db.Snapshot()
	var key string
	ask := func(s *Snapshot, want int) {
		t.Helper()
		q, err := s.ParseQuery("c", "k_gte=290&_sort=-k&_page=1&_limit=1")
		if err != nil {
			t.Fatal(err)
		}
		_, key, _ = q.Selection()
		r, err := s.Run(q)
		if err != nil || r.Total != want || r.Records[0].ID != "299" {
			t.Fatalf("%d records and not %d, %v", r.Total, want, err)
		}
	}
	write := func(id int, text string) {
		mustUpdate(t, db, func(tx *Tx) error {
			_, err := tx.Put(Merge, "c", fmt.Sprint(id), fmt.Appendf(nil, `{"k":%d,"text":"%s"}`, 1000+id, text))
			return err
		})
	}
	ask(first, 10)
	ask(first, 10)
	x := db.Snapshot().byName["c"].indexes
	made := x.byKey[key]
	if made == nil {
		t.Fatal("no selection")
	}
	write(299, "")
	write(1, "")
	if x.byKey[key] != made {
		t.Error("a write has changed a selection")
	}
	ask(db.Snapshot(), 11)
	latest := x.byKey[key]
	ask(first, 10)
	ask(db.Snapshot(), 11)
	if x.byKey[key] != latest || latest == made {
		t.Error("the selection of an old snapshot has replaced a newer one")
	}
	for i := range 7 {
		write(2, strings.Repeat("x", maxLag/4+i))
	}
	if x.byKey[key] != nil || x.byKey["=k"] == nil {
		t.Error("the selection was not dropped, or the index of unique values was")
	}
	for range 3 {
		ask(db.Snapshot(), 12)
	}
}

// TestDroppedTransaction makes a transaction that is refused at its end, and one that is only
// tried. Readers do not notice the indexes that these have used.
func TestDroppedTransaction(t *testing.T) {
	var records []string
	for i := range 300 {
		records = append(records, fmt.Sprintf(`{"id":"%d","k":%d}`, i, i))
	}
	const rules = `{"properties":{"c":{"items":{"properties":{"k":{"x-unique":true},"r":{"x-ref":{"collection":"c","on-delete":"set-null"}}}}}}}`
	db := openFor(t, `{"c":[`+strings.Join(records, ",")+`]}`, rules)
	x := db.Snapshot().byName["c"].indexes
	x.equality("k", true)
	x.names()
	before := maps.Clone(x.byKey)
	change := func(tx *Tx) error {
		for i := range 300 {
			if _, err := tx.Put(Merge, "c", fmt.Sprint(i), fmt.Appendf(nil, `{"k":%d}`, 1000+i)); err != nil {
				return err
			}
		}
		if _, err := tx.Delete("c", "7"); err != nil {
			return err
		}
		_, err := tx.Put(Create, "c", "", jsontext.Value(`{"k":1001}`))
		return err
	}
	if _, err := db.Update(t.Context(), change); !errors.Is(err, ErrExists) {
		t.Fatal(err)
	}
	if _, err := db.Preview(t.Context(), change); !errors.Is(err, ErrExists) {
		t.Fatal(err)
	}
	for key, ix := range before {
		if x.get(key) != ix {
			t.Errorf("readers make another copy of the index %s at each use", key)
		}
	}
	mustUpdate(t, db, func(tx *Tx) error {
		tx.Put(Create, "c", "", jsontext.Value(`{"k":1001}`))
		_, err := tx.Put(Create, "c", "", jsontext.Value(`{"k":1002}`))
		return err
	})
	x = db.Snapshot().byName["c"].indexes
	if x.byKey["=k"] == before["=k"] || x.get("=k") != x.byKey["=k"] {
		t.Error("the index of the write was not published")
	}
}
