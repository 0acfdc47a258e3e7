package document

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// checkEdit checks that text parses to the same document as an edit of before and
// on its own. It returns the document, or nil if the text does not parse.
func checkEdit(t *testing.T, before *Document, text []byte) *Document {
	t.Helper()
	want, wrong := Parse("db.json", text, nil)
	data := bytes.Clone(text)
	d, err := ParseMember("", "db.json", data, nil, before)
	if fmt.Sprint(err) != fmt.Sprint(wrong) {
		t.Fatalf("%s\nedited to\n%s\n%v, not %v", before.Bytes(), text, err, wrong)
	}
	if err != nil {
		return nil
	}
	if d.strict != want.strict || d.length != want.length || !reflect.DeepEqual(d.style, want.style) {
		t.Fatalf("%+v, not %+v", d, want)
	}
	got, all := d.outline(), want.outline()
	if !reflect.DeepEqual(got, all) {
		t.Fatalf("%s\nedited to\n%s\n%q\nnot %q", before.Bytes(), text, got, all)
	}
	if d.strict && len(text) < 10_000 {
		for _, full := range []int{1, 40} { // in many chunks
			if cut := cutIn(bytes.Clone(text), before, full); cut == nil || !reflect.DeepEqual(cut.outline(), d.outline()) {
				t.Fatalf("%s\nedited to\n%s\nis another in chunks of %d", before.Bytes(), text, full)
			}
		}
	}
	if known := sharedBytes(before, d); known > 0 {
		if known <= max(len(text), int(before.length))/2 {
			t.Fatalf("%d bytes of %d are those of before, and keep them", known, len(text))
		}
		for i := range data { // the document must not refer to data
			data[i] = '#'
		}
	}
	if !bytes.Equal(d.Bytes(), text) {
		t.Fatalf("%s\nis written as\n%s", text, d.Bytes())
	}
	checkDocument(t, d)
	return d
}

// sharedBytes counts the bytes of elements that two documents share.
func sharedBytes(a, b *Document) (n int) {
	at := make(map[*byte]bool)
	for _, m := range a.members {
		if m.array != nil {
			for _, e := range m.array.elems.All() {
				at[&e.text[0]] = true
			}
		}
	}
	for _, m := range b.members {
		if m.array != nil {
			for _, e := range m.array.elems.All() {
				if at[&e.text[0]] {
					n += len(e.text)
				}
			}
		}
	}
	return n
}

// TestEditIsFound checks that edits of every kind reuse as many elements as
// possible.
func TestEditIsFound(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	text := string(bigFile(1_250, 100, ""))
	before, err := Parse("db.json", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	line := func(i int) (from, to int) {
		e, _ := before.members[0].array.elems.Get(fmt.Sprint(i))
		from = bytes.Index([]byte(text), e.text)
		return from, from + len(e.text)
	}
	a, b := line(250)
	hundred, _ := line(350)
	far, _ := line(750)
	for _, test := range []struct {
		name  string
		text  string
		known int // per mille
	}{
		{name: "nothing", text: text, known: 999},
		{name: "a value", text: text[:a+40] + "9" + text[a+40:], known: 995},
		{name: "one less", text: text[:a] + text[b:], known: 995},
		{name: "a hundred less", text: text[:a] + text[hundred:], known: 995},
		{name: "one more", text: text[:a] + `, {"id": "new"}` + text[a:], known: 995},
		{name: "one without an id", text: text[:a] + `, 7` + text[a:], known: 995},
		{name: "twice", text: text[:b] + text[a:], known: 995},
		{name: "moved", text: text[:a] + text[b:far] + text[a:b] + text[far:], known: 995},
		{name: "another member", text: `{"x": {}, ` + text[1:], known: 995},
		{name: "another layout", text: string(rawjson.Compact([]byte(text)))},
		{name: "other ids", text: string(bytes.ReplaceAll([]byte(text), []byte(`"id": "`), []byte(`"id": "x`)))},
		{name: "a comment", text: text[:a+7] + "/* */" + text[a+7:]},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := checkEdit(t, before, []byte(test.text))
			if d == nil {
				t.Fatal("it does not parse")
			}
			if known := 1000 * sharedBytes(before, d) / len(test.text); known < test.known || test.known == 0 && known > 0 {
				t.Errorf("%d per mille are known again, not %d", known, test.known)
			}
		})
	}
}

