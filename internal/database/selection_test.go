package database_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/schema"
	"pickup/internal/storage/storetest"
)

// A listing is a query that a client sends again and again, with various pages.
type listing struct {
	naiveQuery
	more   string // filters that naiveQuery does not have
	wanted func(record any) bool
}

// textIn reports whether a string or number at some depth of v contains a text.
func textIn(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(strings.ToLower(v), text)
	case json.Number:
		return strings.Contains(strings.ToLower(v.String()), text)
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return textIn(e, text) })
	case map[string]any:
		for _, e := range v {
			if textIn(e, text) {
				return true
			}
		}
	}
	return false
}

// randomListing returns a listing of the records of randomSelected.
func randomListing(rnd *rand.Rand) listing {
	value := func() string { return pick(rnd, slices.Concat(indexNumbers, indexTexts, []string{"0", "1", "2"})...) }
	l := listing{naiveQuery: randomNaive(rnd, []string{"n", "m", "s", "k", "o.p", "o.p"}, value), wanted: everything}
	switch rnd.IntN(6) {
	case 0:
		l.more, l.wanted = "&q=12", func(r any) bool { return textIn(r, "12") }
	case 1:
		l.more, l.wanted = "&m:contains=a", func(r any) bool {
			v, _ := r.(map[string]any)
			_, isObject := v["m"].(map[string]any)
			_, isNumber := v["m"].(json.Number)
			return !isObject && !isNumber && textIn(v["m"], "a")
		}
	case 2:
		l.more = `&_where={"or":[{"k":1},{"not":{"n":{"exists":true}}}]}`
		l.wanted = func(r any) bool {
			v, _ := r.(map[string]any)
			return v["k"] == json.Number("1") || v["n"] == nil
		}
	}
	return l
}

func randomSelected(rnd *rand.Rand, id string) string {
	other := randomRecord(rnd, id)
	v := []byte("null")
	for range rnd.IntN(4) { // an earlier value of this kind makes numerals and numbers rare together
		v, _ = json.Marshal(pick(rnd, indexNumbers...))
	}
	if rnd.IntN(300) == 0 {
		v = []byte("7.5")
	}
	return strings.TrimSuffix(other, "}") + fmt.Sprintf(`,"o":{"p":%s}}`, v)
}

// selections is a database whose clients repeat queries.
type selections struct {
	*testing.T
	*rand.Rand
	store *storetest.MemStore
	db    *database.DB
	fork  *database.DB
	base  *database.Snapshot // of fork
	next  int
	made  map[string]int // how often each kind of change was made
}

// update makes one change of one of the databases, and sometimes fails.
func (w *selections) update(db *database.DB) {
	db.Update(w.Context(), func(tx *database.Tx) error {
		for range 1 + w.IntN(4) {
			id := fmt.Sprint(w.IntN(w.next))
			body := jsontext.Value(randomSelected(w.Rand, id))
			switch w.IntN(8) {
			case 0:
				w.next++
				tx.Put(database.Create, "c", "", jsontext.Value(randomSelected(w.Rand, fmt.Sprint(w.next))))
			case 1:
				tx.Delete("c", id)
			case 2:
				tx.Put(database.Merge, "c", id, jsontext.Value(pick(w.Rand, `{"s":12}`, `{"o":{"p":1}}`, `{"s":"12"}`, `{"mm":"a"}`)))
			default:
				tx.Put(database.Replace, "c", id, body)
			}
		}
		if w.IntN(10) == 0 {
			return fmt.Errorf("given up")
		}
		return nil
	})
}

// edit edits the file by hand.
func (w *selections) edit() {
	var records []string
	for r := range w.db.Snapshot().All("c") {
		records = append(records, string(r.Value))
	}
	for range w.IntN(4) {
		i, j := w.IntN(len(records)), w.IntN(len(records))
		records[i], records[j] = records[j], records[i]
		records[i] = randomSelected(w.Rand, fmt.Sprint("e", w.next, i))
	}
	w.store.Edit(jsontext.Value(`{"c":[` + strings.Join(records, ",") + `]}`))
	synctest.Wait()
}

