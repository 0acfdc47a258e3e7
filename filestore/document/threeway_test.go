package document

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// TestMerge checks the merges of testdata/merge. Its README describes the format.
func TestMerge(t *testing.T) {
	files, err := filepath.Glob("testdata/merge/*.txtar")
	if err != nil || len(files) < 80 {
		t.Fatal(len(files), "files", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			file := "db.json"
			if strings.Contains(name, "json5") {
				file = "db.json5"
			}
			sides, _ := mergeSides(t, file, a)
			m, err := Merge(sides[0], sides[1], sides[2])
			if err != nil {
				t.Fatal(err)
			}
			if err := checkMerge(sides[0], sides[1], sides[2], m); err != nil {
				t.Error(err)
			}
			var conflicts strings.Builder
			for _, c := range m.Conflicts {
				fmt.Fprintln(&conflicts, c)
			}
			text := m.Marked(7)
			checkChoices(t, file, text)
			want := a.Files[:3:3]
			if len(m.Conflicts) > 0 {
				want = append(want, txtar.File{Name: "conflicts", Data: []byte(conflicts.String())})
			}
			want = append(want, mergeFile("merged", text))
			if _, err := Parse(file, text, nil); err != nil {
				want = append(want, txtar.File{Name: "error", Data: []byte(err.Error() + "\n")})
			}
			if *update {
				a.Files = want
				if err := os.WriteFile(name, txtar.Format(a), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if got := txtar.Format(&txtar.Archive{Files: a.Files[3:]}); !bytes.Equal(got, txtar.Format(&txtar.Archive{Files: want[3:]})) {
				t.Errorf("got\n%s", txtar.Format(&txtar.Archive{Files: want[3:]}))
			}
		})
	}
}

// mergeSides returns base, ours and theirs of a file of testdata/merge, and their texts.
func mergeSides(t testing.TB, file string, a *txtar.Archive) (sides [3]*Document, texts [3][]byte) {
	t.Helper()
	for i, name := range []string{"base", "ours", "theirs"} {
		section, as, _ := strings.Cut(a.Files[i].Name, " ")
		if section != name {
			t.Fatalf("%s instead of %s", section, name)
		}
		texts[i] = (&goldenFile{as: as}).encode(a.Files[i].Data)
		d, err := Parse(file, texts[i], nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, texts[i])
		}
		sides[i] = d
	}
	return sides, texts
}

// mergeFile is the inverse of mergeSides for one text.
func mergeFile(name string, text []byte) txtar.File {
	g := new(goldenFile)
	if bytes.HasPrefix(text, byteOrderMark) {
		g.as += " bom"
	}
	if bytes.Contains(text, []byte("\r\n")) {
		g.as += " crlf"
	}
	if !bytes.HasSuffix(text, []byte("\n")) {
		g.as += " open"
	}
	return txtar.File{Name: name + g.as, Data: g.decode(text)}
}

func mustParse(t testing.TB, text string) *Document {
	t.Helper()
	d, err := Parse("", []byte(text), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return d
}

// checkChoices checks that a text with markers parses whatever side is chosen for each
// conflict, and that what both sides have is there once.
func checkChoices(t testing.TB, file string, text []byte) {
	t.Helper()
	var parts [][2]string // of both sides
	side := -1            // none
	for l := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(l, "<<<<<<< ours"):
			side = 0
			parts = append(parts, [2]string{})
		case strings.HasPrefix(l, "=======") && side == 0:
			side = 1
		case strings.HasPrefix(l, ">>>>>>> theirs") && side == 1:
			side = -1
		case side >= 0:
			parts[len(parts)-1][side] += l
		default:
			parts = append(parts, [2]string{l, l})
		}
	}
	different := 0
	for _, p := range parts {
		if p[0] != p[1] {
			different++
		}
	}
	choose := func(choice func() int) *Document {
		var b strings.Builder
		for _, p := range parts {
			i := 0
			if p[0] != p[1] {
				i = choice()
			}
			b.WriteString(p[i])
		}
		d, err := Parse(file, []byte(b.String()), nil)
		if err != nil {
			t.Fatalf("%v\n%s\nof\n%s", err, b.String(), text)
		}
		return d
	}
	ours, theirs := leaves(choose(func() int { return 0 })), leaves(choose(func() int { return 1 }))
	r := rand.New(rand.NewPCG(1, uint64(len(text))))
	for n := range min(1<<min(different, 6), 64) {
		i := 0
		d := choose(func() int {
			if different > 6 {
				return r.IntN(2)
			}
			i++
			return n >> (i - 1) & 1
		})
		has := leaves(d)
		for path := range has {
			if ours[path] == "" && theirs[path] == "" {
				t.Fatalf("choice %b: %s is on no side\n%s\nof\n%s", n, path, d.Bytes(), text)
			}
		}
		for path := range ours {
			if theirs[path] != "" && has[path] == "" {
				t.Fatalf("choice %b: %s is lost\n%s\nof\n%s", n, path, d.Bytes(), text)
			}
		}
	}
}

