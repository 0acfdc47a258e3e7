package database_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage/storetest"
)

// stamped are rules for the collection c and the object o: made and changed are for
// the service alone, begun and touched can be set.
const stamped = `{"$defs":{"r":{"required":["made"],"properties":{
	"made":{"type":"string","x-now":"create","readOnly":true},
	"changed":{"type":"integer","x-now":"update","readOnly":true},
	"begun":{"type":["string","null"],"x-now":"create","x-alias":["start"]},
	"touched":{"x-now":"update"}}}},
	"properties":{"o":{"type":"object","$ref":"#/$defs/r"},"c":{"items":{"$ref":"#/$defs/r"}},
		"d":{"items":{"properties":{"cId":{"x-ref":{"collection":"c","on-delete":"set-null"}},"touched":{"x-now":"update"}}}}}}`

// openStamped opens a database with these rules, whose clock begins in 2030.
func openStamped(t *testing.T, store *storetest.MemStore) *database.DB {
	t.Helper()
	rules, err := schema.Compile("db.schema.json", []byte(stamped))
	if err != nil {
		t.Fatal(err)
	}
	db, err := database.Open(t.Context(), store, database.Options{Schema: rules, Start: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// TestStamp makes changes an hour after the start.
func TestStamp(t *testing.T) {
	const (
		now, millis = `"2030-01-01T01:00:00.000Z"`, `1893459600000`
		old         = `"made":"m","changed":1,"begun":"b","touched":"t"`
		before      = `{"id":1,"n":1,` + old + `}`
		changed     = `"made":"m","changed":` + millis + `,"begun":"b","touched":` + now
	)
	body := func(text string) jsontext.Value { return jsontext.Value(text) }
	tests := []struct {
		name string
		do   func(tx *database.Tx) (*database.Record, error)
		want string // the record
	}{
		{
			name: "POST",
			do: func(tx *database.Tx) (*database.Record, error) {
				return tx.Put(database.Create, "c", "", body(`{"n":2}`))
			},
			want: `{"id":3,"n":2,"begun":` + now + `,"changed":` + millis + `,"made":` + now + `,"touched":` + now + `}`,
		},
		{
			name: "POST with times",
			do: func(tx *database.Tx) (*database.Record, error) {
				return tx.Put(database.Create, "c", "", body(`{"made":5,"changed":null,"start":"s","touched":"u"}`))
			},
			want: `{"id":3,"begun":"s","touched":"u","changed":` + millis + `,"made":` + now + `}`,
		},
		{
			name: "POST with null",
			do: func(tx *database.Tx) (*database.Record, error) {
				return tx.Put(database.Create, "c", "", body(`{"begun":null,"n":2}`))
			},
			want: `{"id":3,"n":2,"begun":` + now + `,"changed":` + millis + `,"made":` + now + `,"touched":` + now + `}`,
		},
		{
			name: "PUT that creates",
			do:   func(tx *database.Tx) (*database.Record, error) { return tx.Put(database.Create, "c", "9", body(`{}`)) },
			want: `{"id":9,"begun":` + now + `,"changed":` + millis + `,"made":` + now + `,"touched":` + now + `}`,
		},
		{
			name: "PUT",
			do: func(tx *database.Tx) (*database.Record, error) {
				return tx.Put(database.Replace, "c", "1", body(`{"n":2}`))
			},
			want: `{"id":1,"n":2,` + changed + `}`,
		},
		{
			name: "PUT of what was read",
			do: func(tx *database.Tx) (*database.Record, error) {
				return tx.Put(database.Replace, "c", "1", body(strings.Replace(before, `"n":1`, `"n":2`, 1)))
			},
			want: `{"id":1,"n":2,` + changed + `}`,
		},
		{
			name: "PUT without a change",
			do: func(tx *database.Tx) (*database.Record, error) {
				return tx.Put(database.Replace, "c", "1", body(before))
			},
			want: before,
		},
		{
			name: "PUT without a change and without times",
			do: func(tx *database.Tx) (*database.Record, error) {
				return tx.Put(database.Replace, "c", "1", body(`{"n":1.0}`))
			},
			want: `{"id":1,"n":1.0,` + old + `}`,
		},
		{
			name: "PUT of times",
			do: func(tx *database.Tx) (*database.Record, error) {
				return tx.Put(database.Replace, "c", "1", body(`{"n":1,"made":"x","changed":2,"begun":"y","touched":"z"}`))
			},
			want: `{"id":1,"n":1,"made":"m","changed":` + millis + `,"begun":"y","touched":"z"}`,
		},
		{
			name: "PATCH",
			do: func(tx *database.Tx) (*database.Record, error) {
				return tx.Put(database.Merge, "c", "1", body(`{"n":2}`))
			},
			want: `{"id":1,"n":2,` + changed + `}`,
		},
		{
			name: "PATCH without a change",
			do: func(tx *database.Tx) (*database.Record, error) {
				return tx.Put(database.Merge, "c", "1", body(`{"n":1,"made":true}`))
			},
			want: before,
		},
		{
			name: "PATCH that removes times",
			do: func(tx *database.Tx) (*database.Record, error) {
				return tx.Put(database.MergePatch, "c", "1", body(`{"made":null,"changed":null,"begun":null,"touched":null,"m":{"k":1}}`))
			},
			want: `{"id":1,"n":1,"m":{"k":1},` + changed + `}`,
		},
		{
			name: "JSON Patch",
			do: func(tx *database.Tx) (*database.Record, error) {
				return tx.Patch("c", "1", body(`[{"op":"replace","path":"/n","value":2},{"op":"remove","path":"/made"},{"op":"add","path":"/start","value":"s"}]`))
			},
			want: `{"id":1,"n":2,"made":"m","changed":` + millis + `,"begun":"s","touched":` + now + `}`,
		},
		{
			name: "JSON Patch without a change",
			do: func(tx *database.Tx) (*database.Record, error) {
				return tx.Patch("c", "1", body(`[{"op":"replace","path":"/changed","value":2}]`))
			},
			want: before,
		},
		{
			name: "PATCH of a record without times, which rules for them do not prevent",
			do: func(tx *database.Tx) (*database.Record, error) {
				return tx.Put(database.Merge, "c", "2", body(`{"n":2}`))
			},
			want: `{"id":2,"made":7,"n":2,"changed":` + millis + `,"touched":` + now + `}`,
		},
		{
			name: "PUT of a record with a broken time",
			do: func(tx *database.Tx) (*database.Record, error) {
				return tx.Put(database.Replace, "c", "2", body(`{"n":2}`))
			},
			want: `{"id":2,"n":2,"made":7,"changed":` + millis + `,"touched":` + now + `}`,
		},
		{
			name: "a deleted reference",
			do: func(tx *database.Tx) (*database.Record, error) {
				if _, err := tx.Delete("c", "1"); err != nil {
					return nil, err
				}
				return tx.Snapshot().Get("d", "1")
			},
			want: `{"id":1,"cId":null,"touched":` + now + `}`,
		},
		{
			name: "transaction",
			do: func(tx *database.Tx) (*database.Record, error) {
				err := doing(`[{"op":"update","collection":"c","id":1,"record":{"n":2}},{"op":"create","collection":"c","record":{"made":0,"begun":"s"}},
					{"op":"update","collection":"o","record":{"n":2}}]`)(tx)
				if err != nil {
					return nil, err
				}
				added, _ := tx.Snapshot().Get("c", "3")
				wantValue(t, "the new record", added.Value, `{"id":3,"begun":"s","changed":`+millis+`,"made":`+now+`,"touched":`+now+`}`)
				object, _ := tx.Snapshot().Value("o")
				wantValue(t, "the object", object, `{"n":2,"made":"m","changed":`+millis+`,"touched":`+now+`}`)
				return tx.Snapshot().Get("c", "1")
			},
			want: `{"id":1,"n":2,` + changed + `}`,
		},
		{
			name: "transaction of wholes",
			do: func(tx *database.Tx) (*database.Record, error) {
				err := doing(`[{"op":"set","collection":"c","value":[` + before + `,{"id":2,"made":7,"n":3},{"id":8,"made":"x"}]},
					{"op":"set","collection":"o","value":{"n":1,"made":"x","changed":1}}]`)(tx)
				if err != nil {
					return nil, err
				}
				for id, want := range map[string]string{
					"2": `{"id":2,"n":3,"begun":` + now + `,"changed":` + millis + `,"made":` + now + `,"touched":` + now + `}`,
					"8": `{"id":8,"begun":` + now + `,"changed":` + millis + `,"made":` + now + `,"touched":` + now + `}`,
				} {
					r, _ := tx.Snapshot().Get("c", id)
					wantValue(t, "the record "+id, r.Value, want)
				}
				object, _ := tx.Snapshot().Value("o")
				wantValue(t, "the object", object, `{"n":1,"made":"m","changed":1}`)
				return tx.Snapshot().Get("c", "1")
			},
			want: `{"id":1,"n":1,"made":` + now + `,"changed":` + millis + `,"begun":"b","touched":"t"}`,
		},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			db := openStamped(t, storetest.NewMemStore(jsontext.Value(`{"c":[`+before+`,{"id":2,"made":7}],"d":[{"id":1,"cId":1}],"o":{"n":1,"made":"m","changed":1}}`)))
			time.Sleep(time.Hour)
			_, err := db.Update(t.Context(), func(tx *database.Tx) error {
				r, err := tt.do(tx)
				if err == nil {
					wantValue(t, tt.name, r.Value, tt.want)
				}
				return err
			})
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			for _, r := range db.History() {
				if at := r.Time.Format(time.RFC3339); at != "2030-01-01T01:00:00Z" {
					t.Errorf("%s: the revision is of %s", tt.name, at)
				}
			}
		})
	}
}

// TestStampOfManyMembers replaces a large record by one with other members. The time
// that it keeps is after all of those that are gone.
func TestStampOfManyMembers(t *testing.T) {
	members := func(letter string) string {
		var b strings.Builder
		for i := range 30_000 {
			fmt.Fprintf(&b, `"%s%d":1,`, letter, i)
		}
		return b.String()
	}
	db := openStamped(t, storetest.NewMemStore(jsontext.Value(`{"c":[{"id":1,`+members("a")+`"made":"m"}]}`)))
	start := time.Now()
	_, err := db.Update(t.Context(), func(tx *database.Tx) error {
		r, err := tx.Put(database.Replace, "c", "1", jsontext.Value(`{`+members("b")+`"id":1}`))
		if err == nil && memberOf(string(r.Value), "made") != `"m"` {
			t.Errorf("the time is %s", memberOf(string(r.Value), "made"))
		}
		return err
	})
	if took := time.Since(start); err != nil || took > time.Minute {
		t.Errorf("after %v: %v", took, err)
	}
}

func wantValue(t *testing.T, name string, got jsontext.Value, want string) {
	t.Helper()
	if string(got) != want {
		t.Errorf("%s:\n%s, want\n%s", name, got, want)
	}
}

// TestStampsAndEdits makes random edits of the file and random writes. An edit is
// never touched: it changes what it says, and the file stays as it is. A write
// changes one record, and its times only if something else changes.
func TestStampsAndEdits(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewMemStore(jsontext.Value(`{"c":[]}`))
		db := openStamped(t, store)
		go db.Follow(t.Context())
		object := func(names ...string) string {
			var members []string
			for _, name := range names {
				if rnd.IntN(2) == 0 {
					members = append(members, fmt.Sprintf(`%q:%s`, name, []string{"null", `"x"`, "7", `{"k":[]}`, `"2001-01-01"`}[rnd.IntN(5)]))
				}
			}
			return strings.Join(members, ",")
		}
		records := func() map[string]string {
			all := make(map[string]string)
			for r := range db.Snapshot().All("c") {
				all[r.ID] = string(r.Value)
			}
			return all
		}
		for range times(1000, 20_000) {
			time.Sleep(time.Second)
			if rnd.IntN(3) == 0 {
				var list []string
				for id := range rnd.IntN(4) {
					list = append(list, strings.Replace(fmt.Sprintf(`{"id":%d,%s}`, id, object("n", "made", "changed", "begun", "touched")), ",}", "}", 1))
				}
				text := `{"c":[` + strings.Join(list, ",") + `]}`
				store.Edit(jsontext.Value(text))
				synctest.Wait()
				b, err := store.Load(t.Context())
				if got := whole(db.Snapshot()); got != text || err != nil || b.Rev != db.Snapshot().Rev() {
					t.Fatalf("after an edit the database is\n%s, not\n%s", got, text)
				}
				continue
			}
			before, id := records(), fmt.Sprint(rnd.IntN(4))
			now := db.Snapshot()
			text := jsontext.Value("{" + object("n", "m", "made", "changed") + "}")
			_, err := db.Update(t.Context(), func(tx *database.Tx) (err error) {
				switch _, known := before[id]; {
				case !known:
					_, err = tx.Put(database.Create, "c", id, text)
				case rnd.IntN(2) == 0:
					_, err = tx.Put(database.Replace, "c", id, text)
				default:
					_, err = tx.Put(database.MergePatch, "c", id, text)
				}
				return err
			})
			if err != nil {
				t.Fatalf("%s of %s in %s: %v", text, id, whole(now), err)
			}
			after := records()
			was, is := before[id], after[id]
			delete(before, id)
			delete(after, id)
			if !maps.Equal(before, after) {
				t.Fatalf("a write of %s has changed others: %v, before %v", id, after, before)
			}
			made, changed := memberOf(is, "made"), memberOf(is, "changed")
			same := was != "" && memberOf(was, "n") == memberOf(is, "n") && memberOf(was, "m") == memberOf(is, "m")
			switch {
			case was != "" && made != memberOf(was, "made"),
				same && changed != memberOf(was, "changed"),
				!same && changed == memberOf(was, "changed"),
				was == "" && made == "":
				t.Fatalf("%s of %s makes\n%s", text, was, is)
			}
		}
	})
}

