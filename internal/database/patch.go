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
	ops, err := jsonpatch.Parse(patch)
	if err != nil {
		return nil, patchFault(err)
	}
	rules := tx.rules(name)
	for _, op := range ops {
		rules.CanonicalPath(op.Path)
		rules.CanonicalPath(op.From)
	}
	value, touched, err := jsonpatch.Apply(old.Value, ops)
	if err != nil {
		return nil, patchFault(err)
	}
	if bytes.Equal(old.Value, value) {
		return old, nil
	}
	t := touches(touched)
	var r *Record
	err = tx.moving(t.translate, func() (err error) {
		r, err = tx.setPatched(name, old, value, t.names())
		return err
	})
	return r, err
}

// setPatched replaces a record or singular resource by the result of a patch that touches the
// fields called names.
func (tx *Tx) setPatched(name string, old *Record, value jsontext.Value, names []string) (*Record, error) {
	if value.Kind() != '{' {
		return nil, malformed("", "a record is a JSON object; this would leave %s", rawjson.KindName(value))
	}
	if rawjson.Depth(value) > rawjson.MaxDepth {
		const detail = "this would leave a record that is nested deeper than %d levels"
		return nil, malformed("", detail, rawjson.MaxDepth)
	}
	value, sent, faults := tx.rules(name).Canonical(value)
	idMember := tx.snap.IDMember(name)
	if _, has := rawjson.Member(value, idMember); old.ID != "" && !has && slices.Contains(names, idMember) {
		return nil, idChanged(idMember) // removed, rather than left out of a whole record
	}
	value, err := keepID(old, value, idMember)
	if err != nil {
		return nil, idChanged(idMember)
	}
	return tx.validateAndSet(name, old, value, names, sent, faults)
}

// touches are the values of a record that a patch changes, in the order of its operations.
type touches []jsonpatch.Touch

// names returns the touched fields, or nil if the whole record was replaced.
func (t touches) names() []string {
	names := []string{}
	for _, touch := range t {
		if len(touch.Path) == 0 {
			return nil
		}
		names = append(names, touch.Path[0])
	}
	return names
}

// translate moves a fault from the record into the patch: to the last operation that touched
// the value.
func (t touches) translate(f schema.Fault) schema.Fault {
	f.Member = cmp.Or(f.Member, f.Pointer)
	f.Pointer = t.pointer(f.Pointer)
	return f
}

func (t touches) pointer(at string) string {
	for _, touch := range slices.Backward(t) {
		touched := rawjson.Pointer(touch.Path...)
		below, ok := strings.CutPrefix(at, touched)
		inside := ok && (below == "" || below[0] == '/')
		if inside && touch.HasValue {
			return fmt.Sprintf("/%d/value%s", touch.Operation, below)
		}
		if inside || strings.HasPrefix(touched, at+"/") {
			return fmt.Sprintf("/%d", touch.Operation)
		}
	}
	return ""
}