// mergeRounds is the number of random merges of a test.
func mergeRounds() int {
	if os.Getenv("PICKUP_LONG") != "" {
		return 60_000
	}
	return 400
}

// randomMerge returns a random document and two random edits of it. Apart from their
// comments, they are of different records if disjoint is set.
func randomMerge(t testing.TB, seed uint64, disjoint bool) (base, ours, theirs string) {
	r := rand.New(rand.NewPCG(seed, 1))
	base = randomBase(r)
	half := func(n int) func(string, string) bool {
		return func(c, id string) bool {
			k, _ := strconv.Atoi(id)
			return (k+len(c))%2 == n
		}
	}
	a, b := &randomEdit{r: r, tag: "A", next: 6}, &randomEdit{r: r, tag: "B", next: 6 + 3*r.IntN(2)}
	if disjoint {
		a.only, b.only, a.next, b.next = half(0), half(1), 100, 100
	}
	return base, a.edit(t, base, 1+r.IntN(6)), b.edit(t, base, 1+r.IntN(6))
}

// TestMergeDisjoint merges edits of different records: the result is that of both.
func TestMergeDisjoint(t *testing.T) {
	conflicts := 0
	for i := range mergeRounds() {
		base, ours, theirs := randomMerge(t, uint64(i), true)
		db, do, dt := mustParse(t, base), mustParse(t, ours), mustParse(t, theirs)
		m, err := Merge(db, do, dt)
		if err == nil {
			err = checkMerge(db, do, dt, m)
		}
		if err == nil && len(m.Conflicts) == 0 && !maps.Equal(leaves(m.Ours), bothApplied(db, do, dt)) {
			err = errors.New("the result is not that of both")
		}
		if len(m.Conflicts) > 0 {
			// Only a comment that pickup left where it deleted a record can lead to one.
			if conflicts++; conflicts > 1+i/5000 {
				err = fmt.Errorf("conflict: %v", m.Conflicts)
			}
		}
		if err != nil {
			t.Fatalf("seed %d: %v\nBASE %s\nOURS %s\nTHEIRS %s\nMERGED %s", i, err, base, ours, theirs, m.Ours.Bytes())
		}
	}
	t.Logf("%d merges of edits of different records, %d needless conflicts", mergeRounds(), conflicts)
}

// bothApplied returns the leaves after the changes of both edits.
func bothApplied(b, o, t *Document) map[string]string {
	was, all, theirs := leaves(b), leaves(o), leaves(t)
	for path := range was {
		if _, ok := theirs[path]; !ok {
			delete(all, path)
		}
	}
	for path, v := range theirs {
		if was[path] != v {
			all[path] = v
		}
	}
	return all
}

