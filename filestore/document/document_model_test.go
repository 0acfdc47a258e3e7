package document

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A model is the contents of a document without its text. Random operations are
// checked against it.
type model struct {
	names []string
	kinds map[string]storage.Kind
	value map[string]string            // canonical values of other members
	order map[string][]string          // the keys of a collection's elements
	elems map[string]map[string]string // canonical values by key
}

func modelOf(cs []storage.Collection) *model {
	m := &model{
		kinds: make(map[string]storage.Kind),
		value: make(map[string]string),
		order: make(map[string][]string),
		elems: make(map[string]map[string]string),
	}
	for _, c := range cs {
		m.names = append(m.names, c.Name)
		m.set(c)
	}
	return m
}

func (m *model) set(c storage.Collection) {
	m.kinds[c.Name] = c.Kind
	delete(m.value, c.Name)
	delete(m.order, c.Name)
	delete(m.elems, c.Name)
	if c.Kind != storage.Array {
		m.value[c.Name] = canonical(c.Value)
		return
	}
	m.elems[c.Name] = make(map[string]string)
	for _, e := range c.Elements {
		m.order[c.Name] = append(m.order[c.Name], e.Key)
		m.elems[c.Name][e.Key] = canonical(e.Value)
	}
}

// apply makes the same changes as Document.Apply.
func (m *model) apply(c storage.Change) {
	if c.ID == "" {
		i := slices.Index(m.names, c.Collection)
		if c.Value == nil {
			if i >= 0 {
				m.names = slices.Delete(m.names, i, i+1)
				delete(m.kinds, c.Collection)
				delete(m.value, c.Collection)
				delete(m.order, c.Collection)
				delete(m.elems, c.Collection)
			}
			return
		}
		if i < 0 {
			next := slices.Index(m.names, c.Next)
			switch {
			case c.Collection == "$schema":
				next = 0
			case c.Next == "" || next < 0:
				next = len(m.names)
			}
			m.names = slices.Insert(m.names, next, c.Collection)
		}
		d, err := Parse("", fmt.Appendf(nil, "{%s:%s}", quote(c.Collection), c.Value), nil)
		if err != nil {
			panic(err)
		}
		m.set(d.Contents()[0])
		return
	}
	_, had := m.elems[c.Collection][c.ID]
	switch {
	case c.Value != nil:
		m.elems[c.Collection][c.ID] = canonical(c.Value)
		if !had {
			m.order[c.Collection] = append(m.order[c.Collection], c.ID)
		}
	case had:
		delete(m.elems[c.Collection], c.ID)
		m.order[c.Collection] = slices.DeleteFunc(m.order[c.Collection], func(id string) bool { return id == c.ID })
	}
}

// diff returns how two models differ, or "". Keys count only if keys is set:
// position keys change when a file is parsed again.
func (m *model) diff(o *model, keys bool) string {
	if !slices.Equal(m.names, o.names) {
		return fmt.Sprintf("members %q, want %q", o.names, m.names)
	}
	if !maps.Equal(m.kinds, o.kinds) || !maps.Equal(m.value, o.value) {
		return fmt.Sprintf("values %v %v, want %v %v", o.kinds, o.value, m.kinds, m.value)
	}
	for name, ids := range m.order {
		if keys && !slices.Equal(ids, o.order[name]) {
			return fmt.Sprintf("keys of %s %q, want %q", name, o.order[name], ids)
		}
		if a, b := m.list(name), o.list(name); !slices.Equal(a, b) {
			return fmt.Sprintf("elements of %s\n%s\nwant\n%s", name, strings.Join(b, "\n"), strings.Join(a, "\n"))
		}
	}
	return ""
}

func (m *model) list(name string) (values []string) {
	for _, id := range m.order[name] {
		values = append(values, m.elems[name][id])
	}
	return values
}

// canonical returns v with sorted members and unquoted names. Numbers keep their
// spelling; a file may have escapes for the characters of strings.
func canonical(v []byte) string {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	var b strings.Builder
	canonicalNext(dec, &b)
	return b.String()
}

func canonicalNext(dec *jsontext.Decoder, b *strings.Builder) {
	switch dec.PeekKind() {
	case '{':
		dec.ReadToken()
		var members []string
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				panic(err)
			}
			var v strings.Builder
			v.WriteString(quote(name.String()) + ":")
			canonicalNext(dec, &v)
			members = append(members, v.String())
		}
		dec.ReadToken()
		slices.Sort(members)
		b.WriteString("{" + strings.Join(members, ",") + "}")
	case '[':
		dec.ReadToken()
		b.WriteString("[")
		for n := 0; dec.PeekKind() != ']'; n++ {
			if n > 0 {
				b.WriteString(",")
			}
			canonicalNext(dec, b)
		}
		dec.ReadToken()
		b.WriteString("]")
	default:
		v, err := dec.ReadValue()
		if err != nil {
			panic(err)
		}
		b.Write(rawjson.Unescaped(v))
	}
}

