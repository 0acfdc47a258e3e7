package database_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/filestore"
	"pickup/internal/database"
	"pickup/internal/schema"
	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

// TestRandomTransactions makes random transactions and compares the results with those of a
// model, a map: a transaction is made completely or not at all, its undo restores what was
// before, and the store has the same state as the snapshot. The database is in memory, in a
// file, in a folder or a session, without rules and with them.
func TestRandomTransactions(t *testing.T) {
	const (
		contents = `{"a":[{"id":1,"n":0},{"id":2,"n":1},{"id":"x"}],"b":[{"id":1,"ref":1},{"id":2,"ref":2},{"id":3}],"o":{"k":[0]}}`
		rules    = `{"properties":{
			"a":{"type":"array","items":{"properties":{"n":{"x-unique":true}}}},
			"b":{"type":"array","items":{"properties":{"ref":{"x-ref":{"collection":"a","must-exist":true,"on-delete":"cascade"}}}}}}}`
	)
	for _, c := range []struct {
		name  string
		store func(*testing.T) storage.Store
		ruled bool
		fork  bool
	}{
		{name: "memory", store: func(*testing.T) storage.Store { return storetest.NewMemStore([]byte(contents)) }},
		{name: "rules", store: func(*testing.T) storage.Store { return storetest.NewMemStore([]byte(contents)) }, ruled: true},
		{name: "file", store: func(t *testing.T) storage.Store { return fileStore(t, []byte(contents)) }},
		{name: "file with rules", store: func(t *testing.T) storage.Store { return fileStore(t, []byte(contents)) }, ruled: true},
		{name: "folder", store: func(t *testing.T) storage.Store { return folderStore(t, contents) }},
		{name: "session", store: func(*testing.T) storage.Store { return storetest.NewMemStore([]byte(contents)) }, ruled: true, fork: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var o database.Options
			if c.ruled {
				var err error
				if o.Schema, err = schema.Compile("rules.json", []byte(rules)); err != nil {
					t.Fatal(err)
				}
			}
			store := c.store(t)
			db, err := database.Open(t.Context(), store, o)
			if err != nil {
				t.Fatal(err)
			}
			outer := db
			if c.fork {
				db = db.Fork(db.Snapshot(), func(int) error { return nil })
				store = nil
			}
			g := &operationMaker{rng: rand.New(rand.NewPCG(42, 7)), next: 100, ruled: c.ruled}
			g.run(t, db, store, o)
			if c.fork && string(outer.Snapshot().AppendJSON(nil)) != contents {
				t.Error("a session has changed the database")
			}
		})
	}
}

// run makes random transactions. Unless store is nil, it keeps the database.
func (g *operationMaker) run(t *testing.T, db *database.DB, store storage.Store, o database.Options) {
	done, refused := 0, 0
	for range times(120, 3000) {
		before := string(db.Snapshot().AppendJSON(nil))
		operations := g.operations(decode(before))
		text, err := json.Marshal(operations)
		if err != nil {
			t.Fatal(err)
		}
		want, ok := g.apply(decode(before), operations)
		_, err = db.Update(t.Context(), func(tx *database.Tx) error {
			_, err := tx.Do(text, database.Create)
			return err
		})
		after := string(db.Snapshot().AppendJSON(nil))
		_, isFault := errors.AsType[*database.FaultError](err)
		switch {
		case (err == nil) != ok || err != nil && !isFault:
			t.Fatalf("%s on %s: %v", text, before, err)
		case err != nil && after != before:
			t.Fatalf("%s was refused, but %s became %s", text, before, after)
		case err == nil && !reflect.DeepEqual(decode(after), want):
			b, _ := json.Marshal(want)
			t.Fatalf("%s\nmakes of %s\n%s\nand not\n%s", text, before, after, b)
		}
		if err == nil {
			done++
		} else {
			refused++
		}
		if store != nil {
			again, err := database.Open(t.Context(), store, o)
			if err != nil {
				t.Fatal(err)
			}
			if stored := string(again.Snapshot().AppendJSON(nil)); stored != after {
				t.Fatalf("after %s on\n%s the store has\n%s\nand not\n%s", text, before, stored, after)
			}
		}
		if err != nil || after == before || g.rng.IntN(3) > 0 {
			continue
		}
		if _, err := db.Update(t.Context(), func(tx *database.Tx) error {
			_, _, err := tx.Undo(0)
			return err
		}); err != nil {
			t.Fatalf("cannot undo %s on %s: %v", text, before, err)
		}
		if undone := string(db.Snapshot().AppendJSON(nil)); !reflect.DeepEqual(decode(undone), decode(before)) {
			t.Fatalf("%s on\n%s was undone to\n%s", text, before, undone)
		}
	}
	if done < 20 || refused < 40 {
		t.Errorf("%d done, %d refused", done, refused)
	}
}