// TestMergeAny merges any two edits: no edit is lost without a conflict.
func TestMergeAny(t *testing.T) {
	conflicts := 0
	for i := range mergeRounds() {
		base, ours, theirs := randomMerge(t, uint64(i), false)
		db, do, dt := mustParse(t, base), mustParse(t, ours), mustParse(t, theirs)
		m, err := Merge(db, do, dt)
		if err == nil {
			err = checkMerge(db, do, dt, m)
		}
		if err == nil {
			err = checkSame(db, do, dt, m)
		}
		if err != nil {
			t.Fatalf("seed %d: %v\nBASE %s\nOURS %s\nTHEIRS %s", i, err, base, ours, theirs)
		}
		if len(m.Conflicts) > 0 {
			conflicts++
			checkChoices(t, "", m.Marked(7))
		}
	}
	t.Logf("%d merges, %d with conflicts", mergeRounds(), conflicts)
}

// checkSame checks merges with a document itself and with the base, and the merge the
// other way round.
func checkSame(b, o, t *Document, m *Merged) error {
	for _, id := range []struct{ o, t, want *Document }{{o, o, o}, {o, b, o}, {b, o, o}, {t, t, t}} {
		same, err := Merge(b, id.o, id.t)
		if err != nil || len(same.Conflicts) > 0 || !bytes.Equal(same.Ours.Bytes(), id.want.Bytes()) {
			return fmt.Errorf("merge with itself or the base: %v %v", err, same.Conflicts)
		}
	}
	back, err := Merge(b, t, o)
	if err != nil {
		return err
	}
	paths := func(m *Merged) (all []string) {
		for _, c := range m.Conflicts {
			all = append(all, strings.Join(c.Path, "/"))
		}
		slices.Sort(all)
		return all
	}
	if !slices.Equal(paths(m), paths(back)) {
		return fmt.Errorf("the other way round: conflicts %v and %v", m.Conflicts, back.Conflicts)
	}
	one, other := leaves(m.Ours), leaves(back.Theirs)
	for path, v := range one {
		if other[path] != v && v[0] != '[' { // what both inserted into an array has no order
			return fmt.Errorf("the other way round %s is %q, not %q", path, other[path], v)
		}
	}
	if len(one) != len(other) {
		return errors.New("the other way round has other fields")
	}
	return nil
}

// TestMergeControl checks that checkMerge notices merges that lose something.
func TestMergeControl(t *testing.T) {
	wrong := map[string]func(b, o, t *Document, m *Merged){
		"takes the base":        func(b, _, _ *Document, m *Merged) { m.Ours, m.Theirs = b, b },
		"takes ours":            func(_, o, _ *Document, m *Merged) { m.Ours, m.Theirs = o, o },
		"takes theirs":          func(_, _, t *Document, m *Merged) { m.Ours, m.Theirs = t, t },
		"hides a conflict":      func(_, _, _ *Document, m *Merged) { m.Conflicts = m.Conflicts[:max(0, len(m.Conflicts)-1)] },
		"drops theirs":          func(_, _, _ *Document, m *Merged) { m.Theirs = m.Ours },
		"drops ours":            func(_, _, _ *Document, m *Merged) { m.Ours = m.Theirs },
		"forgets the comments":  func(_, _, t *Document, m *Merged) { m.Ours = withoutAllComments(m.Ours); m.Theirs = m.Ours },
		"repeats a comment":     func(_, _, t *Document, m *Merged) { m.Ours = withCommentTwice(m.Ours); m.Theirs = m.Ours },
		"keeps deleted records": func(b, _, _ *Document, m *Merged) { m.Ours = withAllOf(m.Ours, b); m.Theirs = m.Ours },
		"invents a value": func(_, _, _ *Document, m *Merged) {
			m.Ours, _ = m.Ours.Apply([]storage.Change{{Collection: "profile", Value: []byte(`{"name":"nobody"}`)}})
			m.Theirs = m.Ours
		},
	}
	for name, damage := range wrong {
		noticed := 0
		for i := range 60 {
			base, ours, theirs := randomMerge(t, uint64(i), false)
			db, do, dt := mustParse(t, base), mustParse(t, ours), mustParse(t, theirs)
			m, err := Merge(db, do, dt)
			if err != nil {
				t.Fatal(err)
			}
			if damage(db, do, dt, m); checkMerge(db, do, dt, m) != nil {
				noticed++
			}
		}
		if noticed < 5 {
			t.Errorf("a merge that %s was noticed %d times", name, noticed)
		}
	}
}

