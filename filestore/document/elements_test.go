package document

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pickup/internal/rawjson"
)

// An elementModel is an element without an id. Scalars show only its first part.
type elementModel [2]int

// elementKinds write the elements of arrays without ids.
var elementKinds = []struct {
	name   string
	scalar bool
	text   func(elementModel) string
}{
	{"numbers", true, func(e elementModel) string { return strconv.Itoa(e[0]) }},
	{"strings", true, func(e elementModel) string { return strconv.Quote("s" + strconv.Itoa(e[0])) }},
	{"objects", false, func(e elementModel) string { return fmt.Sprintf(`{ "sku": "s%d", "qty": %d }`, e[0], e[1]) }},
	{"arrays", false, func(e elementModel) string { return fmt.Sprintf("[%d, %d]", e[0], e[1]) }},
}

// baseElement returns the element at i of the base.
func baseElement(i int) elementModel { return elementModel{i, 1000 + i} }

// An arrayEdit is what one side does with an array of n elements.
type arrayEdit struct {
	n        int
	inserted [][]elementModel // by the index that they come before
	changed  map[int]elementModel
	removed  map[int]bool
}

func newArrayEdit(n int) *arrayEdit {
	return &arrayEdit{n, make([][]elementModel, n+1), make(map[int]elementModel), make(map[int]bool)}
}

// randomArrayEdit makes a few changes of an array of n elements. If other is not nil, some
// are also in other.
func randomArrayEdit(r *rand.Rand, n int, fresh *int, scalar bool, other *arrayEdit) *arrayEdit {
	e := newArrayEdit(n)
	part := func() int {
		*fresh++
		return 10_000 + *fresh
	}
	for range 1 + r.IntN(3) {
		i := r.IntN(n + 1)
		what := r.IntN(6)
		if what < 2 || i == n {
			e.inserted[i] = nil
			for range 1 + r.IntN(2) {
				e.inserted[i] = append(e.inserted[i], elementModel{part(), part()})
			}
			continue
		}
		delete(e.changed, i)
		delete(e.removed, i)
		if what == 2 {
			e.removed[i] = true
			continue
		}
		if what == 3 && other != nil {
			e.inserted[i], e.removed[i] = other.inserted[i], other.removed[i]
			if now, ok := other.changed[i]; ok {
				e.changed[i] = now
			}
			continue
		}
		now := baseElement(i)
		which := r.IntN(3)
		if which < 2 || scalar {
			now[0] = part()
		}
		if which > 0 && !scalar {
			now[1] = part()
		}
		e.changed[i] = now
	}
	return e
}

// element returns what is in the place of an element: nothing if it is removed.
func (e *arrayEdit) element(i int) []elementModel {
	now, changed := e.changed[i]
	switch {
	case e.removed[i]:
		return nil
	case changed:
		return []elementModel{now}
	}
	return []elementModel{baseElement(i)}
}

// apply returns the array with the edit.
func (e *arrayEdit) apply() (all []elementModel) {
	for i := range e.n {
		all = append(all, e.inserted[i]...)
		all = append(all, e.element(i)...)
	}
	return append(all, e.inserted[e.n]...)
}

// A changedRun is a run of elements in whose place an edit has others.
type changedRun struct {
	from, to int
	now      []elementModel
}

// kind returns "=" if each element has another one in its place, "+" or "-" if elements
// are only inserted or removed, and "?" if one cannot say which is which.
func (c changedRun) kind() string {
	switch {
	case c.from == c.to:
		return "+"
	case len(c.now) == 0:
		return "-"
	case len(c.now) == c.to-c.from:
		return "="
	}
	return "?"
}

// runs returns the changes of an edit by where they are.
func (e *arrayEdit) runs() (runs []changedRun) {
	open := false
	add := func(from, to int, now []elementModel) {
		if !open {
			runs = append(runs, changedRun{from: from})
		}
		open = true
		last := &runs[len(runs)-1]
		last.to = to
		last.now = append(last.now, now...)
	}
	for i := range e.n + 1 {
		if len(e.inserted[i]) > 0 {
			add(i, i, e.inserted[i])
		}
		if i == e.n {
			break
		}
		if now := e.element(i); len(now) == 1 && now[0] == baseElement(i) {
			open = false
		} else {
			add(i, i+1, now)
		}
	}
	return runs
}

// normal returns the edit as one sees it in the text: with a change of each element in a
// run that has as many as before.
func (e *arrayEdit) normal() *arrayEdit {
	seen := newArrayEdit(e.n)
	for _, run := range e.runs() {
		for i := run.from; i < run.to; i++ {
			if run.kind() == "=" {
				seen.changed[i] = run.now[i-run.from]
			} else {
				seen.removed[i] = true
			}
		}
		if run.kind() != "=" {
			seen.inserted[run.from] = run.now
		}
	}
	return seen
}