// TestEditModel makes random edits, interleaved with applied changes, and compares
// each document with one parsed from the text alone.
func TestEditModel(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	seeds := uint64(60)
	if os.Getenv("PICKUP_LONG") != "" {
		seeds = 400
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 7))
		d, err := Parse("db.json", []byte(`{"a": [{"id": 1}, {"id": "2", "x": [1, 2]}, 3, 33, "3", {"id": 1}, null, [4], true], `+
			`"b": [], "c": {"a": [1]}, "d": [{"id": "x"},{"id": "y"},{"id":"z"}]}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 30 {
			if r.IntN(2) == 0 {
				next, err := d.Apply([]storage.Change{randomChange(r, modelOf(d.Contents()))})
				if err != nil {
					t.Fatal(err)
				}
				d = next
			}
			text := d.Bytes()
			for range 1 + r.IntN(2) {
				text = scratched(r, text)
			}
			if next := checkEdit(t, d, text); next != nil {
				d = next
			}
		}
	}
}

// TestEditOfFewLeft deletes most of a text in one edit, in several and by applying
// changes. The rest must not keep the whole text in memory.
func TestEditOfFewLeft(t *testing.T) {
	parsed := func(n int) *Document {
		d, err := Parse("db.json", bigFile(n, 100, ""), nil)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	deleted := func(d *Document, from, to int) *Document {
		var changes []storage.Change
		for i := from; i < to; i++ {
			changes = append(changes, storage.Change{Collection: "schedules", ID: fmt.Sprint(i)})
		}
		next, err := d.Apply(changes)
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	whole := parsed(1000)
	t.Run("in one edit", func(t *testing.T) {
		if d := checkEdit(t, whole, bigFile(3, 100, "")); sharedBytes(whole, d) > 0 {
			t.Error("three records keep the text of a thousand")
		}
	})
	t.Run("in several", func(t *testing.T) {
		d := whole
		for _, n := range []int{700, 490, 343, 240} {
			d = checkEdit(t, d, bigFile(n, 100, ""))
			if kept := sharedBytes(whole, d) > 0; kept != (n == 700) {
				t.Errorf("%d records keep the text of a thousand: %v", n, kept)
			}
		}
	})
	t.Run("through the server", func(t *testing.T) {
		before := deleted(whole, 3, 1000)
		if d := checkEdit(t, before, before.Bytes()); sharedBytes(whole, d) > 0 {
			t.Error("three records keep the text of a thousand")
		}
	})
	t.Run("that came through the server", func(t *testing.T) {
		var changes []storage.Change
		for _, e := range whole.contents(whole.members[0].array) {
			changes = append(changes, storage.Change{Collection: "schedules", ID: e.Key, Value: e.Value})
		}
		grown, err := parsed(1).Apply(changes)
		if err != nil {
			t.Fatal(err)
		}
		before := deleted(grown, 3, 1000)
		if d := checkEdit(t, before, before.Bytes()); sharedBytes(grown, d) > 0 {
			t.Error("three records keep the text of a thousand")
		}
	})
}

// TestEditCosts compares the cost of edits that reuse nothing, or that have nothing
// to reuse, with that of parsing the text alone.
func TestEditCosts(t *testing.T) {
	var members, records, shuffled strings.Builder
	members.WriteString(`{"a":1`)
	records.WriteString(`{"a":[0`)
	shuffled.WriteString(`{"a":[0`)
	const n = 10_000
	for i := range n {
		fmt.Fprintf(&members, `,"k%d":[%d]`, n+i, i)
		fmt.Fprintf(&records, `,{"id":%d}`, i)
		fmt.Fprintf(&shuffled, `,{"id":%d}`, i*7919%n)
	}
	members.WriteString("}")
	records.WriteString("]}")
	shuffled.WriteString("]}")
	for _, test := range []struct{ name, before, text string }{
		{name: "many members", before: members.String(), text: members.String()},
		{name: "another order", before: records.String(), text: shuffled.String()},
	} {
		t.Run(test.name, func(t *testing.T) {
			before, err := Parse("db.json", []byte(test.before), nil)
			if err != nil {
				t.Fatal(err)
			}
			cost := func(before *Document) (took time.Duration, bytes uint64) {
				took = time.Hour
				for range 3 {
					var m, n runtime.MemStats
					runtime.ReadMemStats(&m)
					begin := time.Now()
					if _, err := ParseMember("", "db.json", []byte(test.text), nil, before); err != nil {
						t.Fatal(err)
					}
					took = min(took, time.Since(begin))
					runtime.ReadMemStats(&n)
					bytes = n.TotalAlloc - m.TotalAlloc
				}
				return took, bytes
			}
			alone, allocated := cost(nil)
			took, more := cost(before)
			if took > 10*alone+50*time.Millisecond {
				t.Errorf("it takes %v, and %v alone", took, alone)
			}
			if more > 2*allocated {
				t.Errorf("it takes %d bytes, and %d alone", more, allocated)
			}
		})
	}
}

// scratched returns text after a small edit, which may break it.
func scratched(r *rand.Rand, text []byte) []byte {
	i := r.IntN(len(text) + 1)
	j := min(len(text), i+r.IntN(30))
	switch r.IntN(5) {
	case 0: // remove a piece
		return append(text[:i:i], text[j:]...)
	case 1: // repeat a piece
		return append(text[:j:j], text[i:]...)
	case 2: // move a piece
		k := r.IntN(len(text) + 1)
		return append(append(text[:k:k], text[i:j]...), text[k:]...)
	}
	pieces := []string{"3", " ", ",", "{}", `"`, "]", "[", "}", "{", ", 3", `, {"id": "x"}`, "\n", "// c\n", ", 3, 3", "e1", "true,"}
	return append(append(text[:i:i], pieces[r.IntN(len(pieces))]...), text[i:]...)
}

// FuzzEdit checks that any text parses to the same document as an edit of any other
// and on its own.
func FuzzEdit(f *testing.F) {
	seeds(f, func(text []byte) {
		f.Add(text, text)
		f.Add(text, bytes.Replace(text, []byte("1"), []byte("11"), 1))
		f.Add(text, bytes.Replace(text, []byte(","), nil, 1))
	})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		d, err := Parse("db.json", first, nil)
		if err != nil {
			return
		}
		if next := checkEdit(t, d, second); next != nil {
			checkEdit(t, next, first)
		}
	})
}
