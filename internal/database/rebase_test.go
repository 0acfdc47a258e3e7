package database

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// contentOf returns the records and objects of a snapshot, decoded, by collection/id.
func contentOf(t *testing.T, s *Snapshot) map[string]any {
	t.Helper()
	all := make(map[string]any)
	for _, c := range s.list {
		values := map[string]jsontext.Value{"": c.value}
		if c.isArray() {
			values = make(map[string]jsontext.Value)
			for _, r := range c.recordList() {
				values[r.ID] = r.Value
			}
		}
		for id, value := range values {
			all[c.name+"/"+id] = decoded(t, value)
		}
	}
	return all
}

func decoded(t *testing.T, value jsontext.Value) (v any) {
	t.Helper()
	if value == nil {
		return nil
	}
	if err := json.Unmarshal(value, &v); err != nil {
		t.Fatal(err)
	}
	return marked(v)
}

// marked replaces each null in the objects of v by a mark, because nil means a missing field.
func marked(v any) any {
	m, _ := v.(map[string]any)
	if v == nil {
		return "null"
	}
	for name, value := range m {
		m[name] = marked(value)
	}
	return v
}

// mergeModel merges three versions of a map as Rebase should; nil is a missing version. both
// has the paths of the fields that mine and now changed in different ways.
func mergeModel(base, mine, now any, take Take, path []string) (merged any, both [][]string) {
	if reflect.DeepEqual(base, mine) || reflect.DeepEqual(mine, now) {
		return now, nil
	}
	if reflect.DeepEqual(base, now) {
		return mine, nil
	}
	b, isMap := base.(map[string]any)
	m, mineIsMap := mine.(map[string]any)
	n, nowIsMap := now.(map[string]any)
	if !isMap || !mineIsMap || !nowIsMap {
		if take == TakeFork {
			return mine, [][]string{path}
		}
		return now, [][]string{path}
	}
	names := maps.Clone(m)
	maps.Copy(names, n)
	out := make(map[string]any)
	for name := range names {
		value, more := mergeModel(b[name], m[name], n[name], take, append(slices.Clone(path), name))
		if value != nil {
			out[name] = value
		}
		both = append(both, more...)
	}
	return out, both
}

// TestRebaseModel changes a fork and the database at random and commits the fork, several times.
// A model of maps knows what comes of it: the database, the list of changes, or the conflicts.
func TestRebaseModel(t *testing.T) {
	seeds := uint64(30)
	if os.Getenv("PICKUP_LONG") != "" {
		seeds = 300
	}
	commits, conflicts, merges := 0, 0, 0
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 7))
		db := openFor(t, `{"c":[{"id":1,"a":1,"x":{"p":1,"y":{}}},{"id":2,"b":1}],"d":[{"id":1,"a":1,"b":1}],"o":{"a":1,"x":{"q":1}}}`, "")
		fork := db.Fork(db.Snapshot(), admitAll)
		for round := range 4 {
			for range random.IntN(5) {
				randomEdit(t, fork, random)
			}
			for range random.IntN(5) {
				randomEdit(t, db, random)
			}
			take := []Take{TakeNeither, TakeNeither, TakeFork, TakeDatabase}[random.IntN(4)]
			base, mine, now := contentOf(t, fork.Baseline()), contentOf(t, fork.Snapshot()), contentOf(t, db.Snapshot())
			merged, both := mergeModel(base, mine, now, take, nil)
			want := merged.(map[string]any)
			if both != nil && take == TakeNeither {
				want = now
			}

			var changes []Change
			_, err := db.Update(t.Context(), func(tx *Tx) (err error) {
				changes, err = tx.Rebase(fork.Baseline(), fork.Snapshot(), take)
				return err
			})
			who := fmt.Sprintf("seed %d, round %d, take %q:\nbase %v\nfork %v\nmain %v\n", seed, round, take, base, mine, now)
			if got := contentOf(t, db.Snapshot()); !reflect.DeepEqual(got, want) {
				t.Fatalf("%sis   %v\nwant %v", who, got, want)
			}
			if conflict, ok := errors.AsType[*ConflictError](err); ok != (both != nil && take == TakeNeither) || err != nil && !ok {
				t.Fatalf("%s%v", who, err)
			} else if ok {
				checkConflict(t, who, conflict, both)
				conflicts++
				continue
			}
			checkChanges(t, who, changes, now, want)
			commits++
			if both != nil {
				merges++
			}
			fork.SetBaseline(fork.Snapshot())
		}
	}
	t.Logf("%d commits, %d of them decided by take, and %d conflicts", commits, merges, conflicts)
	if conflicts == 0 || merges == 0 {
		t.Error("too few conflicts")
	}
}

