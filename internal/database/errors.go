package database

import (
	"errors"
	"strings"

	"pickup/internal/jsonpatch"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// What a caller can act on beside what a store says. Test with errors.Is.
var (
	ErrExists   = errors.New("already taken")  // an id or a unique value; see FaultError
	ErrRefers   = errors.New("referred to")    // a record that refers to it forbids the delete; see FaultError
	ErrMismatch = errors.New("does not apply") // a patch supposes what is not so; see FaultError
	ErrGone     = errors.New("no longer kept") // the history does not have the revision
	ErrMemory   = errors.New("no memory left") // for another named snapshot
)

// A FaultError lists everything that is wrong with a value. It wraps
// ErrInvalid, or ErrExists where all that is wrong is a value that is taken.
// Of a JSON Patch, whose pointers lead into the patch, it tells the first
// operation that is none (ErrShape) or cannot be done (ErrMismatch).
type FaultError struct {
	Kind   error
	Faults []schema.Fault
}

func (e *FaultError) Unwrap() error { return e.Kind }

func (e *FaultError) Error() string {
	s := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		s[i] = f.String()
	}
	return strings.Join(s, "; ")
}

// A ConflictError reports that a change cannot be made because of other changes
// since then.
type ConflictError struct {
	Detail  string   // a sentence
	Changed []Change // the elements that are in the way; only their names are set
}

func (e *ConflictError) Error() string { return e.Detail }

// refusePatch is the error of a patch that is none: at leads into it.
func refusePatch(at, detail string) error {
	return &FaultError{Kind: storage.ErrShape, Faults: []schema.Fault{{Pointer: at, Detail: detail}}}
}

// patchFault returns what is wrong with a patch as a *FaultError.
func patchFault(err error) error {
	e, ok := err.(*jsonpatch.Error)
	if !ok {
		return err
	}
	kind := ErrMismatch
	if e.Malformed {
		kind = storage.ErrShape
	}
	return &FaultError{Kind: kind, Faults: []schema.Fault{{Pointer: e.Pointer, Detail: e.Detail}}}
}