// rules are schemas with aliases, and with types and unique values that most writes break.
var rules = []string{
	`{}`,
	`{}`,
	`{"properties":{"c":{"items":{"properties":{"m":{"x-alias":["mm"]}}}}}}`,
	`{"properties":{"c":{"items":{"properties":{"n":{"type":["number","null"]},"s":{"type":"string"}}}}}}`,
	`{"properties":{"c":{"items":{"properties":{"k":{"type":"integer"},"m":{"x-unique":true}}}}}}`,
}

// undo reverts the latest revision, which may be an undo.
func (w *selections) undo(kind string) {
	w.did(kind, func(tx *database.Tx) error { _, _, err := tx.Undo(w.db.Snapshot().Rev()); return err })
}

// did makes a change of the database, and counts it if it was made.
func (w *selections) did(kind string, change func(*database.Tx) error) bool {
	before := w.db.Snapshot().Rev()
	after, err := w.db.Update(w.Context(), change)
	done := err == nil && after.Rev() > before
	if done {
		w.made[kind]++
	}
	return done
}

// replaceAll deletes the collection, which is restored by an undo or made anew, or sets all
// records at once.
func (w *selections) replaceAll() {
	var records []string
	for r := range w.db.Snapshot().All("c") {
		if r.Value.Kind() == '{' {
			records = append(records, string(r.Value))
		}
	}
	w.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	set := func(tx *database.Tx) error {
		_, err := tx.Do(jsontext.Value(`[{"op":"set","collection":"c","value":[`+strings.Join(records, ",")+`]}]`), database.Create)
		return err
	}
	remove := func(tx *database.Tx) error {
		_, err := tx.Do(jsontext.Value(`[{"op":"remove","collection":"c"}]`), database.Create)
		return err
	}
	if w.IntN(2) == 0 || !w.did("remove", remove) {
		w.did("set", set)
		return
	}
	if _, err := ask(w.db.Snapshot(), "c", "k=1&_page=1"); err == nil {
		w.Fatal("the collection is still there")
	}
	if w.IntN(2) == 0 {
		w.undo("restore")
	} else {
		w.did("set again", set)
	}
}

func (w *selections) change() {
	switch w.IntN(18) {
	case 0:
		w.edit()
	case 1:
		rules, err := schema.Compile("s.json", []byte(pick(w.Rand, rules...)))
		if err != nil {
			w.Fatal(err)
		}
		if err := w.db.SetSchema(w.Context(), rules); err != nil {
			w.Fatal(err)
		}
	case 2:
		w.undo("undo")
	case 3:
		w.update(w.db)
		w.undo("undo")
		w.undo("redo")
	case 16, 17:
		w.replaceAll()
	case 4:
		w.base = w.db.Snapshot()
		w.fork = w.db.Fork(w.base, func(int) error { return nil })
	case 5:
		w.db.Update(w.Context(), func(tx *database.Tx) error {
			_, err := tx.Rebase(w.base, w.fork.Snapshot(), database.TakeFork)
			return err
		})
	case 6, 7, 8:
		w.update(w.fork)
	default:
		w.update(w.db)
	}
}

// TestSelections compares pages of queries that come again and again with scans, while the
// database changes in every way.
func TestSelections(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		w := &selections{T: t, Rand: rand.New(rand.NewPCG(seed, 0)), next: 160, made: make(map[string]int)}
		var records []string
		for i := range w.next {
			records = append(records, randomSelected(w.Rand, fmt.Sprint(i)))
		}
		contents := jsontext.Value(`{"c":[` + strings.Join(records, ",") + `,5,{"n":1},"text"]}`)
		w.store = storetest.NewMemStore(contents)
		w.db = open(t, w.store)
		go w.db.Follow(t.Context())
		w.base = w.db.Snapshot()
		w.fork = w.db.Fork(w.base, func(int) error { return nil })
		var listings []listing
		for range times(110, 2000) {
			for len(listings) < 24 {
				listings = append(listings, randomListing(w.Rand))
			}
			for _, s := range []*database.Snapshot{w.db.Snapshot(), w.fork.Snapshot(), w.base} {
				w.check(s, listings)
			}
			listings = slices.Delete(listings, 0, 1)
			w.change()
			if _, ok := w.db.Snapshot().Kind("c"); !ok { // removed, and the rules refuse the records
				w.store.Edit(contents)
				synctest.Wait()
			}
		}
		t.Log(w.made)
		for _, kind := range []string{"undo", "redo", "remove", "set", "set again", "restore"} {
			if times(0, 1) > 0 && w.made[kind] == 0 {
				t.Errorf("no %s", kind)
			}
		}
	})
}