// randomEdit makes a random change. A refused one is none.
func randomEdit(t *testing.T, db *DB, random *rand.Rand) {
	collection := []string{"c", "d"}[random.IntN(2)]
	id := fmt.Sprint(1 + random.IntN(4))
	value := func() string { return []string{"1", "2", `"x"`, "null", "[1]", `{"p":1}`, `{"p":2}`}[random.IntN(7)] }
	member := func() string { return []string{"a", "b", "e", "x"}[random.IntN(4)] }
	body := fmt.Sprintf(`{%q:%s}`, member(), value())
	inner := fmt.Sprintf(`{"x":{%q:%s,"y":{%q:%s}}}`, []string{"p", "q"}[random.IntN(2)], value(), []string{"r", "s"}[random.IntN(2)], value())
	_, err := db.Update(t.Context(), func(tx *Tx) (err error) {
		switch random.IntN(7) {
		case 0:
			_, err = tx.Put(Create, collection, id, jsontext.Value(fmt.Sprintf(`{"id":%s,%s`, id, body[1:])))
		case 1:
			_, err = tx.Delete(collection, id)
		case 2:
			_, err = tx.Put(MergePatch, collection, id, jsontext.Value(inner))
		case 3:
			_, err = tx.Put(MergePatch, "o", "", jsontext.Value(inner))
		case 4:
			_, err = tx.Put(MergePatch, "o", "", jsontext.Value(body))
		default:
			_, err = tx.Put(MergePatch, collection, id, jsontext.Value(body))
		}
		return err
	})
	if err != nil && !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, ErrExists) {
		t.Fatal(err)
	}
}

// checkConflict compares a conflict with the paths that the model has.
func checkConflict(t *testing.T, who string, conflict *ConflictError, both [][]string) {
	t.Helper()
	want := make(map[string]bool)
	for _, path := range both {
		want[strings.Join(path[:min(2, len(path))], " ")] = true
	}
	got := make(map[string]bool)
	for _, c := range conflict.Changed {
		at := c.Collection + "/" + c.ID
		if c.Fields == nil {
			got[at] = true
		}
		for _, name := range c.Fields {
			got[at+" "+name] = true
		}
	}
	if !maps.Equal(got, want) {
		t.Fatalf("%sconflicts are %v\nwant %v", who, got, want)
	}
}

// checkChanges compares a list of changes with what was really written.
func checkChanges(t *testing.T, who string, changes []Change, before, after map[string]any) {
	t.Helper()
	got := make(map[string]string)
	for _, ch := range changes {
		at := element{ch.Collection, ch.ID}
		name := at.collection + "/" + at.id
		if !reflect.DeepEqual(decoded(t, ch.Before), before[name]) || !reflect.DeepEqual(decoded(t, ch.After), after[name]) {
			t.Fatalf("%sthe change of %s is from %s to %s", who, name, ch.Before, ch.After)
		}
		if got[name] != "" {
			t.Fatalf("%s%s is listed twice", who, name)
		}
		got[name] = string(ch.Op)
	}
	want := make(map[string]string)
	for name, value := range before {
		if after[name] == nil {
			want[name] = string(Deleted)
		} else if !reflect.DeepEqual(value, after[name]) {
			want[name] = string(Updated)
		}
	}
	for name := range after {
		if before[name] == nil {
			want[name] = string(Created)
		}
	}
	if !maps.Equal(got, want) {
		t.Fatalf("%sthe changes are %v\nwant %v", who, got, want)
	}
}

// TestMergeFields checks where the fields of a merged record are, and that names which are
// spelled in different ways are one.
func TestMergeFields(t *testing.T) {
	for _, c := range []struct{ base, mine, now, want, both string }{
		{base: `{"id":1,"a":1,"b":1}`, mine: `{"id":1,"a":2,"n":1,"b":1}`, now: `{"b":3,"a":1,"id":1,"m":1}`, want: `{"b":3,"a":2,"n":1,"id":1,"m":1}`},
		{base: `{"a":1,"b":1}`, mine: `{"b":1}`, now: `{"b":2,"a":1}`, want: `{"b":2}`},
		{base: `{"a":1}`, mine: `{"\u0061":2}`, now: `{"a":1,"b":1}`, want: `{"a":2,"b":1}`},
		{base: `{"a":{"x":1,"y":1}}`, mine: `{"a":{"y":1,"x":1},"b":1}`, now: `{"a":{"x":1,"y":2}}`, want: `{"a":{"x":1,"y":2},"b":1}`},
		{base: `{"a":1}`, mine: `{"a":null}`, now: `{}`, want: `{}`, both: "a"},
		{base: `{"a":[1]}`, mine: `{"a":[1,2]}`, now: `{"a":[0,1]}`, want: `{"a":[0,1]}`, both: "a"},
		{base: `{"a":1.0}`, mine: `{"a":1.00}`, now: `{"a":1.0,"b":1}`, want: `{"a":1.00,"b":1}`},
	} {
		merged, both := mergeFields(jsontext.Value(c.base), jsontext.Value(c.mine), jsontext.Value(c.now), TakeNeither, 0)
		if string(merged) != c.want || strings.Join(both, " ") != c.both {
			t.Errorf("%s, %s and %s: %s %v, want %s %s", c.base, c.mine, c.now, merged, both, c.want, c.both)
		}
	}
	deep := func(v string) jsontext.Value {
		return jsontext.Value(strings.Repeat(`{"a":`, 100) + v + strings.Repeat("}", 100))
	}
	merged, both := mergeFields(deep(`{"x":1}`), deep(`{"x":2}`), deep(`{"x":1,"y":1}`), TakeFork, 0)
	if !rawjson.Equal(merged, deep(`{"x":2}`)) || both == nil {
		t.Errorf("a deep object: %v", both)
	}
}