func quote(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// checkDocument checks the invariants of every document: its slices are contiguous,
// and its text parses to its contents.
func checkDocument(t *testing.T, d *Document) *Document {
	t.Helper()
	text := d.Bytes()
	if d.Size() != int64(len(text)) {
		t.Fatalf("size %d, but %d bytes:\n%s", d.Size(), len(text), text)
	}
	file := "db.json"
	if d.json5 {
		file = "db.json5"
	}
	again, err := ParseMember(d.only, file, text, d.idMember, nil)
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	if diff := modelOf(d.Contents()).diff(modelOf(again.Contents()), false); diff != "" {
		t.Fatalf("parsed again: %s\n%s", diff, text)
	}
	return again
}

// checkChange checks that a change kept all other bytes and lost no comment around
// it.
func checkChange(t *testing.T, before, after *Document, c storage.Change) {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("%s\nchange %q %q %s\nbefore:\n%s\nafter:\n%s", fmt.Sprintf(format, args...),
			c.Collection, c.ID, c.Value, before.Bytes(), after.Bytes())
	}
	was, is := values(before), values(after)
	for key, text := range was {
		collection, id, _ := strings.Cut(key, "\x01")
		if collection == c.Collection && (id == c.ID || c.ID == "") {
			continue
		}
		if is[key] != text {
			fail("%s was\n%s\nand is\n%s", key, text, is[key])
		}
	}
	if lost := missing(comments(before, c), comments(after, c)); lost != "" {
		fail("the comment %s is lost", lost)
	}
	// Every byte outside the surroundings of the change is the same.
	a, b := before.Bytes(), after.Bytes()
	from, to := surroundings(before, c)
	if !bytes.HasPrefix(b, a[:from]) || !bytes.HasSuffix(b, a[to:]) {
		fail("bytes outside of [%d:%d] changed", from, to)
	}
	if c.ID != "" && c.Value != nil && slices.ContainsFunc(before.members, func(m *member) bool {
		if m.name != c.Collection || m.array == nil {
			return false
		}
		place, ok := m.array.elems.Slot(c.ID)
		if !ok {
			return false
		}
		e, _ := m.array.elems.At(place)
		return sameValue(e.value(), c.Value)
	}) && !bytes.Equal(a, b) {
		fail("the same value again changed bytes")
	}
}

// values returns the text of each value by collection and key.
func values(d *Document) map[string]string {
	v := make(map[string]string)
	for _, m := range d.members {
		if m.array == nil {
			v[m.name+"\x01"] = string(m.value)
			continue
		}
		for _, e := range m.array.elems.All() {
			v[m.name+"\x01"+e.key] = string(e.value())
		}
	}
	return v
}

// comments returns the comments around values and labels, except those in a
// top-level value that c replaces.
func comments(d *Document, c storage.Change) (found []string) {
	add := func(gap []byte) {
		for i := 0; i < len(gap); i++ {
			if gap[i] == '/' {
				end := rawjson.SkipComment(gap, i)
				found = append(found, string(gap[i:end]))
				i = end - 1
			}
		}
	}
	for _, m := range d.members {
		add(m.gap)
		if m.array != nil && !(m.name == c.Collection && c.ID == "") {
			for _, e := range m.array.elems.All() {
				add(e.before())
			}
			add(m.array.tail)
		}
	}
	add(d.tail)
	return found
}

// missing returns an element of a that is not in b, or "".
func missing(a, b []string) string {
	n := make(map[string]int)
	for _, s := range b {
		n[s]++
	}
	for _, s := range a {
		if n[s]--; n[s] < 0 {
			return s
		}
	}
	return ""
}

// surroundings returns the part of the text that a change may touch: from the
// end of the item before to the beginning of the item after.
func surroundings(d *Document, c storage.Change) (from, to int) {
	at := len(d.head)
	from, to = at, int(d.Size())-len(d.foot)
	for i, m := range d.members {
		begin := at + len(m.gap)
		value := begin + len(m.label)
		end := value + len(m.valueText())
		if m.name == c.Collection {
			if c.ID == "" {
				if c.Value != nil {
					return value, end
				}
				if i+1 < len(d.members) {
					to = end + len(d.members[i+1].gap)
				}
				return from, to
			}
			place, ok := m.array.elems.Slot(c.ID)
			from, to = value+len(m.array.head), end-len(m.array.foot)
			pos := from
			for p, e := range m.array.elems.All() {
				switch {
				case !ok: // appended
					from = pos + len(e.text)
				case p < place:
					from = pos + len(e.text)
				case p == place && c.Value != nil:
					return pos + int(e.gap), pos + len(e.text)
				case p > place:
					return from, pos + int(e.gap)
				}
				pos += len(e.text)
			}
			return from, to
		}
		if m.name == c.Next && !slices.ContainsFunc(d.members, func(m *member) bool { return m.name == c.Collection }) {
			return at, begin
		}
		at = end
		from = at
	}
	if c.Collection == "$schema" && len(d.members) > 0 { // it comes first
		from = len(d.head)
		to = from + len(d.members[0].gap)
	}
	return from, to
}

