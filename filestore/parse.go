package filestore

import (
	"bytes"
	"cmp"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/btree"

	"pickup"
)

// parseDocument cuts data into a document, which keeps slices of it: nobody
// may change data afterwards. It reads JSON (RFC 8259) as people write it:
// with comments, trailing commas and a byte order mark. Duplicate names and
// text that is not UTF-8 are errors, and so is a top level that is no object.
//
// file is the file's name for errors, which are *pickup.BrokenError. idMember
// says which member of a collection's elements is their id; nil stands for
// "id".
func parseDocument(file string, data []byte, idMember func(collection string) string) (*document, error) {
	if idMember == nil {
		idMember = func(string) string { return "id" }
	}
	d := &document{file: file, idMember: idMember, length: int64(len(data))}
	// Most files are plain JSON. One that is cut without an error has nothing
	// that blanked would find.
	err := d.cut(data, data)
	if d.strict = err == nil; err != nil {
		if text := blanked(data); text != nil {
			err = d.cut(data, text)
		} else {
			d.strict = true
		}
	}
	if err != nil {
		return nil, broken(file, data, err)
	}
	d.style = styleOf(d)
	return d, nil
}

// errNoObject says that the top level is something else than an object.
var errNoObject = errors.New("the top level is no object")

// cut fills d with slices of data at the places where plain, the same text
// with comments blanked, has its values.
func (d *document) cut(data, plain []byte) error {
	d.members = nil
	dec := jsontext.NewDecoder(bytes.NewBuffer(plain))
	pos := func() int { return int(dec.InputOffset()) }

	if k := dec.PeekKind(); k != '{' && k > 0 {
		return errNoObject
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	end := pos()
	d.head = data[:end]
	for dec.PeekKind() != '}' {
		name, err := dec.ReadValue()
		if err != nil {
			return err
		}
		m := &member{gap: data[end : pos()-len(name)], name: unquoted(name)}
		start := pos() - len(name)
		if dec.PeekKind() == '[' {
			m.array = &array{}
			if _, err := dec.ReadToken(); err != nil {
				return err
			}
			m.label = data[start : pos()-1]
			if err := m.array.cut(dec, data, pickup.NewKeys(d.idMember(m.name))); err != nil {
				return err
			}
		} else {
			v, err := dec.ReadValue()
			if err != nil {
				return err
			}
			m.label = data[start : pos()-len(v)]
			m.value = data[pos()-len(v) : pos()]
		}
		d.members = append(d.members, m)
		end = pos()
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	d.tail = data[end : pos()-1]
	d.foot = data[pos()-1:]
	if _, err := dec.ReadToken(); err != io.EOF {
		if err == nil {
			err = errors.New("more than one value")
		}
		return &jsontext.SyntacticError{ByteOffset: int64(pos()), Err: err}
	}
	return nil
}

// cut reads the rest of an array whose bracket dec has read.
func (a *array) cut(dec *jsontext.Decoder, data []byte, keys *pickup.Keys) error {
	end := int(dec.InputOffset())
	a.head = data[end-1 : end]
	for dec.PeekKind() != ']' {
		v, err := dec.ReadValue()
		if err != nil {
			return err
		}
		start := end
		end = int(dec.InputOffset())
		a.elems.Load(a.next, element{text: data[start:end], gap: end - len(v) - start})
		a.places.Set(keys.Next(v), a.next)
		a.next++
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	tighten(&a.elems)
	tighten(&a.places)
	close := int(dec.InputOffset()) - 1
	a.tail = data[end:close]
	a.foot = data[close : close+1]
	return nil
}

// tighten frees what a tree that was filled in order holds in vain: it copies
// each node, and a copy has no room to spare.
func tighten[K cmp.Ordered, V any](m *btree.Map[K, V]) {
	*m = *m.Copy()
	m.ScanMut(func(K, V) bool { return true })
}

// parse cuts the text of an array, which is known to be valid.
func (a *array) parse(text []byte, keys *pickup.Keys) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(plain(text)))
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	return a.cut(dec, text, keys)
}

// unquoted returns what a JSON string spells.
func unquoted(s []byte) string {
	if bytes.IndexByte(s, '\\') < 0 {
		return string(s[1 : len(s)-1])
	}
	b, _ := jsontext.AppendUnquote(nil, s)
	return string(b)
}
