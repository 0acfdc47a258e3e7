package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"pickup/internal/database"
	"pickup/internal/tools/servertest"
	"pickup/server"
)

// A nestedPlace is a value of the model that has an address.
type nestedPlace struct {
	path string
	kind string // list, element, object or value
	is   any
	set  func(v any) // nil: remove
}

// nestedPlaces returns the places below an object, whose fields and ids have addresses below path.
func nestedPlaces(path string, object map[string]any, ofRecord bool) (all []nestedPlace) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if ofRecord && name == "id" {
			continue
		}
		p := nestedPlace{path: path + "/" + name, kind: "value", is: object[name]}
		p.set = func(v any) {
			object[name] = v
			if v == nil {
				delete(object, name)
			}
		}
		switch v := object[name].(type) {
		case map[string]any:
			p.kind = "object"
			all = append(all, nestedPlaces(p.path, v, false)...)
		case []any:
			isObject := func(e any) bool { return reflect.TypeOf(e) == reflect.TypeFor[map[string]any]() }
			if slices.ContainsFunc(v, func(e any) bool { return !isObject(e) }) {
				break
			}
			p.kind = "list"
			for i, e := range v {
				element := e.(map[string]any)
				at := fmt.Sprintf("%s/%v", p.path, element["id"])
				all = append(all, nestedPlace{at, "element", e, func(v any) {
					list := slices.Clone(object[name].([]any))
					if v == nil {
						object[name] = slices.Delete(list, i, i+1)
						return
					}
					list[i] = v
					object[name] = list
				}})
				all = append(all, nestedPlaces(at, element, true)...)
			}
		}
		all = append(all, p)
	}
	return all
}

// decodedModel returns the value of a JSON text.
func decodedModel(t *testing.T, text []byte) (v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func encodedModel(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// TestNestedModel compares random reads and writes of nested values with a plain JSON value, with
// edits by hand, undo and restarts.
func TestNestedModel(t *testing.T) {
	for seed := range uint64(count(4, 200)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runNestedModel(t, rand.New(rand.NewPCG(seed, 7))) })
	}
}