func withoutAllComments(d *Document) *Document {
	next, _ := Parse("", bytes.Clone(plain(d.Bytes())), nil)
	return next
}

func withCommentTwice(d *Document) *Document {
	text := d.Bytes()
	for _, c := range commentsIn(text) {
		text = append(text, "\n"+c+"\n"...)
	}
	next, _ := Parse("", text, nil)
	return next
}

func withAllOf(d, other *Document) *Document {
	var changes []storage.Change
	have := leaves(d)
	for _, c := range other.Contents() {
		for _, e := range c.Elements {
			if have[c.Name+"/"+e.Key] == "" && have[c.Name] == "[" {
				changes = append(changes, storage.Change{Collection: c.Name, ID: e.Key, Value: e.Value})
			}
		}
	}
	next, _ := d.Apply(changes)
	return next
}

// checkMerge checks that m has what both edits of b changed, or a conflict about it, and
// nothing else.
func checkMerge(b, o, t *Document, m *Merged) error {
	inConflict := func(path string) bool {
		return slices.ContainsFunc(m.Conflicts, func(c Conflict) bool {
			p := strings.Join(c.Path, "/")
			return path == p || strings.HasPrefix(path, p+"/") || strings.HasPrefix(p, path+"/")
		})
	}
	fb, fo, ft := leaves(b), leaves(o), leaves(t)
	for _, result := range []struct {
		name  string
		has   map[string]string
		whole map[string]string // the side whose changes are all there
	}{{"our", leaves(m.Ours), fo}, {"their", leaves(m.Theirs), ft}} {
		for i, side := range []map[string]string{fo, ft} {
			lost := func(path string) bool {
				return !inConflict(path) || (i == 0) == (result.name == "our") && len(m.Conflicts) > 0
			}
			for path, v := range side {
				if fb[path] != v && result.has[path] != v && lost(path) && v[0] != '[' {
					return fmt.Errorf("%s side: %s = %s is lost, is %q; conflicts %v", result.name, path, v, result.has[path], m.Conflicts)
				}
			}
			for path := range fb {
				_, has := side[path]
				if _, still := result.has[path]; !has && still && lost(path) {
					return fmt.Errorf("%s side: the deletion of %s is lost; conflicts %v", result.name, path, m.Conflicts)
				}
			}
		}
		for path, v := range result.has {
			if fo[path] != v && ft[path] != v && v[0] != '[' {
				return fmt.Errorf("%s side: %s = %s is on no side", result.name, path, v)
			}
		}
	}
	for i, mb := range m.Ours.members {
		if i > 0 && mb.array != nil && len(m.Conflicts) == 0 {
			if err := checkOrder(mb.name, b, o, t, m.Ours); err != nil {
				return err
			}
		}
	}
	return checkMergedComments(b, o, t, m)
}

// checkOrder checks that the records of a collection that all have are in the order of
// a side.
func checkOrder(name string, b, o, t, merged *Document) error {
	var lists [4]*list
	for i, d := range []*Document{b, o, t, merged} {
		at := slices.IndexFunc(d.members, func(m *member) bool { return m.name == name && m.array != nil })
		if at < 0 {
			return nil
		}
		lists[i] = d.members[at].array.elementList()
	}
	common := func(i int) (names []string) {
		for _, it := range lists[i].items {
			if !slices.ContainsFunc(lists[:], func(l *list) bool { return l.index(it.key) < 0 }) {
				names = append(names, it.key)
			}
		}
		return names
	}
	want := common(1)
	if slices.Equal(want, common(0)) {
		want = common(2)
	}
	if !slices.Equal(common(3), want) {
		return fmt.Errorf("the order of %s is %v, not %v", name, common(3), want)
	}
	return nil
}