// randomChange returns a random change of the contents of m.
func randomChange(r *rand.Rand, m *model) storage.Change {
	var collections []string
	for _, name := range m.names {
		if m.elems[name] != nil {
			collections = append(collections, name)
		}
	}
	if len(collections) == 0 || r.IntN(8) == 0 {
		return randomMemberChange(r, m)
	}
	c := storage.Change{Collection: collections[r.IntN(len(collections))]}
	ids := m.order[c.Collection]
	if len(ids) == 0 || r.IntN(4) == 0 {
		c.ID = fmt.Sprint("n", r.IntN(1e6))
		c.Value = randomRecord(r, c.ID)
		if r.IntN(10) == 0 && len(ids) > 0 { // the name of a neighbour
			c.Value = withID(m.elems[c.Collection][ids[0]], c.ID)
		}
		return c
	}
	c.ID = ids[r.IntN(len(ids))]
	switch r.IntN(5) {
	case 0, 1: // deleted
	case 2:
		c.Value = randomRecord(r, c.ID)
	default:
		c.Value = mutated(r, []byte(m.elems[c.Collection][c.ID]))
	}
	return c
}

func randomMemberChange(r *rand.Rand, m *model) storage.Change {
	c := storage.Change{Collection: fmt.Sprint("m", r.IntN(100))}
	if len(m.names) > 0 && r.IntN(3) > 0 {
		c.Collection = m.names[r.IntN(len(m.names))]
	}
	if len(m.names) > 0 && r.IntN(2) == 0 {
		c.Next = m.names[r.IntN(len(m.names))]
	}
	switch r.IntN(4) {
	case 0: // deleted
	case 1:
		c.Value = randomValue(r, 3)
	case 2:
		c.Value = []byte("[" + string(randomRecord(r, "1")) + "]")
	case 3:
		if old, ok := m.value[c.Collection]; ok {
			c.Value = mutated(r, []byte(old))
		} else {
			c.Value = []byte("[" + strings.Join(m.list(c.Collection), ",") + "]")
		}
	}
	return c
}

// withID sets the id of a canonical object.
func withID(v, id string) []byte {
	l := cutList([]byte(v))
	if l.open != '{' {
		return []byte(`{"id":` + quote(id) + `}`)
	}
	for i := range l.items {
		if string(l.items[i].name()) == "id" {
			l.items[i].value = []byte(quote(id))
			return l.text()
		}
	}
	return randomRecord(rand.New(rand.NewPCG(1, 2)), id)
}

// mutated returns v with a value replaced, or with an item added or removed. Ids
// stay.
func mutated(r *rand.Rand, v []byte) []byte {
	l := cutList(v)
	if l.open == 0 {
		return randomValue(r, 2)
	}
	for range 1 + r.IntN(2) {
		switch n := len(l.items); {
		case n == 0 || r.IntN(3) == 0:
			it := item{value: randomValue(r, 2)}
			if l.open == '{' {
				it.label = []byte(quote(fmt.Sprint("x", r.IntN(1e6))) + ":")
			}
			i := r.IntN(n + 1)
			l.items = slices.Insert(l.items, i, it)
		case r.IntN(3) == 0:
			if i := r.IntN(n); string(l.items[i].name()) != "id" {
				l.items = slices.Delete(l.items, i, i+1)
			}
		default:
			if i := r.IntN(n); string(l.items[i].name()) != "id" {
				l.items[i].value = mutated(r, l.items[i].value)
			}
		}
	}
	for i := range l.items {
		l.items[i].gap = []byte(",")
		if i == 0 {
			l.items[i].gap = nil
		}
	}
	l.tail = nil
	return l.text()
}

var someNames = []string{"id", "name", "title", "tags", "a", "b", "address", "näme", "x\"y", ""}

func randomRecord(r *rand.Rand, id string) []byte {
	b := []byte(`{"id":` + quote(id))
	seen := map[string]bool{"id": true}
	for range r.IntN(5) {
		name := someNames[r.IntN(len(someNames))]
		if !seen[name] {
			seen[name] = true
			b = fmt.Appendf(b, ",%s:%s", quote(name), randomValue(r, 2))
		}
	}
	return append(b, '}')
}

var someScalars = []string{"0", "1.10", "-1e3", "12345678901234567890", "true", "false", "null",
	`""`, `"// no comment"`, `"a,]"`, `"\u00e9\n"`, `"\""`, `"é"`, `"/*"`}

func randomValue(r *rand.Rand, depth int) []byte {
	if k := r.IntN(6); depth > 0 && k < 2 {
		open, close := "{", "}"
		if k == 0 {
			open, close = "[", "]"
		}
		var parts []string
		for i := range r.IntN(4) {
			v := string(randomValue(r, depth-1))
			if k == 1 {
				v = quote(fmt.Sprint(someNames[1+r.IntN(len(someNames)-1)], i)) + ":" + v
			}
			parts = append(parts, v)
		}
		return []byte(open + strings.Join(parts, ",") + close)
	}
	return []byte(someScalars[r.IntN(len(someScalars))])
}
