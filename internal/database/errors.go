package database

import (
	"errors"
	"fmt"
	"strings"

	"pickup/internal/jsonpatch"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// Errors that a caller can act on, in addition to the errors of package storage. Test
// with errors.Is.
var (
	ErrExists   = errors.New("already taken")  // an id or a unique value; see FaultError
	ErrRefers   = errors.New("referred to")    // another record refers to the one to be deleted; see FaultError
	ErrMismatch = errors.New("does not apply") // a test of a patch fails, or a path leads nowhere; see FaultError
	ErrGone     = errors.New("no longer kept") // the history does not have the revision
	ErrMemory   = errors.New("no memory left") // for another named snapshot
)

// A FaultError lists all faults of a value. It wraps ErrInvalid, or ErrExists if the only
// faults are taken values. For a JSON Patch, the pointers lead into the patch, and the error
// reports the first operation that is malformed (ErrShape) or cannot be applied
// (ErrMismatch). For a transaction, see Do.
type FaultError struct {
	Kind   error
	Faults []schema.Fault
}

func (e *FaultError) Unwrap() error {
	return e.Kind
}

func (e *FaultError) Error() string {
	s := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		s[i] = f.String()
	}
	return strings.Join(s, "; ")
}

// Add adds the faults of err, and returns any other error. The Kind is the Kind of the first one.
func (e *FaultError) Add(err error) error {
	faults, ok := errors.AsType[*FaultError](err)
	if !ok {
		return err
	}
	if e.Kind == nil {
		e.Kind = faults.Kind
	}
	e.Faults = append(e.Faults, faults.Faults...)
	return nil
}

// A translation moves a fault to another place, as from a record to the request.
type translation func(schema.Fault) schema.Fault

// addTaken adds faults of taken values.
func (e *FaultError) addTaken(faults []schema.Fault, translate translation) {
	if e.Kind == nil && faults != nil {
		e.Kind = ErrExists
	}
	for _, f := range faults {
		e.Faults = append(e.Faults, translate(f))
	}
}

// A ConflictError reports that a change cannot be made because of other changes since then.
type ConflictError struct {
	Detail  string // a sentence
	Changed []Conflict
}

// A Conflict is an element with other changes.
type Conflict struct {
	Collection string
	ID         string   // as Record.ID; "" for the top-level field as a whole
	Fields     []string // fields that both sides have changed; nil for the element as a whole
}

func (e *ConflictError) Error() string {
	return e.Detail
}

// add adds a Conflict.
func (e *ConflictError) add(at element) {
	e.Changed = append(e.Changed, Conflict{Collection: at.collection, ID: at.id})
}

// faultAt returns an error with one fault.
func faultAt(kind error, pointer, format string, args ...any) error {
	return &FaultError{Kind: kind, Faults: []schema.Fault{{Pointer: pointer, Detail: fmt.Sprintf(format, args...)}}}
}

// malformed returns an error that wraps ErrShape, with one fault.
func malformed(pointer, format string, args ...any) error {
	return faultAt(storage.ErrShape, pointer, format, args...)
}

// idChanged returns the error for a record that would get another id.
func idChanged(idMember string) error {
	return malformed(rawjson.Pointer(idMember), "the id cannot be changed")
}

// patchFault returns an error of package jsonpatch as a *FaultError.
func patchFault(err error) error {
	e, ok := err.(*jsonpatch.Error)
	if !ok {
		return err
	}
	kind := ErrMismatch
	if e.Malformed {
		kind = storage.ErrShape
	}
	return faultAt(kind, e.Pointer, "%s", e.Detail)
}

// faultError returns the error for faults and taken values, in this order, or nil.
// It rewrites pointers to the client's names; see renamed.
func faultError(faults, taken []schema.Fault, sent map[string]string) error {
	kind := storage.ErrInvalid
	if len(faults) == 0 {
		kind = ErrExists
	}
	faults = append(faults, taken...)
	if len(faults) == 0 {
		return nil
	}
	return placed(&FaultError{Kind: kind, Faults: faults}, func(f schema.Fault) schema.Fault {
		return renamed(f, sent)
	})
}

// renamed returns a fault with the client's name of a field in the pointer. The map sent has the
// client's names by the names of the schema.
func renamed(f schema.Fault, sent map[string]string) schema.Fault {
	for canonical, spelled := range sent {
		if p := rawjson.Pointer(canonical); f.Pointer == p || strings.HasPrefix(f.Pointer, p+"/") {
			f.Pointer = rawjson.Pointer(spelled) + f.Pointer[len(p):]
			break
		}
	}
	return f
}

// placed returns err, if it is a *FaultError, with faults in other places.
func placed(err error, place translation) error {
	e, ok := err.(*FaultError)
	if !ok {
		return err
	}
	moved := &FaultError{Kind: e.Kind}
	for _, f := range e.Faults {
		moved.Faults = append(moved.Faults, place(f))
	}
	return moved
}

// under prefixes the pointers of faults in a value with the pointer to the value.
func under(at string, faults []schema.Fault) []schema.Fault {
	for i := range faults {
		faults[i].Pointer = at + faults[i].Pointer
	}
	return faults
}