// mergedElements applies both edits, and puts insertions of ours first. It reports false
// if the edits overlap, or change one element in different ways.
func mergedElements(ours, theirs *arrayEdit, scalar bool) ([]elementModel, bool) {
	for _, o := range ours.runs() {
		for _, t := range theirs.runs() {
			kinds := o.kind() + t.kind()
			same := o.from == t.from && o.to == t.to && slices.Equal(o.now, t.now)
			if o.from <= t.to && t.from <= o.to && !same && kinds != "==" && strings.Trim(kinds, "+-") != "" {
				return nil, false
			}
		}
	}
	ours, theirs = ours.normal(), theirs.normal()
	both := newArrayEdit(ours.n)
	for i := range both.n {
		both.removed[i] = ours.removed[i] || theirs.removed[i]
		was, now, other := baseElement(i), ours.element(i), theirs.element(i)
		if both.removed[i] {
			continue
		}
		both.changed[i] = now[0]
		if now[0] == was {
			both.changed[i] = other[0]
		}
		if now[0] == was || other[0] == was || now[0] == other[0] {
			continue
		}
		switch { // each must have changed another part
		case scalar:
			return nil, false
		case now[0][0] == was[0] && other[0][1] == was[1]:
			both.changed[i] = elementModel{other[0][0], now[0][1]}
		case now[0][1] == was[1] && other[0][0] == was[0]:
			both.changed[i] = elementModel{now[0][0], other[0][1]}
		default:
			return nil, false
		}
	}
	for i := range both.n + 1 {
		both.inserted[i] = slices.Clone(ours.inserted[i])
		if !slices.Equal(ours.inserted[i], theirs.inserted[i]) {
			both.inserted[i] = append(both.inserted[i], theirs.inserted[i]...)
		}
	}
	return both.apply(), true
}

// TestMergeElements merges edits of arrays without ids. The result has what both edits
// changed in the order of the base, or there is a conflict where nobody can say more.
func TestMergeElements(t *testing.T) {
	rounds := 1500
	if os.Getenv("PICKUP_LONG") != "" {
		rounds = 60_000
	}
	conflicts := 0
	for seed := range rounds {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		kind, fresh, n := elementKinds[seed%len(elementKinds)], 0, r.IntN(7)
		ours := randomArrayEdit(r, n, &fresh, kind.scalar, nil)
		theirs := randomArrayEdit(r, n, &fresh, kind.scalar, ours)
		text := arrayTexts(r, kind.text)
		var docs [3]*Document
		for i, edit := range []*arrayEdit{newArrayEdit(n), ours, theirs} {
			docs[i] = mustParse(t, text(edit.apply()))
		}
		for _, way := range []struct {
			name          string
			ours, theirs  *arrayEdit
			first, second *Document
		}{{"", ours, theirs, docs[1], docs[2]}, {"the other way round ", theirs, ours, docs[2], docs[1]}} {
			m, err := Merge(docs[0], way.first, way.second)
			if err != nil {
				t.Fatal(err)
			}
			want, ok := mergedElements(way.ours, way.theirs, kind.scalar)
			fail := ""
			switch {
			case ok && len(m.Conflicts) > 0:
				fail = fmt.Sprint("needless conflict ", m.Conflicts)
			case ok && !rawjson.Equal(m.Ours.Value("a"), mustParse(t, text(want)).Value("a")):
				fail = fmt.Sprintf("want %s", text(want))
			case !ok && len(m.Conflicts) == 0:
				fail = "want a conflict"
			case !ok:
				conflicts++
				checkChoices(t, "", m.Marked(7))
			}
			if fail != "" {
				t.Fatalf("seed %d %s%s:\nBASE %s\nOURS %s\nTHEIRS %s\nMERGED %s\n%s", seed, way.name, kind.name,
					docs[0].Bytes(), way.first.Bytes(), way.second.Bytes(), m.Ours.Bytes(), fail)
			}
		}
	}
	t.Logf("%d merges, %d with conflicts", 2*rounds, conflicts)
}

// arrayTexts returns a function that writes a database with an array, inside a record or not.
func arrayTexts(r *rand.Rand, element func(elementModel) string) func([]elementModel) string {
	head, foot := "{ \"a\": ", " }\n"
	if r.IntN(2) == 0 {
		head, foot = "{\n  \"a\": [\n    { \"id\": 1, \"at\": ", ", \"z\": 1 }\n  ]\n}\n"
	}
	open, separator, end := "[", ", ", "]"
	if r.IntN(2) == 0 {
		open, separator, end = "[\n      ", ",\n      ", "\n    ]"
	}
	return func(list []elementModel) string {
		if len(list) == 0 {
			return head + "[]" + foot
		}
		texts := make([]string, len(list))
		for i, e := range list {
			texts[i] = element(e)
		}
		return head + open + strings.Join(texts, separator) + end + foot
	}
}