// check asks a snapshot for pages of some listings.
func (w *selections) check(s *database.Snapshot, listings []listing) {
	n := newNaive(w.T, whole(s))
	for range 1 + w.IntN(4) {
		l := listings[w.IntN(len(listings))]
		want := n.answer("c", l.naiveQuery, l.wanted)
		for range 3 {
			rawQuery := l.String() + l.more + fmt.Sprintf(pick(w.Rand, "", "&_page=%d&_limit=%d", "&_page=%d&_per_page=%d", "&_start=%d&_limit=%d"), 1+w.IntN(9), 1+w.IntN(20))
			rawQuery, _, _ = strings.Cut(rawQuery, "%!")
			r, err := ask(s, "c", rawQuery)
			if err != nil {
				w.Fatalf("%q: %v", rawQuery, err)
			}
			got := []any{}
			for _, record := range r.Records {
				got = append(got, decoded(w.T, string(record.Value)))
			}
			if r.Total != len(want) || !reflect.DeepEqual(got, want[r.Offset:r.End]) {
				b, _ := json.Marshal(want[:min(r.End, len(want))])
				w.Fatalf("%q: %d of %d records from %d\n%v\nwant of %d\n%s", rawQuery, len(got), r.Total, r.Offset, got, len(want), b)
			}
		}
	}
}

// TestSelectionsInParallel reads the latest snapshots, old ones and forks while they change.
func TestSelectionsInParallel(t *testing.T) {
	var records []string
	for i := range 400 {
		records = append(records, fmt.Sprintf(`{"id":"%d","k":%d,"t":"text %d"}`, i, i%7, i%3))
	}
	db := openMem(t, `{"c":[`+strings.Join(records, ",")+`]}`)
	write := func(db *database.DB, i int) {
		db.Update(t.Context(), func(tx *database.Tx) error {
			tx.Put(database.Merge, "c", fmt.Sprint(i*7919%400), fmt.Appendf(nil, `{"k":%d}`, i%9))
			_, err := tx.Put(database.Create, "c", "", fmt.Appendf(nil, `{"k":%d,"t":"text 1"}`, i%5))
			return err
		})
	}
	var all sync.WaitGroup
	for reader := range 6 {
		all.Go(func() {
			own := db
			if reader%2 == 1 {
				own = db.Fork(db.Snapshot(), func(int) error { return nil })
			}
			old := own.Snapshot()
			for i := range times(12, 1500) {
				if reader < 3 {
					write(own, i)
				}
				for _, s := range []*database.Snapshot{own.Snapshot(), old} {
					checkSorted(t, s, fmt.Sprintf("k_ne=%d&_sort=-k", i/3%5))
					checkSorted(t, s, fmt.Sprintf("t_like=1&k_gt=%d&_sort=-k", i/5%5))
				}
				if i%20 == 0 {
					old = own.Snapshot()
				}
			}
		})
	}
	all.Wait()
}

// checkSorted compares the second page of a query sorted by -k with a scan.
func checkSorted(t *testing.T, s *database.Snapshot, rawQuery string) {
	q, err := s.ParseQuery("c", rawQuery+"&_page=2&_limit=10")
	if err != nil {
		t.Error(err)
		return
	}
	r, err := s.Run(q)
	if err != nil {
		t.Error(err)
		return
	}
	var want []*database.Record
	for record := range s.All("c") {
		if q.Match(record.Value) {
			want = append(want, record)
		}
	}
	k := func(r *database.Record) int {
		var v struct{ K int }
		json.Unmarshal(r.Value, &v)
		return v.K
	}
	slices.SortStableFunc(want, func(a, b *database.Record) int { return k(b) - k(a) })
	if r.Total != len(want) || !slices.Equal(r.Records, want[min(len(want), 10):min(len(want), 20)]) {
		t.Errorf("%s: %d records of %d, a scan finds %d", rawQuery, len(r.Records), r.Total, len(want))
	}
}