func checkMergedComments(b, o, t *Document, m *Merged) error {
	count := func(docs ...*Document) map[string]int {
		n := make(map[string]int)
		for _, d := range docs {
			for _, c := range commentsIn(d.Bytes()) {
				n[c]++
			}
		}
		return n
	}
	nb, no, nt := count(b), count(o), count(t)
	either := count(m.Ours, m.Theirs)
	for _, side := range []map[string]int{no, nt} {
		for c := range side {
			if nb[c] == 0 && either[c] == 0 {
				return fmt.Errorf("the comment %q is lost", c)
			}
		}
	}
	for _, d := range []*Document{m.Ours, m.Theirs} {
		for c, n := range count(d) {
			if n > max(no[c], nt[c], no[c]+nt[c]-nb[c]) {
				return fmt.Errorf("the comment %q is there %d times", c, n)
			}
		}
	}
	for c := range nb {
		if no[c] > 0 && nt[c] > 0 && either[c] == 0 {
			return fmt.Errorf("the comment %q of all three is lost", c)
		}
	}
	return nil
}

// leaves returns each value of the contents that is no object, and where objects and
// collections are.
func leaves(d *Document) map[string]string {
	all := make(map[string]string)
	var walk func(path string, v []byte)
	walk = func(path string, v []byte) {
		if v[0] != '{' {
			all[path] = string(rawjson.Compact(v))
			return
		}
		all[path] = "{"
		for n, m := range rawjson.Members(v) {
			walk(path+"/"+rawjson.Unquote(n), m)
		}
	}
	for _, c := range d.Contents() {
		if c.Kind != storage.Array {
			walk(c.Name, c.Value)
			continue
		}
		all[c.Name] = "["
		for _, e := range c.Elements {
			walk(c.Name+"/"+e.Key, e.Value)
		}
	}
	return all
}

// randomBase returns a random database.
func randomBase(r *rand.Rand) string {
	nl, unit := "\n", []string{"  ", "\t", "    "}[r.IntN(3)]
	if r.IntN(6) == 0 {
		nl = "\r\n"
	}
	flat, trailing := r.IntN(2) == 0, r.IntN(5) == 0
	var b strings.Builder
	b.WriteString("{" + nl)
	n := 0
	for _, c := range []string{"posts", "comments", "tags"} {
		b.WriteString(unit + strconv.Quote(c) + ": [")
		k := r.IntN(7)
		for id := 1; id <= k; id++ {
			if r.IntN(5) == 0 {
				n++
				fmt.Fprintf(&b, "%s%s%s// base %d", nl, unit, unit, n)
			}
			in, out := nl+unit+unit+unit, nl+unit+unit
			b.WriteString(out)
			if flat {
				in, out = " ", " "
			}
			fmt.Fprintf(&b, `{%s"id": %d,%s"title": "%s%d",%s"n": %d,%s"tags": ["a", "b"],%s"at": { "x": 1, "y": 2 },%s"lines": %s%s}`, in, id, in, c, id, in, r.IntN(9), in, in, in, randomLines[0], out)
			if id < k || trailing {
				b.WriteString(",")
			}
			if r.IntN(6) == 0 {
				n++
				fmt.Fprintf(&b, " // after %d", n)
			}
		}
		if k > 0 {
			b.WriteString(nl + unit)
		}
		b.WriteString("]," + nl)
	}
	b.WriteString(unit + `"profile": { "name": "me", "lang": "en" }` + nl + "}" + nl)
	return b.String()
}

// randomLines are values of an array whose elements have ids, except in the last ones.
var randomLines = []string{
	`[{ "id": 1, "q": 1 }, { "id": 2, "q": [1, { "z": 1 }] }]`,
	`[{ "id": 2, "q": [1, { "z": 1 }] }, { "id": 1, "q": 1 }]`,
	`[{ "id": 1, "q": 2 }, { "id": 2, "q": [1, { "z": 1 }] }]`,
	`[{ "id": 1, "q": 1 }, { "id": 2, "q": [0, { "z": 2 }] }, { "id": 3, "q": 3 }]`,
	`[{ "id": 2, "q": [{ "z": 1 }] }]`,
	`[{ "id": 1, "q": 1 }, { "id": 2, "q": [1, { "z": 1 }] }, 5]`,
	`[]`,
	`{ "a": 1 }`,
}

