package document

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A uniform is a style that is used everywhere in a file.
type uniform struct {
	name     string
	nl       string // line break
	unit     string // indentation
	colon    string
	comma    string // on a line
	pad      string // inside of braces on a line
	trailing string // a comma after the last item of a list over several lines
	between  string // more line breaks between records
	records  string // "line": each on a line, "lines": each over lines, "flat": the whole file on a line
	open     bool   // no line break at the end
	spread   bool   // arrays of scalars have one element a line; the first file has no array
}

var uniforms = []uniform{
	{name: "stringify", nl: "\n", unit: "  ", colon: ": ", records: "lines", spread: true},
	{name: "spaces", nl: "\n", unit: "  ", colon: ": ", comma: ", ", records: "lines"},
	{name: "tabs", nl: "\n", unit: "\t", colon: ": ", comma: ", ", records: "lines"},
	{name: "windows", nl: "\r\n", unit: "    ", colon: ": ", comma: ", ", records: "lines", open: true},
	{name: "trailing", nl: "\n", unit: "  ", colon: ": ", comma: ", ", records: "lines", trailing: ","},
	{name: "blank", nl: "\n", unit: "  ", colon: ": ", comma: ", ", records: "lines", between: "\n"},
	{name: "blank windows", nl: "\r\n", unit: "   ", colon: ":", comma: ",", records: "line", between: "\r\n"},
	{name: "lines", nl: "\n", unit: "  ", colon: ": ", comma: ", ", records: "line"},
	{name: "lines padded", nl: "\n", unit: "  ", colon: ": ", comma: ", ", pad: " ", records: "line"},
	{name: "lines compact", nl: "\n", unit: " ", colon: ":", comma: ",", records: "line"},
	{name: "lines trailing", nl: "\n", unit: "\t", colon: ": ", comma: ", ", records: "line", trailing: ","},
	{name: "colon spaced", nl: "\n", unit: "  ", colon: " : ", comma: ", ", records: "lines"},
	{name: "minified", colon: ":", comma: ",", records: "flat", open: true},
	{name: "flat", colon: ": ", comma: ", ", records: "flat"},
	{name: "flat padded", colon: ": ", comma: ", ", pad: " ", records: "flat"},
}

// text lays out a whole file.
func (u uniform) text(top *list) string {
	s := u.list(top, 0, u.records == "flat")
	if !u.open {
		s += cmpNL(u.nl)
	}
	return s
}

func cmpNL(nl string) string {
	if nl == "" {
		return "\n"
	}
	return nl
}

// list lays out a list at a depth of the file.
func (u uniform) list(l *list, deep int, flat bool) string {
	open, close := string(l.open), string(rawjson.Closing(l.open))
	if len(l.items) == 0 {
		return open + close
	}
	scalars := l.open == '[' && !slices.ContainsFunc(l.items, func(it item) bool { return it.value[0] == '[' || it.value[0] == '{' })
	flat = flat || scalars && deep > 1 && !u.spread
	var items []string
	for _, it := range l.items {
		v := string(it.value)
		if sub := cutList(it.value); sub.open != 0 {
			v = u.list(sub, deep+1, flat || u.records == "line" && deep == 1)
		}
		if l.open == '{' {
			v = quote(string(it.name())) + u.colon + v
		}
		items = append(items, v)
	}
	if flat {
		pad := u.pad
		if l.open == '[' {
			pad = ""
		}
		return open + pad + strings.Join(items, u.comma) + pad + close
	}
	in := u.nl + strings.Repeat(u.unit, deep+1)
	sep := "," + in
	if deep == 1 && l.open == '[' {
		sep = "," + u.between + in
	}
	return open + in + strings.Join(items, sep) + u.trailing + u.nl + strings.Repeat(u.unit, deep) + close
}

// TestUniformStyles checks that edits of a file with one style give what a formatter
// of that style would write.
func TestUniformStyles(t *testing.T) {
	seeds := uint64(4)
	if os.Getenv("PICKUP_LONG") != "" {
		seeds = 600
	}
	for _, u := range uniforms {
		t.Run(u.name, func(t *testing.T) {
			for seed := range seeds {
				u.run(t, rand.New(rand.NewPCG(seed, 7)))
			}
		})
	}
}

