package database

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/jsonpatch"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// Patch applies a JSON Patch (RFC 6902) to a record or, if id is empty, a singular
// resource: all operations, or none. Only the fields that the patch touches are
// checked. The error wraps ErrNotFound or is a *FaultError with pointers into the
// patch. That wraps ErrShape if the patch is malformed, or would leave another id or
// something that is not an object; ErrMismatch if a test fails or a path leads
// nowhere; otherwise see Put.
func (tx *Tx) Patch(name, id string, patch jsontext.Value) (*Record, error) {
	old, err := tx.target(name, id)
	if err != nil {
		return nil, err
	}
	value, t, err := tx.patched(name, old.Value, patch)
	if err != nil {
		return nil, err
	}
	tx.place = t.place
	defer func() { tx.place = nil }()
	r, err := tx.amend(name, old, value, t.names())
	return r, placed(err, t.place)
}

// patched returns the result of a patch of a record or object, and what it touches.
func (tx *Tx) patched(name string, old, patch jsontext.Value) (jsontext.Value, touches, error) {
	ops, err := jsonpatch.Parse(patch)
	if err != nil {
		return nil, nil, patchFault(err)
	}
	for _, op := range ops {
		tx.snap.schema.Member(name).CanonicalPath(op.Path)
		tx.snap.schema.Member(name).CanonicalPath(op.From)
	}
	var t touches
	p := &jsonpatch.Patcher{Root: jsonpatch.NewNode(old), Note: func(i int, op *jsonpatch.Operation, path []string) { t.add(i, op, path) }}
	if err := p.Apply(ops); err != nil {
		return nil, nil, patchFault(err)
	}
	return p.Root.Value(), t, nil
}

// amend replaces a record or singular resource by the result of a patch.
func (tx *Tx) amend(name string, old *Record, value jsontext.Value, names []string) (*Record, error) {
	if bytes.Equal(old.Value, value) {
		return old, nil
	}
	value, sent, faults, err := tx.amended(name, value)
	if err != nil {
		return nil, err
	}
	idMember := tx.snap.IDMember(name)
	if _, has := rawjson.Member(value, idMember); old.ID != "" && !has && slices.Contains(names, idMember) {
		return nil, idChanged(idMember) // removed, rather than left out of a whole record
	}
	if value, err = keepID(old, value, idMember); err != nil {
		return nil, idChanged(idMember)
	}
	return tx.validateAndSet(name, old, value, names, sent, faults)
}

func idChanged(idMember string) error {
	return &FaultError{Kind: storage.ErrShape, Faults: []schema.Fault{{Pointer: rawjson.Pointer(idMember), Detail: "the id cannot be changed"}}}
}

// amended is read for the result of a patch.
func (tx *Tx) amended(name string, value jsontext.Value) (_ jsontext.Value, sent map[string]string, faults []schema.Fault, err error) {
	switch {
	case value.Kind() != '{':
		return nil, nil, nil, refusePatch("", "a record is a JSON object; this would leave "+rawjson.KindName(value))
	case rawjson.Depth(value) > rawjson.MaxDepth:
		return nil, nil, nil, refusePatch("", fmt.Sprintf("this would leave a record that is nested deeper than %d levels", rawjson.MaxDepth))
	}
	value, sent, faults = tx.snap.schema.Member(name).Canonical(value)
	return value, sent, faults, nil
}

// touches are the values of a record that the operations of a patch change, in their
// order.
type touches []touch

type touch struct {
	op      int
	pointer string // from the record
	value   bool   // the operation has a value for it
}

func (t *touches) add(i int, op *jsonpatch.Operation, path []string) {
	*t = append(*t, touch{i, rawjson.Pointer(path...), op.Op == "add" || op.Op == "replace"})
}

// names returns the touched fields, or nil if the whole record was replaced.
func (t touches) names() []string {
	names := []string{}
	for _, touch := range t {
		path := rawjson.SplitPointer(touch.pointer)
		if len(path) == 0 {
			return nil
		}
		names = append(names, path[0])
	}
	return names
}

// within is names for an element of a collection, ignoring that a patch moved it.
func (t touches) within() []string {
	return slices.DeleteFunc(slices.Clone(t), func(t touch) bool { return t.pointer == "" && !t.value }).names()
}

// place moves a fault from the record into the patch: to the last operation that touched
// the value.
func (t touches) place(f schema.Fault) schema.Fault {
	f.Member = cmp.Or(f.Member, f.Pointer)
	f.Pointer = t.pointer(f.Pointer)
	return f
}

func (t touches) pointer(at string) string {
	for i := len(t) - 1; i >= 0; i-- {
		below, ok := strings.CutPrefix(at, t[i].pointer)
		switch {
		case ok && t[i].value && (below == "" || below[0] == '/'):
			return fmt.Sprintf("/%d/value%s", t[i].op, below)
		case ok && (below == "" || below[0] == '/'), strings.HasPrefix(t[i].pointer, at+"/"):
			return fmt.Sprintf("/%d", t[i].op)
		}
	}
	return ""
}