// A randomEdit changes a text as people and servers do.
type randomEdit struct {
	r    *rand.Rand
	tag  string
	only func(collection, id string) bool // which records it may change; nil: all
	next int                              // the latest id of a new record, and number of a comment
}

func (e *randomEdit) ok(c, id string) bool { return e.only == nil || e.only(c, id) }

// edit makes n edits.
func (e *randomEdit) edit(t testing.TB, text string, n int) string {
	for range n {
		doc := mustParse(t, text)
		if e.only == nil && e.r.IntN(40) == 0 {
			text = e.relaid(text)
			continue
		}
		c := doc.Contents()[e.r.IntN(len(doc.members))]
		var change storage.Change
		switch what := e.r.IntN(13); {
		case c.Kind == storage.Object:
			if !e.ok(c.Name, "") {
				continue
			}
			name := []string{"name", "lang", "more"}[e.r.IntN(3)]
			change = storage.Change{Collection: c.Name, Value: rawjson.SetMember(rawjson.Compact(c.Value), name, e.value())}
		case what < 3: // add a record
			e.next++
			id := strconv.Itoa(e.next)
			if !e.ok(c.Name, id) {
				continue
			}
			change = storage.Change{Collection: c.Name, ID: id, Value: []byte(`{"id":` + id + `,"title":"new ` + e.tag + `"}`)}
		case len(c.Elements) == 0:
			continue
		case what == 3 && e.only == nil && e.r.IntN(4) == 0:
			change = storage.Change{Collection: c.Name, Value: e.reordered(c.Elements)}
		default:
			el := c.Elements[e.r.IntN(len(c.Elements))]
			if !e.ok(c.Name, el.Key) {
				continue
			}
			if what < 6 {
				text = e.comment(doc, c.Name, el.Key)
				continue
			}
			change = storage.Change{Collection: c.Name, ID: el.Key, Value: e.record(what, rawjson.Compact(el.Value))}
		}
		next, err := doc.Apply([]storage.Change{change})
		if err != nil {
			t.Fatal(err)
		}
		text = string(next.Bytes())
	}
	return text
}

func (e *randomEdit) value() string { return strconv.Quote(e.tag + strconv.Itoa(e.r.IntN(99))) }

// record returns a record changed, or nil for a deletion.
func (e *randomEdit) record(what int, v []byte) []byte {
	switch what {
	case 7:
		return rawjson.SetMember(v, "title", e.value())
	case 8:
		return rawjson.SetMember(v, "n", strconv.Itoa(e.r.IntN(99)))
	case 9:
		return rawjson.SetMember(v, "tags", []string{`["a","b","` + e.tag + `"]`, `["a"]`, `["b"]`, `["` + e.tag + `","a","b"]`, `[]`}[e.r.IntN(5)])
	case 10:
		return withoutField(v, []string{"title", "n", "at"}[e.r.IntN(3)])
	case 11:
		return rawjson.SetMember(v, "at", fmt.Sprintf(`{"x":%d,"y":%d}`, e.r.IntN(3), e.r.IntN(3)))
	case 12:
		return rawjson.SetMember(v, "lines", randomLines[e.r.IntN(len(randomLines))])
	}
	return nil
}

func withoutField(v []byte, name string) []byte {
	out := []byte{'{'}
	for quoted, value := range rawjson.Members(v) {
		if rawjson.Unquote(quoted) != name {
			out = rawjson.AppendQuotedMember(out, quoted, value)
		}
	}
	return append(out, '}')
}