func (u uniform) run(t *testing.T, r *rand.Rand) {
	// The first collection does not change, so there is always an example.
	anchor := `[{"id":"1","s":"x","tags":["a"],"o":{"x":1,"y":[{"z":1}]}},{"id":"2","s":"y"}]`
	if u.spread {
		anchor = `[{"id":"1","s":"x"}]`
	}
	top := cutList([]byte(`{"anchor":` + anchor + `,"b":[{"id":"1"}],"c":[],"one":{"id":1,"o":{"x":1}}}`))
	d, err := Parse("db.json", []byte(u.text(top)), nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 30 {
		before := u.text(top)
		c := u.change(r, top, n)
		next, err := d.Apply([]storage.Change{c})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(next.Bytes()), u.text(top); got != want {
			t.Fatalf("%q %q %s\nbefore\n%s\ngot\n%s\nwant\n%s\n%s", c.Collection, c.ID, c.Value, before, got, want, firstDiff(got, want))
		}
		checkDocument(t, next)
		d = next
	}
}

// change makes a random change to top and returns it.
func (u uniform) change(r *rand.Rand, top *list, n int) storage.Change {
	if r.IntN(6) == 0 {
		return u.memberChange(r, top, n)
	}
	m := &top.items[1+r.IntN(2)]
	a := cutList(m.value)
	c := storage.Change{Collection: string(m.name())}
	if len(a.items) == 0 || r.IntN(3) == 0 {
		c.ID = fmt.Sprint("n", n)
		c.Value = []byte(`{"id":"` + c.ID + `"` + u.some(r, "stu") + `}`)
		a.items = append(a.items, item{value: c.Value})
	} else {
		i := r.IntN(len(a.items))
		c.ID, _ = storage.ID(a.items[i].value, "id")
		if r.IntN(3) == 0 {
			a.items = slices.Delete(a.items, i, i+1)
		} else {
			c.Value = u.edited(r, a.items[i].value)
			a.items[i].value = c.Value
		}
	}
	m.value = packed(a)
	return c
}

func (u uniform) memberChange(r *rand.Rand, top *list, n int) storage.Change {
	c := storage.Change{Collection: fmt.Sprint("m", n)}
	switch k := len(top.items); {
	case k > 4 && r.IntN(2) == 0:
		i := 4 + r.IntN(k-4)
		c.Collection = string(top.items[i].name())
		top.items = slices.Delete(top.items, i, i+1)
	case r.IntN(2) == 0:
		c.Collection = string(top.items[3].name())
		c.Value = u.edited(r, top.items[3].value)
		top.items[3].value = c.Value
	default:
		c.Value = []byte([]string{`[{"id":1}]`, `[]`, `{"a":1,"o":{"x":[]}}`, `"x"`}[r.IntN(4)])
		top.items = append(top.items, item{label: []byte(quote(c.Collection)), value: c.Value})
	}
	return c
}

// some returns some of the members called by the letters of names.
func (u uniform) some(r *rand.Rand, names string) string {
	var b strings.Builder
	for _, name := range names {
		if r.IntN(2) == 0 {
			fmt.Fprintf(&b, `,"%c":%s`, name, u.value(r))
		}
	}
	return b.String()
}

func (u uniform) value(r *rand.Rand) string {
	return []string{`1.10`, `"a, b"`, `null`, `[]`, `{}`, `["x",1,true]`, `{"x":1,"y":[]}`, `{"x":{"y":{"z":"z"}}}`, `[{"x":1,"y":2},{"x":3}]`,
		`[[1,2],[3]]`}[r.IntN(10)]
}

// edited returns an object with some members changed, added anywhere and
// removed.
func (u uniform) edited(r *rand.Rand, v []byte) []byte {
	l, old := cutList(v), cutList(v)
	kept := l.items[:0]
	for _, it := range l.items {
		switch k := r.IntN(5); {
		case string(it.name()) == "id" || k < 2:
		case k == 2:
			continue
		default:
			it.value = []byte(u.value(r))
		}
		kept = append(kept, it)
	}
	l.items = kept
	for _, name := range []string{"s", "t", "u", "v"} {
		if r.IntN(4) == 0 && old.index(name) < 0 {
			l.items = slices.Insert(l.items, r.IntN(len(l.items)+1), item{label: []byte(quote(name)), value: []byte(u.value(r))})
		}
	}
	return packed(l)
}

// packed returns a list without any space.
func packed(l *list) []byte {
	var parts [][]byte
	for _, it := range l.items {
		if l.open == '{' {
			it.value = concat([]byte(quote(string(it.name()))+":"), it.value)
		}
		parts = append(parts, it.value)
	}
	return concat([]byte{l.open}, bytes.Join(parts, []byte(",")), []byte{rawjson.Closing(l.open)})
}

// firstDiff returns the first lines in which two texts differ.
func firstDiff(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d: got %q, want %q", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}
