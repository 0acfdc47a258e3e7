package database_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/filestore"
	"pickup/internal/database"
	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

// TestRandomTransactions applies random patches of the whole database and compares
// the results with those of a model on decoded values: a patch is applied
// completely or not at all. The store, in memory or once a file, has the same
// state as the snapshot.
func TestRandomTransactions(t *testing.T) {
	for seed := range uint64(8) {
		g := &patchMaker{rng: rand.New(rand.NewPCG(seed, 7)), next: 100}
		contents := []byte(`{"a":[{"id":1,"n":0},{"id":2,"l":[1,2]},{"id":"x","o":{"p":1}}],"b":[],"o":{"k":[0]},"s":1}`)
		var store storage.Store = storetest.NewMemStore(contents)
		if seed == 0 {
			store = fileStore(t, contents)
		}
		db, err := database.Open(t.Context(), store, database.Options{})
		if err != nil {
			t.Fatal(err)
		}
		done, refused := 0, 0
		for range 300 {
			before := string(db.Snapshot().AppendJSON(nil))
			model := decode(before)
			patch := g.patch(model)
			text, err := json.Marshal(patch)
			if err != nil {
				t.Fatal(err)
			}
			want, ok := applyPlainly(model, patch)
			_, err = db.Update(t.Context(), func(tx *database.Tx) error { return tx.PatchDatabase(jsontext.Value(text)) })
			after := string(db.Snapshot().AppendJSON(nil))
			var fault *database.FaultError
			switch {
			case err == nil && !ok:
				t.Fatalf("seed %d: %s was done on %s", seed, text, before)
			case err != nil && !errors.As(err, &fault):
				t.Fatalf("seed %d: %s on %s: %v", seed, text, before, err)
			case err != nil && ok:
				t.Fatalf("seed %d: %s on %s: %v", seed, text, before, err)
			case err != nil && after != before:
				t.Fatalf("seed %d: %s was refused, but %s became %s", seed, text, before, after)
			case err == nil && !reflect.DeepEqual(decode(after), want):
				b, _ := json.Marshal(want)
				t.Fatalf("seed %d: %s\nmakes of %s\n%s\nand not\n%s", seed, text, before, after, b)
			}
			if err == nil {
				done++
			} else {
				refused++
			}
			again, err := database.Open(t.Context(), store, database.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if stored := string(again.Snapshot().AppendJSON(nil)); stored != after {
				t.Fatalf("seed %d: after %s the store has\n%s\nand not\n%s", seed, text, stored, after)
			}
		}
		if done < 25 || refused < 20 {
			t.Errorf("seed %d: %d done, %d refused", seed, done, refused)
		}
	}
}

func fileStore(t *testing.T, contents []byte) storage.Store {
	path := filepath.Join(t.TempDir(), "db.json")
	if err := os.WriteFile(path, contents, 0o600); err != nil {
		t.Fatal(err)
	}
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

// A patchMaker makes operations, most of which are valid.
type patchMaker struct {
	rng  *rand.Rand
	next int // id
}

func (g *patchMaker) patch(doc map[string]any) []map[string]any {
	ops := []map[string]any{}
	for range 1 + g.rng.IntN(4) {
		op := map[string]any{"op": []string{"add", "add", "replace", "remove", "move", "copy", "test"}[g.rng.IntN(7)]}
		op["path"] = g.path(doc)
		switch op["op"] {
		case "add", "replace":
			op["value"] = g.value(op["path"].(string))
		case "move", "copy":
			op["from"] = g.path(doc)
			if op["op"] == "copy" && strings.Count(op["from"].(string), "/") < 3 {
				op["from"] = "/o/k" // a copy of a record would have its id
			}
			isRecord := func(p any) bool { return !strings.HasPrefix(p.(string), "/o") && strings.Count(p.(string), "/") == 2 }
			if isRecord(op["from"]) != isRecord(op["path"]) || strings.Count(op["path"].(string), "/") == 1 {
				op["path"] = "/o/m" // an object without an id would get one
				if isRecord(op["from"]) {
					op["from"] = "/nothing"
				}
			}
		case "test":
			op["value"] = 0
			if g.rng.IntN(4) > 0 {
				op["path"], op["value"] = "/s", doc["s"]
			}
		}
		ops = append(ops, op)
	}
	return ops
}

// path returns a pointer to a record, into a record, or into an object.
func (g *patchMaker) path(doc map[string]any) string {
	collection := []string{"a", "b"}[g.rng.IntN(2)]
	list, _ := doc[collection].([]any)
	at := "/" + collection + "/" + strconv.Itoa(g.rng.IntN(len(list)+1))
	switch g.rng.IntN(8) {
	case 0:
		return "/" + collection + "/-"
	case 1, 2:
		return at
	case 3:
		return "/o/" + []string{"k", "m", "k/0", "k/-"}[g.rng.IntN(4)]
	case 4:
		return "/s"
	}
	return at + "/" + []string{"n", "l", "l/0", "l/-", "o", "o/p", "q~0~1"}[g.rng.IntN(7)]
}

func (g *patchMaker) value(path string) any {
	if strings.HasPrefix(path, "/s") {
		return g.rng.IntN(5)
	}
	if !strings.HasPrefix(path, "/o") && strings.Count(path, "/") == 2 {
		g.next++
		id := any(g.next)
		if g.rng.IntN(3) == 0 {
			id = []any{1, 2, "x"}[g.rng.IntN(3)]
		}
		return map[string]any{"id": id, "n": g.rng.IntN(9)}
	}
	return []any{1, "two", nil, []any{0, 1}, map[string]any{"p": []any{2}}}[g.rng.IntN(5)]
}

// applyPlainly implements RFC 6902 on decoded values, with the rule that a
// replacement of a record cannot change its id.
func applyPlainly(doc map[string]any, patch []map[string]any) (map[string]any, bool) {
	work := clone(doc)
	for _, c := range collections {
		list, _ := work.(map[string]any)[c].([]any)
		for _, r := range list {
			r.(map[string]any)[was] = []any{c, fmt.Sprint(r.(map[string]any)["id"])}
		}
	}
	for _, op := range patch {
		path := strings.Split(op["path"].(string), "/")[1:]
		value := clone(op["value"])
		if from, ok := op["from"].(string); ok {
			source := strings.Split(from, "/")[1:]
			v, ok := get(work, source)
			if !ok || op["op"] == "move" && strings.HasPrefix(op["path"].(string), from+"/") {
				return nil, false
			}
			value = clone(v)
			if op["op"] == "move" && from != op["path"] {
				if work, ok = edit(work, source, "remove", nil); !ok {
					return nil, false
				}
			}
			if from == op["path"] && op["op"] == "move" {
				continue
			}
		}
		kind := op["op"].(string)
		if kind == "test" {
			v, ok := get(work, path)
			if !ok || !reflect.DeepEqual(clone(v), value) {
				return nil, false
			}
			continue
		}
		if kind == "move" || kind == "copy" {
			kind = "add"
		}
		if kind == "replace" && len(path) == 2 {
			if old, ok := get(work, path); ok && slices.Contains(collections, path[0]) {
				if r, ok := old.(map[string]any); ok && r[was] != nil {
					value.(map[string]any)[was] = r[was]
				}
			}
		}
		var ok bool
		if work, ok = edit(work, path, kind, value); !ok {
			return nil, false
		}
	}
	result := work.(map[string]any)
	return result, sound(result)
}

// was is a member that a record of the model has while a patch is applied: the
// collection and id that it had before.
const was = "was"

var collections = []string{"a", "b"}

// sound removes these members. It reports whether all elements of the collections
// are records with unchanged and unique ids.
func sound(doc map[string]any) bool {
	for _, c := range collections {
		ids := make(map[string]bool)
		list, _ := doc[c].([]any)
		for _, e := range list {
			r, ok := e.(map[string]any)
			if !ok {
				return false
			}
			id := fmt.Sprint(r["id"])
			if old, ok := r[was].([]any); ok && old[0] == c && old[1] != id || ids[id] {
				return false
			}
			delete(r, was)
			ids[id] = true
		}
	}
	return true
}

func clone(v any) any {
	b, _ := json.Marshal(v)
	var c any
	_ = json.Unmarshal(b, &c)
	return c
}

func get(v any, path []string) (any, bool) {
	for _, p := range path {
		switch c := v.(type) {
		case map[string]any:
			var ok bool
			if v, ok = c[unescape(p)]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(p)
			if err != nil || i >= len(c) {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func unescape(p string) string {
	return strings.ReplaceAll(strings.ReplaceAll(p, "~1", "/"), "~0", "~")
}

// edit returns v with one place changed.
func edit(v any, path []string, kind string, value any) (any, bool) {
	switch c := v.(type) {
	case map[string]any:
		name := unescape(path[0])
		old, has := c[name]
		switch {
		case len(path) > 1:
			n, ok := edit(old, path[1:], kind, value)
			c[name] = n
			return c, ok
		case kind == "remove":
			delete(c, name)
			return c, has
		}
		c[name] = value
		return c, has || kind == "add"
	case []any:
		i, err := strconv.Atoi(path[0])
		if path[0] == "-" {
			i, err = len(c), nil
		}
		if err != nil || i > len(c) || i == len(c) && (len(path) > 1 || kind != "add") {
			return nil, false
		}
		switch {
		case len(path) > 1:
			n, ok := edit(c[i], path[1:], kind, value)
			c[i] = n
			return c, ok
		case kind == "remove":
			return slices.Delete(c, i, i+1), true
		case kind == "add":
			return slices.Insert(c, i, value), true
		}
		c[i] = value
		return c, true
	}
	return nil, false
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
		patch := fmt.Sprintf(`[{"op":"test","path":"/accounts/%d/has","value":%d},{"op":"test","path":"/accounts/%d/has","value":%d},`+
			`{"op":"replace","path":"/accounts/%d/has","value":%d},{"op":"replace","path":"/accounts/%d/has","value":%d},`+
			`{"op":"add","path":"/notes/-","value":{"from":%d,"to":%d,"amount":%d}}`, from, a, to, b, from, a-amount, to, b+amount, from, to, amount)
		bad := rng.IntN(2) == 0
		if bad {
			patch += `,{"op":"remove","path":"/notes/-"}`
		}
		_, err := db.Update(t.Context(), func(tx *database.Tx) error { return tx.PatchDatabase(jsontext.Value(patch + "]")) })
		switch {
		case err == nil && bad:
			return fmt.Errorf("%s was done", patch)
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