// reordered returns an array with two of the elements exchanged.
func (e *randomEdit) reordered(elements []storage.Element) []byte {
	elements = slices.Clone(elements)
	i, j := e.r.IntN(len(elements)), e.r.IntN(len(elements))
	elements[i], elements[j] = elements[j], elements[i]
	v := []byte{'['}
	for _, el := range elements {
		v = append(rawjson.AppendComma(v), rawjson.Compact(el.Value)...)
	}
	return append(v, ']')
}

// relaid returns the text with other line breaks or indentation.
func (e *randomEdit) relaid(text string) string {
	lf := strings.ReplaceAll(text, "\r\n", "\n")
	switch {
	case e.r.IntN(2) == 0:
		return strings.ReplaceAll(lf, "  ", "\t")
	case lf != text:
		return lf
	}
	return strings.ReplaceAll(lf, "\n", "\r\n")
}

// comment adds a comment above a record, after it, or in it.
func (e *randomEdit) comment(doc *Document, collection, id string) string {
	e.next++
	c := fmt.Sprintf("// %s %d", e.tag, e.next)
	i := slices.IndexFunc(doc.members, func(m *member) bool { return m.name == collection })
	el, _ := doc.members[i].array.elems.Get(id)
	text, nl := string(doc.Bytes()), doc.style.nl
	at := strings.Index(text, string(el.text)) + int(el.gap) // the first that looks like this
	switch e.r.IntN(3) {
	case 0: // above
		start := strings.LastIndexByte(text[:at], '\n') + 1
		if strings.TrimSpace(text[start:at]) != "" {
			return text
		}
		return text[:start] + text[start:at] + c + nl + text[start:]
	case 1: // after
		at += len(el.value())
		end := strings.Index(text[at:], nl)
		if end < 0 || strings.Trim(text[at:at+end], ", ") != "" {
			return text
		}
		return text[:at+end] + " " + c + text[at+end:]
	}
	if br := strings.Index(string(el.value()), nl); br > 0 { // in it
		return text[:at+br] + " " + c + text[at+br:]
	}
	return text
}

// FuzzMerge merges any three texts, with random changes of the first one instead of a
// text that does not parse: the results parse.
func FuzzMerge(f *testing.F) {
	files, _ := filepath.Glob("testdata/merge/*.txtar")
	for _, name := range files {
		a, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		_, texts := mergeSides(f, "db.json5", a) // also reads JSON
		f.Add(texts[0], texts[1], texts[2])

	}
	seeds(f, func(text []byte) { f.Add(text, []byte("1"), []byte("2")) })
	f.Fuzz(func(t *testing.T, base, ours, theirs []byte) {
		var sides [3]*Document
		for i, text := range [][]byte{base, ours, theirs} {
			var err error
			if sides[i], err = Parse("", text, nil); err == nil {
				continue
			}
			if i == 0 {
				return
			}
			sides[i] = sides[0]
			r := rand.New(rand.NewPCG(uint64(i), uint64(crc32.ChecksumIEEE(text))))
			model := modelOf(sides[i].Contents())
			for range 6 {
				c := randomChange(r, model)
				if sides[i], err = sides[i].Apply([]storage.Change{c}); err != nil {
					t.Fatal(err)
				}
				model.apply(c)
			}
		}
		m, err := Merge(sides[0], sides[1], sides[2])
		if err != nil {
			t.Fatalf("%v\n%s\n%s\n%s", err, base, ours, theirs)
		}
		if len(m.Conflicts) > 0 {
			checkChoices(t, "", m.Marked(7))
		}
	})
}

// TestMergeBroken merges documents of which one is not valid, as after a fault of the program.
func TestMergeBroken(t *testing.T) {
	var docs [3]*Document
	for i, text := range []string{`{"a": 1, "b": 1}`, `{"a": 2, "b": 1}`, `{"a": 1, "b": 2}`} {
		d, err := Parse("db.json", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		docs[i] = d
	}
	docs[2].members[1].value = []byte("]")
	if _, err := Merge(docs[0], docs[1], docs[2]); !errors.Is(err, storage.ErrBroken) {
		t.Errorf("got %v", err)
	}
}