// memberOf returns the text of a member of an object, "" if there is none.
func memberOf(object, name string) string {
	v, _ := rawjson.Member([]byte(object), name)
	return string(v)
}

// TestSeed makes the ids of a seed again, in databases and forks.
func TestSeed(t *testing.T) {
	const contents = `{"short":[],"uuid":[]}`
	rules, err := schema.Compile("s.json", []byte(`{"properties":{"short":{"items":{"x-id":"short"}},"uuid":{"items":{"x-id":"uuid"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	start, err := time.Parse(time.RFC3339, "2026-01-31T12:00:00.5Z")
	if err != nil {
		t.Fatal(err)
	}
	ids := func(db *database.DB) (all []string) {
		for _, collection := range []string{"short", "uuid", "uuid", "short"} {
			all = append(all, createID(t, db, collection, `{}`))
		}
		return all
	}
	openSeeded := func(seed uint64, contents string) *database.DB {
		db, err := database.Open(t.Context(), storetest.NewMemStore(jsontext.Value(contents)), database.Options{Schema: rules, Seed: &seed, Start: start})
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	db := openSeeded(7, contents)
	// Previews give the ids that come next, and use up none.
	for _, collection := range []string{"short", "uuid"} {
		preview := func() (id string) {
			if _, err := db.Preview(t.Context(), func(tx *database.Tx) error {
				r, err := tx.Put(database.Create, collection, "", jsontext.Value(`{}`))
				if err == nil {
					id = r.ID
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return id
		}
		if first, again := preview(), preview(); first != again {
			t.Errorf("two previews in %s have the ids %s and %s", collection, first, again)
		}
	}
	fork := db.Fork(db.Snapshot(), func(int) error { return nil })
	first := ids(db)
	// The time of the ids is that of the start.
	if ms := fmt.Sprintf(`"%012x`, start.UnixMilli()); strings.ReplaceAll(first[1], "-", "")[:13] != ms || first[1] >= first[2] {
		t.Errorf("the UUIDs are %s and %s, with times from %s", first[1], first[2], ms)
	}
	for name, again := range map[string][]string{"a database without previews": ids(openSeeded(7, contents)), "a fork": ids(fork)} {
		if strings.Join(again, " ") != strings.Join(first, " ") {
			t.Errorf("%s has the ids %s, want %s", name, again, first)
		}
	}
	if other := ids(openSeeded(8, contents)); other[0] == first[0] || other[1] == first[1] {
		t.Errorf("another seed has the ids %s, too", other)
	}
	// Those that are taken are passed over.
	if next := createID(t, openSeeded(7, whole(db.Snapshot())), "short", `{}`); strings.Contains(strings.Join(first, " "), next) {
		t.Errorf("the id %s is taken", next)
	}
}
