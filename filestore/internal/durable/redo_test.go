package durable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pickup/filestore/internal/checksum"
)

// sample is a content, and longSample one that is longer than a sector.
const sample = `{
  "schedules": [
    {"id": "1", "title": "Vet visit"},
    {"id": "2", "title": "School run"}
  ]
}
`

var longSample = strings.Replace(sample, "Vet visit", strings.Repeat("Vet visit ", 120), 1)

// edited is the sample after an edit.
func edited(title string) string { return strings.Replace(sample, "Vet visit", title, 1) }

// block is the unit in which a file system writes.
const block = 4096

// valid is the function that a caller hands to New.
func valid(text []byte) error {
	if !json.Valid(text) {
		return errors.New("it is not JSON")
	}
	return nil
}

// recordOf returns the redo record that leads from old to next.
func recordOf(t testing.TB, old, next string) []byte {
	before, after := rawText(old), rawText(next)
	b := bytes.Join(redoRecord("db.json", before, after, after.Sum()), nil)
	if most := redoSize("db.json", before, after); int64(len(b)) > most {
		t.Fatalf("a record of %d bytes, and %d were reserved", len(b), most)
	}
	return b
}

func TestRedoRecord(t *testing.T) {
	next := edited("Dentist")
	b := recordOf(t, longSample, next)
	r, ok := readRedo(b)
	if !ok || string(r.text) != next || r.oldLen != int64(len(longSample)) || r.oldSum != checksum.Of([]byte(longSample)) {
		t.Fatalf("%+v", r)
	}
	head, _, _ := bytes.Cut(b[2:], []byte("\n"))
	if !strings.Contains(string(head), "start pickup on this file") {
		t.Errorf("the first line should help who finds it: %s", head)
	}
	last := bytes.LastIndex(b, []byte(redoBegin[1:]))
	for i := range b { // every damage is detected
		for bit := range 8 {
			b[i] ^= 1 << bit
			if r, ok := readRedo(b); ok {
				t.Fatalf("bit %d of byte %d does not matter: %+v", bit, i, r)
			}
			b[i] ^= 1 << bit
		}
		if r, ok := readRedo(b[:i]); ok != (i >= last) || ok && string(r.text) != next {
			t.Fatalf("cut off at byte %d, it is read: %v", i, ok)
		}
	}
}

// TestRecordName has names of files that look like parts of a record.
func TestRecordName(t *testing.T) {
	d := rawText(sample)
	sum := d.Sum()
	for _, name := range []string{"my head=1.json", fmt.Sprintf("db"+redoForm+redoCheck, 1, uint64(sum), 1, uint64(sum), uint64(sum)), "a\nb"} {
		b := bytes.Join(redoRecord(name, d, d, sum), nil)
		if r, ok := readRedo(b); !ok || string(r.text) != sample {
			t.Errorf("%q: %v, %+v", name, ok, r)
		}
	}
}

func FuzzRedo(f *testing.F) {
	old, next := longSample, edited("Dentist")
	record := recordOf(f, old, next)
	f.Add([]byte(old), record)
	f.Add([]byte(old), record[:100])
	f.Add([]byte(sample), recordOf(f, sample, longSample))
	f.Add([]byte(sample+"\x00\x00"), []byte("\x00\n// An interrupted save of  pickup-redo-1 old=-1:0 new=9:0 crcs=0 head=0\n"))
	f.Fuzz(func(t *testing.T, text, record []byte) {
		data := slices.Concat(text, record)
		v, ok := judge(data, valid)
		if !ok {
			return
		}
		if valid(v.text) != nil {
			// A record is made of documents, so this took a forged one.
			if at := bytes.LastIndex(data, []byte(redoBegin)); at < 0 {
				t.Fatalf("the verdict on %q does not parse: %q", data, v.text)
			}
		}
		if valid(text) == nil && !bytes.Equal(v.text, text) && v.keep == nil {
			if r, _ := readRedo(record); !r.explains(text) {
				t.Fatalf("a document is thrown away: %q", text)
			}
		}
	})
}

// TestTornRecord removes sectors of a record after a whole document, old or new,
// that ends anywhere in a sector. The result is one of the two, and the new one if
// the file has it. If the first line of the record is not readable, its rest is
// kept.
func TestTornRecord(t *testing.T) {
	next := edited("Dentist")
	for _, c := range []struct {
		name string
		old  func(pad int) string
	}{
		{"longer", func(pad int) string { return strings.Replace(next, "School run", strings.Repeat("x", 11+pad), 1) }},
		{"much longer", func(pad int) string {
			return strings.Replace(longSample, "School run", strings.Repeat("x", 4096+pad), 1)
		}},
		{"shorter", func(pad int) string { return "{}\n" + strings.Repeat(" ", pad%100) }},
		{"as long", func(int) string { return strings.Replace(next, "Dentist", "Optimum", 1) }},
	} {
		for pad := 0; pad < redoBlock; pad += 41 {
			old := c.old(pad)
			record := recordOf(t, old, next)
			at := (max(len(old), len(next)) + block - 1) / block * block
			for _, text := range []string{old, next} {
				whole := append([]byte(text), make([]byte, at-len(text))...)
				whole = append(whole, record...)
				sectors := (len(record) + redoBlock - 1) / redoBlock
				for lost := range 1 << 5 { // the first two, the last two, all between
					data := bytes.Clone(whole)
					for i := range sectors {
						bit := min(i, 2)
						if i >= sectors-2 {
							bit = 5 - (sectors - i)
						}
						if lost>>bit&1 == 1 {
							clear(data[at+i*redoBlock : min(len(data), at+(i+1)*redoBlock)])
						}
					}
					v, ok := judge(data, valid)
					if !ok || text == next && string(v.text) != next || string(v.text) != old && string(v.text) != next {
						t.Fatalf("%s, %d bytes, sectors lost: %05b: %v, %.100q", c.name, len(old), lost, ok, v.text)
					}
					rest := data[len(text):]
					_, redone := readRedo(data[at:])
					if keeps := !isRecordOf([]byte(text), rest) && !redone && !isZero(rest); keeps != (v.keep != nil) || keeps && !bytes.Equal(v.keep, rest) {
						t.Fatalf("%s, %d bytes, sectors lost: %05b: %d bytes kept of %d", c.name, len(old), lost, len(v.keep), len(rest))
					}
				}
			}
		}
	}
}