func fileStore(t *testing.T, contents []byte) storage.Store {
	path := filepath.Join(t.TempDir(), "db.json")
	if err := os.WriteFile(path, contents, 0o600); err != nil {
		t.Fatal(err)
	}
	return openStore(t, path)
}

// folderStore returns the store of a folder with a file for each top-level field.
func folderStore(t *testing.T, contents string) storage.Store {
	dir := t.TempDir()
	for name, v := range decode(contents) {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return openStore(t, dir)
}

func openStore(t *testing.T, path string) storage.Store {
	store, err := filestore.Open(t.Context(), path, filestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

func decode(s string) map[string]any {
	var v map[string]any
	if json.Unmarshal([]byte(s), &v) != nil {
		return nil
	}
	return v
}

type object = map[string]any

// An operationMaker makes operations, most of which are valid, and knows what they do.
type operationMaker struct {
	rng   *rand.Rand
	next  int // id
	ruled bool
}

func (g *operationMaker) pick(of ...any) any { return of[g.rng.IntN(len(of))] }

// name returns the name of a top-level field, rarely of one that does not exist.
func (g *operationMaker) name(db object) string {
	names := slices.Sorted(maps.Keys(db))
	if g.rng.IntN(12) == 0 || len(names) == 0 {
		return "missing"
	}
	return names[g.rng.IntN(len(names))]
}

func (g *operationMaker) operations(db object) []object {
	ops := []object{}
	for range 1 + g.rng.IntN(4) {
		kinds := []string{"create", "create", "create", "update", "update", "update", "replace", "replace", "delete", "delete", "set", "remove", "rename", "rename", "unset"}
		op := object{"op": kinds[g.rng.IntN(len(kinds))], "collection": g.name(db)}
		if op["op"] == "remove" && g.rng.IntN(2) == 0 {
			op["op"] = "set"
		}
		list, isList := db[op["collection"].(string)].([]any)
		switch op["op"] {
		case "create":
			op["record"] = g.record(true)
		case "update", "replace", "delete":
			if isList || op["op"] == "delete" {
				op["id"] = g.pick(1, "2", "x", 3)
				if len(list) > 0 && g.rng.IntN(6) > 0 {
					op["id"] = list[g.rng.IntN(len(list))].(object)["id"]
				}
			}
			if op["op"] != "delete" {
				op["record"] = g.record(false)
			}
			if op["op"] == "update" && g.rng.IntN(3) == 0 {
				op["unset"] = []string{g.pick("p", "q").(string)}
			}
			if g.rng.IntN(3) == 0 {
				op["if"] = object{g.pick("p", "q").(string): g.pick(nil, nil, 1.0)}
			}
		case "set":
			op["value"] = object{"k": g.rng.IntN(3)}
			if g.rng.IntN(3) > 0 {
				records := []any{}
				for range g.rng.IntN(4) {
					records = append(records, g.record(true))
				}
				op["value"] = records
			}
			if g.rng.IntN(3) == 0 {
				op["collection"] = g.pick("a", "b", "c", "d")
			}
		case "rename":
			op["to"] = g.pick("a", "b", "c", "d", "e")
			if g.rng.IntN(2) == 0 {
				op["field"] = g.pick("n", "p", "q", "ref", "id")
				op["to"] = g.pick("p", "q", "r")
			}
		case "unset":
			op["field"] = g.pick("n", "p", "q", "r")
		}
		ops = append(ops, op)
	}
	return ops
}

func (g *operationMaker) record(hasID bool) object {
	r := object{}
	if hasID {
		g.next++
		r["id"] = g.next
		if g.rng.IntN(4) == 0 {
			r["id"] = g.pick(1, 2, 3, "x")
		}
	}
	for _, name := range []string{"n", "p", "ref"} {
		if g.rng.IntN(3) == 0 {
			r[name] = g.rng.IntN(12)
		}
	}
	return r
}

func find(list []any, id any) int {
	return slices.IndexFunc(list, func(r any) bool { return fmt.Sprint(r.(object)["id"]) == fmt.Sprint(id) })
}

// apply returns the database after the operations, or false if one is refused.
func (g *operationMaker) apply(db object, operations []object) (object, bool) {
	for _, op := range operations {
		if !g.applyOne(db, op) {
			return nil, false
		}
	}
	if !g.ruled {
		return db, true
	}
	for _, name := range []string{"a", "b"} {
		if v, ok := db[name]; ok {
			if _, isList := v.([]any); !isList {
				return nil, false
			}
		}
	}
	a, _ := db["a"].([]any)
	b, _ := db["b"].([]any)
	for _, r := range b {
		if ref, has := r.(object)["ref"]; has && find(a, ref) < 0 {
			return nil, false
		}
	}
	return db, g.isUnique("a", a)
}

// isUnique reports whether the rules hold for the field n of a.
func (g *operationMaker) isUnique(name string, list []any) bool {
	seen := make(map[any]bool)
	for _, r := range list {
		n, has := r.(object)["n"]
		if g.ruled && name == "a" && has && seen[n] {
			return false
		}
		seen[n] = true
	}
	return true
}

// cascade removes the records of b that refer to records of a that are gone.
func (g *operationMaker) cascade(db object, name string, gone []any) {
	b, isList := db["b"].([]any)
	if !g.ruled || name != "a" || !isList {
		return
	}
	db["b"] = slices.DeleteFunc(b, func(r any) bool {
		ref, has := r.(object)["ref"]
		return has && find(gone, ref) >= 0
	})
}

func (g *operationMaker) applyOne(db, op object) bool {
	op = decodeValue(op)
	name := op["collection"].(string)
	old, exists := db[name]
	list, isList := old.([]any)
	kind := op["op"].(string)
	if !exists && kind != "set" {
		return false
	}
	field, _ := op["field"].(string)
	to, _ := op["to"].(string)
	switch kind {
	case "create":
		record := op["record"].(object)
		if !isList || find(list, record["id"]) >= 0 {
			return false
		}
		db[name] = append(list, record)
		return true
	case "update", "replace", "delete":
		target, isObject := old.(object)
		at := -1
		if isList {
			if at = find(list, op["id"]); at < 0 {
				return false
			}
			target = list[at].(object)
		} else if _, hasID := op["id"]; !isObject || hasID || kind == "delete" {
			return false
		}
		for name, want := range asObject(op["if"]) {
			if !reflect.DeepEqual(target[name], want) {
				return false
			}
		}
		if kind == "delete" {
			gone := []any{list[at]}
			db[name] = slices.Delete(list, at, at+1)
			g.cascade(db, name, gone)
			return true
		}
		next := maps.Clone(target)
		if kind == "replace" {
			next = object{}
			if isList {
				next["id"] = target["id"]
			}
		}
		maps.Copy(next, asObject(op["record"]))
		unset, _ := op["unset"].([]any)
		for _, name := range unset {
			if _, both := asObject(op["record"])[name.(string)]; both {
				return false
			}
			delete(next, name.(string))
		}
		if !isList {
			db[name] = next
			return true
		}
		list[at] = next
		return true
	case "set":
		value := op["value"]
		records, _ := value.([]any)
		for i, r := range records {
			if find(records, r.(object)["id"]) != i {
				return false
			}
		}
		if _, willBeList := value.([]any); g.ruled && (name == "a" || name == "b") && !willBeList {
			return false
		}
		db[name] = value
		gone := slices.DeleteFunc(slices.Clone(list), func(r any) bool { return find(records, r.(object)["id"]) >= 0 })
		g.cascade(db, name, gone)
		return true
	case "remove":
		delete(db, name)
		g.cascade(db, name, list)
		return true
	}
	if field == "" {
		_, taken := db[to]
		if taken || g.ruled && (name == "a" || name == "b") {
			return false
		}
		db[to] = old
		delete(db, name)
		return !g.ruled || to != "a" && to != "b" || isList && g.isUnique(to, list)
	}
	if field == "id" && isList || g.ruled && (name == "a" && field == "n" || name == "b" && field == "ref") {
		return false
	}
	records := list
	if !isList {
		records = []any{old}
	}
	found := false
	for _, r := range records {
		record := r.(object)
		value, has := record[field]
		if !has {
			continue
		}
		found = true
		delete(record, field)
		if _, taken := record[to]; taken || kind == "rename" && field == to {
			return false
		}
		if kind == "rename" {
			record[to] = value
		}
	}
	return found
}

func asObject(v any) object {
	o, _ := v.(object)
	return o
}

// decodeValue returns a copy with the types of decoded JSON.
func decodeValue(v object) object {
	text, _ := json.Marshal(v)
	return decode(string(text))
}

// TestConcurrentTransactions transfers amounts between records from many
// goroutines and records each transfer in another collection. Every other
// transaction ends with an operation that fails. The sum is the same in all
// snapshots.
func TestConcurrentTransactions(t *testing.T) {
	db, err := database.Open(t.Context(), storetest.NewMemStore([]byte(
		`{"accounts":[{"id":1,"has":100},{"id":2,"has":100},{"id":3,"has":100}],"notes":[]}`)), database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	check := func() (notes int, err error) {
		var now struct {
			Accounts []struct{ ID, Has int }
			Notes    []struct{ From, To, Amount int }
		}
		if err := json.Unmarshal(db.Snapshot().AppendJSON(nil), &now); err != nil {
			return 0, err
		}
		has := []int{100, 100, 100}
		for _, n := range now.Notes {
			has[n.From] -= n.Amount
			has[n.To] += n.Amount
		}
		for i, a := range now.Accounts {
			if a.Has != has[i] {
				return 0, fmt.Errorf("account %d has %d, by the notes %d", a.ID, a.Has, has[i])
			}
		}
		return len(now.Notes), nil
	}
	const workers = 8
	each := times(15, 40)
	errs := make(chan error, workers)
	for w := range workers {
		go func() { errs <- transfer(t, db, rand.New(rand.NewPCG(uint64(w), 3)), each, check) }()
	}
	for range workers {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	if notes, err := check(); err != nil || notes != workers*each {
		t.Errorf("%d notes, %v", notes, err)
	}
}

// transfer makes a number of transfers, and repeats those that conflict with
// others.
func transfer(t *testing.T, db *database.DB, rng *rand.Rand, times int, check func() (int, error)) error {
	for done := 0; done < times; {
		var now struct{ Accounts []struct{ Has int } }
		if err := json.Unmarshal(db.Snapshot().AppendJSON(nil), &now); err != nil {
			return err
		}
		from, amount := rng.IntN(3), 1+rng.IntN(9)
		to := (from + 1 + rng.IntN(2)) % 3
		a, b := now.Accounts[from].Has, now.Accounts[to].Has
		operations := fmt.Sprintf(`[{"op":"update","collection":"accounts","id":%d,"record":{"has":%d},"if":{"has":%d}},`+
			`{"op":"update","collection":"accounts","id":%d,"record":{"has":%d},"if":{"has":%d}},`+
			`{"op":"create","collection":"notes","record":{"from":%d,"to":%d,"amount":%d}}`, from+1, a-amount, a, to+1, b+amount, b, from, to, amount)
		bad := rng.IntN(2) == 0
		if bad {
			operations += `,{"op":"update","collection":"notes","id":1,"record":{},"if":{"id":0}},{"op":"remove","collection":"none"}`
		}
		_, err := db.Update(t.Context(), func(tx *database.Tx) error {
			_, err := tx.Do(jsontext.Value(operations+"]"), database.Create)
			return err
		})
		switch {
		case err == nil && bad:
			return fmt.Errorf("%s was done", operations)
		case err == nil:
			done++
		case !errors.Is(err, database.ErrMismatch):
			return err
		}
		if _, err := check(); err != nil {
			return err
		}
	}
	return nil
}

// TestTransactionWritesTooMuch renames a collection again and again. Each name is a copy of all
// records that the transaction holds until it is durable.
func TestTransactionWritesTooMuch(t *testing.T) {
	database.LimitWritten(t, 1000)
	db := openMem(t, `{"a":[{"id":1,"text":"`+strings.Repeat("x", 2000)+`"}]}`)
	rename := func(times int) error {
		names := []string{"a", "b"}
		var operations []string
		for i := range times {
			operations = append(operations, fmt.Sprintf(`{"op":"rename","collection":"%s","to":"%s"}`, names[i%2], names[(i+1)%2]))
		}
		_, err := db.Update(t.Context(), func(tx *database.Tx) error {
			_, err := tx.Do(jsontext.Value("["+strings.Join(operations, ",")+"]"), database.Create)
			return err
		})
		return err
	}
	if err := rename(16); err != nil {
		t.Error(err)
	}
	if err := rename(18); !errors.Is(err, storage.ErrTooLarge) {
		t.Errorf("%v, and not that it is too large", err)
	}
}