func runNestedModel(t *testing.T, random *rand.Rand) {
	path := filepath.Join(t.TempDir(), "db.json")
	text := `{
  "boxes": [
    {"id": 1, "items": [{"id": 1, "n": 1, "subs": []}, {"id": 2, "n": 1.50, "tags": ["a", 1]}], "meta": {"a": {"b": null}}},
    {"id": "b", "items": [], "n": "x"}
  ],
  "conf": {"list": [{"id": 5, "n": 5}], "deep": {"x": {"y": true}}}
}
`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	file := &editedFile{t: t, path: path}
	var web http.Handler
	stop := func() {}
	start := func() {
		stop()
		file.reopen()
		ctx, cancel := context.WithCancel(t.Context())
		db, err := database.Open(ctx, file, database.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var following sync.WaitGroup
		following.Go(func() { db.Follow(ctx) })
		stop = func() {
			cancel()
			following.Wait()
		}
		web = server.Handler(db, server.Options{})
	}
	start()
	defer func() {
		stop()
		_ = file.Close()
	}()
	send := func(method, path, body, media string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", media)
		w := httptest.NewRecorder()
		web.ServeHTTP(w, r)
		return w
	}

	model := decodedModel(t, []byte(text)).(map[string]any)
	list := func() (places []nestedPlace) {
		for _, box := range model["boxes"].([]any) {
			record := box.(map[string]any)
			places = append(places, nestedPlaces(fmt.Sprintf("/boxes/%v", record["id"]), record, true)...)
		}
		return append(places, nestedPlaces("/conf", model["conf"].(map[string]any), false)...)
	}
	before := "" // the state before the latest revision, if it can be undone
	for step := range 60 {
		places := list()
		edited := ""
		if len(places) > 0 && random.IntN(4) == 0 { // by hand, right before the write
			p := places[random.IntN(len(places))]
			edited = p.path
			switch {
			case p.kind == "list":
				p.set([]any{})
			case p.kind == "value" && reflect.TypeOf(p.is) != reflect.TypeFor[[]any](): // its kind stays: the write may see either state
				p.set(json.Number("7"))
			default:
				p.set(nil)
			}
			file.Edit([]byte(encodedModel(model)))
			places = list()
		}
		was := encodedModel(model)
		if len(places) == 0 || random.IntN(12) == 0 {
			model = decodedModel(t, []byte(text)).(map[string]any)
			file.Edit([]byte(text))
			start()
			before = ""
			continue
		}
		p := places[random.IntN(len(places))]
		read := send("GET", p.path, "", "") // in the course of an edit of either state
		if edited == "" && (read.Code != http.StatusOK || !reflect.DeepEqual(decodedModel(t, read.Body.Bytes()), p.is)) {
			t.Fatalf("step %d: GET %s: %d %s, want %s", step, p.path, read.Code, read.Body, encodedModel(p.is))
		}

		n := json.Number(fmt.Sprint(random.IntN(3)))
		fields := map[string]any{"n": n, "subs": []any{}}
		method, body, media, want := "PUT", encodedModel(fields), "application/json", http.StatusOK
		choice := random.IntN(4)
		switch {
		case p.kind == "list" && choice < 2:
			method, want = "POST", http.StatusCreated
		case p.kind == "list" && choice == 2:
			body = `[]`
			p.set([]any{})
		case choice == 3:
			method, body = "DELETE", ""
			p.set(nil)
		case p.kind == "list":
			t.Fatal("all cases are above")
		case p.kind == "value" && reflect.TypeOf(p.is) == reflect.TypeFor[[]any]():
			body = `["b", 2]`
			p.set([]any{"b", json.Number("2")})
		case p.kind == "value":
			body = string(n)
			p.set(n)
		case choice == 0:
			if id, ok := p.is.(map[string]any)["id"]; ok && p.kind == "element" {
				fields["id"] = id
			}
			p.set(fields)
		default:
			method = "PATCH"
			body = encodedModel(map[string]any{"n": n})
			if choice == 2 {
				media = "application/json-patch+json"
				body = `[{"op": "add", "path": "/n", "value": ` + string(n) + `}]`
			}
			p.is.(map[string]any)["n"] = n
		}
		w := send(method, p.path, body, media)
		if w.Code != want {
			t.Fatalf("step %d: %s %s %s, after an edit of %q: %d %s", step, method, p.path, body, edited, w.Code, w.Body)
		}
		if method == "POST" {
			made := decodedModel(t, w.Body.Bytes()).(map[string]any)
			if want := p.path + "/" + fmt.Sprint(made["id"]); w.Header().Get("Location") != want {
				t.Fatalf("step %d: the location of %s is %s", step, want, w.Header().Get("Location"))
			}
			fields["id"] = made["id"]
			p.set(append(slices.Clone(p.is.([]any)), fields))
		}
		if w.Header().Get("Pickup-Unchanged") == "" {
			before = was
		} else {
			before = ""
		}
		if before != "" && random.IntN(3) == 0 {
			if w := send("POST", "/_/undo", "", "application/json"); w.Code != http.StatusOK {
				t.Fatalf("step %d: undo of %s %s: %d %s", step, method, p.path, w.Code, w.Body)
			}
			model = decodedModel(t, []byte(before)).(map[string]any)
		}
		if random.IntN(10) == 0 {
			start()
		}
		var got any
		if !servertest.Eventually(func() bool { // a write without effect does not look for edits
			got = decodedModel(t, send("GET", "/db", "", "").Body.Bytes())
			return reflect.DeepEqual(got, any(model))
		}) {
			t.Fatalf("step %d: after %s %s %s the database is\n%s\nand not\n%s", step, method, p.path, body, encodedModel(got), encodedModel(model))
		}
		stored, err := os.ReadFile(path)
		if err != nil || !reflect.DeepEqual(decodedModel(t, stored), any(model)) {
			t.Fatalf("step %d: after %s %s %s the file is\n%s\nand not\n%s", step, method, p.path, body, stored, encodedModel(model))
		}
	}
}
