package database

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A handEdit is a database as people leave it: members by name, and the texts
// of their elements.
type handEdit []handMember

type handMember struct {
	name     string
	value    string   // of what is no array
	elements []string // of one; nil: it is none
}

// contents returns what a store loads of it.
func (h handEdit) contents() (b storage.Batch) {
	b.Reset = true
	for _, m := range h {
		in := storage.Collection{Name: m.name, Value: jsontext.Value(m.value), Kind: storage.Other}
		if m.elements != nil {
			in = storage.Collection{Name: m.name, Kind: storage.Array}
			keys := storage.NewKeys("id")
			for _, e := range m.elements {
				v := jsontext.Value(e)
				in.Elements = append(in.Elements, storage.Element{Key: keys.Next(v), Value: v, Compact: rawjson.IsCompact(v)})
			}
		}
		b.Contents = append(b.Contents, in)
	}
	return b
}

// mend makes a random edit: of one place, or of many.
func (h handEdit) mend(r *rand.Rand, next *int) handEdit {
	h = slices.Clone(h)
	for i := range h {
		h[i].elements = slices.Clone(h[i].elements)
	}
	fresh := func() string {
		*next++
		switch r.IntN(12) {
		case 0:
			return `null`
		case 1:
			return fmt.Sprintf(`{ "id": "%d" }`, r.IntN(*next)+1) // likely taken
		case 2:
			return `{"n":1}`
		}
		return fmt.Sprintf(`{"id":"%d","n":%d}`, *next, r.IntN(9))
	}
	for range 1 + r.IntN(4) {
		i := r.IntN(len(h) + 1)
		switch {
		case i == len(h):
			if name := fmt.Sprint("c", r.IntN(4)); !slices.ContainsFunc(h, func(m handMember) bool { return m.name == name }) {
				h = append(h, handMember{name: name, elements: []string{fresh()}})
			}
			continue
		case r.IntN(25) == 0:
			h = slices.Delete(h, i, i+1)
			continue
		case r.IntN(25) == 0:
			h[i].elements, h[i].value = nil, fmt.Sprint(r.IntN(5))
		case r.IntN(40) == 0:
			j := r.IntN(len(h))
			h[i], h[j] = h[j], h[i]
		}
		m := &h[i]
		if m.elements == nil {
			if r.IntN(3) == 0 {
				m.value, m.elements = "", []string{}
			}
			continue
		}
		n := len(m.elements)
		switch k := r.IntN(n + 1); r.IntN(8) {
		case 0, 1, 2:
			m.elements = append(m.elements, fresh())
		case 3:
			m.elements = slices.Insert(m.elements, k, fresh())
		case 4, 5:
			m.elements = slices.Delete(m.elements, k, min(n, k+1+r.IntN(3)))
		case 6:
			if k < n {
				j := r.IntN(n)
				m.elements[k], m.elements[j] = m.elements[j], m.elements[k]
			}
		case 7:
			if k < n && m.elements[k][0] == '{' {
				v := jsontext.Value(m.elements[k])
				if id, ok := rawjson.Member(v, "id"); ok {
					m.elements[k] = fmt.Sprintf(`{"id":%s, "n":%d}`, id, r.IntN(9))
				}
			}
		}
	}
	return h
}

// TestDiff makes edits at random. What is told of one as changes leads from
// the database before it to the one after it; where it cannot be told, it
// cannot be told in any order of the same changes.
func TestDiff(t *testing.T) {
	told, untold := 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 5))
		next := 0
		now := handEdit{{name: "c0", elements: []string{}}, {name: "o", value: `1`}}
		for range r.IntN(30) {
			now = now.mend(r, &next)
		}
		was := load(now.contents(), nil, conventions{})
		for range 20 {
			now = now.mend(r, &next)
			is := load(now.contents(), was, conventions{})
			alone := load(now.contents(), nil, conventions{})
			if !reflect.DeepEqual(contentsOf(is), contentsOf(alone)) {
				t.Fatalf("seed %d: loaded after another it is\n%s\nnot\n%s", seed, is.AppendJSON(nil), alone.AppendJSON(nil))
			}
			changes, ok := was.diff(is)
			if ok {
				told++
				led, err := was.next(storage.Batch{Changes: changes})
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(contentsOf(led), contentsOf(is)) {
					t.Fatalf("seed %d: %s\nled from\n%s\nto\n%s\nnot\n%s", seed, changes, was.AppendJSON(nil), led.AppendJSON(nil), is.AppendJSON(nil))
				}
			} else if untold++; inPlace(was, is) {
				t.Fatalf("seed %d: it is not told how\n%s\nbecame\n%s", seed, was.AppendJSON(nil), is.AppendJSON(nil))
			}
			was = is
		}
	}
	if told < 1000 || untold < 500 {
		t.Errorf("%d edits are told, %d are not: too few of one", told, untold)
	}
}

// contentsOf returns keys and values of a snapshot.
func contentsOf(s *Snapshot) (found []string) {
	for _, c := range s.list {
		hidden := maps.Clone(c.hidden)
		maps.DeleteFunc(hidden, func(_ string, n int) bool { return n == 0 })
		found = append(found, c.name, fmt.Sprint(c.kind, hidden), string(c.value))
		for _, r := range c.inOrder() {
			found = append(found, r.ID, string(r.Value))
		}
	}
	return found
}

// inPlace reports whether what stays of a keeps its order in b, and what is new
// comes last: of the members, and of the keys of each array.
func inPlace(a, b *Snapshot) bool {
	follows := func(a, b []string) bool {
		left := slices.DeleteFunc(slices.Clone(a), func(k string) bool { return !slices.Contains(b, k) })
		return slices.Equal(left, b[:len(left)])
	}
	names := func(s *Snapshot) (all []string) {
		for _, c := range s.list {
			all = append(all, c.name)
		}
		return all
	}
	keys := func(c *collection) (all []string) {
		for _, r := range c.inOrder() {
			all = append(all, r.ID)
		}
		return all
	}
	for _, c := range b.list {
		if old := a.byName[c.name]; old.isArray() && c.isArray() && !follows(keys(old), keys(c)) {
			return false
		}
	}
	return follows(names(a), names(b))
}

// TestDiffOfManyMembers compares databases of so many members that looking for
// each among all would take minutes.
func TestDiffOfManyMembers(t *testing.T) {
	var b storage.Batch
	for i := range 300_000 {
		b.Contents = append(b.Contents, storage.Collection{Name: fmt.Sprint(i), Kind: storage.Other, Value: jsontext.Value("1")})
	}
	was := load(b, nil, conventions{})
	b.Contents = slices.Delete(slices.Clone(b.Contents), 10, 20)
	b.Contents[200_000].Value = jsontext.Value("2")
	is := load(b, was, conventions{})
	begin := time.Now()
	if changes, ok := was.diff(is); !ok || len(changes) != 11 {
		t.Errorf("%d changes, %v", len(changes), ok)
	}
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("it took %s", d)
	}
}