// TestRebaseWhole changes elements without ids on both sides: their array is in conflict.
func TestRebaseWhole(t *testing.T) {
	const data = `{"w":[{"n":1},{"n":2}],"d":[{"id":1}]}`
	for take, want := range map[Take]string{
		TakeNeither:  `{"w":[{"n":1},{"n":2},{"n":4}],"d":[{"id":1}]}`,
		TakeFork:     `{"w":[{"k":1},{"k":2}],"d":[{"id":1,"a":1}]}`,
		TakeDatabase: `{"w":[{"n":1},{"n":2},{"n":4}],"d":[{"id":1,"a":1}]}`,
	} {
		t.Run(string(take), func(t *testing.T) {
			db := openFor(t, data, "")
			fork := db.Fork(db.Snapshot(), admitAll)
			mustUpdate(t, fork, do(`[{"op":"rename","collection":"w","field":"n","to":"k"},{"op":"update","collection":"d","id":1,"record":{"a":1}}]`))
			mustUpdate(t, db, func(tx *Tx) error {
				in := tx.snap.byName["w"].contents()
				in.Elements = append(in.Elements, storage.Element{Value: jsontext.Value(`{"n":4}`)})
				tx.replace(in, "")
				return nil
			})
			var changes []Change
			_, err := db.Update(t.Context(), func(tx *Tx) (err error) {
				changes, err = tx.Rebase(fork.Baseline(), fork.Snapshot(), take)
				return err
			})
			if got := string(db.Snapshot().AppendJSON(nil)); got != want {
				t.Errorf("it is %s\nand not %s", got, want)
			}
			if conflict, ok := errors.AsType[*ConflictError](err); ok != (take == TakeNeither) || ok && (len(conflict.Changed) != 1 || conflict.Changed[0].Collection != "w" || conflict.Changed[0].ID != "") {
				t.Errorf("the error is %v", err)
			}
			var list []string
			for _, ch := range changes {
				list = append(list, fmt.Sprint(ch.Name(), " ", ch.Op))
			}
			if got := strings.Join(list, ", "); got != map[Take]string{TakeFork: "w deleted, w deleted, w deleted, d/1 updated, w created, w created", TakeDatabase: "d/1 updated"}[take] {
				t.Errorf("the changes are %s", got)
			}
		})
	}
}

// TestRebaseStamps merges a record whose time of the latest write both sides have changed: it is
// the time of the commit.
func TestRebaseStamps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openFor(t, `{"c":[{"id":1,"a":1,"b":1,"at":0}]}`, `{"properties":{"c":{"type":"array","items":{"properties":{"at":{"type":"integer","x-now":"update"}}}}}}`)
		fork := db.Fork(db.Snapshot(), admitAll)
		write := func(db *DB, body string) {
			time.Sleep(time.Second)
			mustUpdate(t, db, func(tx *Tx) error { _, err := tx.Put(Merge, "c", "1", jsontext.Value(body)); return err })
		}
		write(db, `{"a":2}`)
		write(fork, `{"b":2}`)
		time.Sleep(time.Second)
		mustUpdate(t, db, func(tx *Tx) error { _, err := tx.Rebase(fork.Baseline(), fork.Snapshot(), ""); return err })
		want := fmt.Sprintf(`{"c":[{"id":1,"a":2,"b":2,"at":%d}]}`, time.Now().UnixMilli())
		if got := string(db.Snapshot().AppendJSON(nil)); got != want {
			t.Errorf("it is %s\nand not %s", got, want)
		}
	})
}
