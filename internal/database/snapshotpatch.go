package database

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// AppendPatch appends the changes that lead from s to the contents of to, as
// a JSON Patch (RFC 6902) for PatchDatabase. Each change of a record begins with
// a test that the record is still in its place.
func (s *Snapshot) AppendPatch(dst []byte, to *Snapshot) []byte {
	changes := s.Changes(to)
	p := patchWriter{b: append(dst, '[')}
	there := make(map[element]Change) // records
	for _, ch := range changes {
		switch {
		case ch.ID == "":
			p.member(ch, to)
		case ch.Before != nil:
			there[element{ch.Collection, ch.ID}] = ch
		}
	}
	for _, c := range s.list {
		records := c.recordList()
		for i, r := range records {
			if ch := there[element{c.name, r.ID}]; ch.Op == Updated {
				p.test(ch, strconv.Itoa(i), c.ids.member)
				p.object(ch, c.name, strconv.Itoa(i))
			}
		}
		// From the end, so that the places of the others stay as they are.
		for i, r := range slices.Backward(records) {
			if ch := there[element{c.name, r.ID}]; ch.Op == Deleted {
				p.test(ch, strconv.Itoa(i), c.ids.member)
				p.op("remove", nil, c.name, strconv.Itoa(i))
			}
		}
	}
	for _, ch := range changes {
		if ch.Op == Created && ch.ID != "" {
			p.op("add", ch.After, ch.Collection, "-")
		}
	}
	return append(p.b, ']')
}

// A patchWriter appends the operations of a JSON Patch.
type patchWriter struct{ b []byte }

func (p *patchWriter) op(op string, value jsontext.Value, path ...string) {
	p.b = rawjson.AppendQuote(append(rawjson.AppendComma(p.b), `{"op":`...), op)
	p.b = rawjson.AppendQuote(append(p.b, `,"path":`...), rawjson.Pointer(path...))
	if value != nil {
		p.b = append(append(p.b, `,"value":`...), value...)
	}
	p.b = append(p.b, '}')
}

// test makes sure that a record is in its place. One without an id of its own
// must be what it was.
func (p *patchWriter) test(ch Change, place, idMember string) {
	if storage.IsPositionKey(ch.ID) {
		p.op("test", ch.Before, ch.Collection, place)
		return
	}
	id, _ := rawjson.Member(ch.Before, idMember)
	p.op("test", id, ch.Collection, place, idMember)
}

// member changes a top-level field as a whole.
func (p *patchWriter) member(ch Change, to *Snapshot) {
	switch ch.Op {
	case Created:
		p.op("add", to.valueAt(element{ch.Collection, ""}), ch.Collection)
	case Deleted:
		p.op("remove", nil, ch.Collection)
	case Updated:
		ch.After = to.valueAt(element{ch.Collection, ""})
		p.object(ch, ch.Collection)
	}
}

// object changes the fields of an object that differ, or another value as a whole.
func (p *patchWriter) object(ch Change, path ...string) {
	names := changedMembers(ch)
	if names == nil {
		p.op("replace", ch.After, path...)
		return
	}
	for _, name := range rawjson.MemberNames(ch.Before) {
		if _, kept := rawjson.Member(ch.After, name); !kept {
			p.op("remove", nil, append(path, name)...)
		}
	}
	for _, name := range names {
		op := "add"
		if _, has := rawjson.Member(ch.Before, name); has {
			op = "replace"
		}
		value, _ := rawjson.Member(ch.After, name)
		p.op(op, value, append(path, name)...)
	}
}
