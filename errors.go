package pickup

import (
	"errors"
	"fmt"
	"strings"
)

// What a caller can act on. Errors of this package and of stores wrap these;
// test with errors.Is.
var (
	ErrNotFound = errors.New("not found")              // no such collection or record
	ErrConflict = errors.New("the store has moved on") // Commit's base is not current
	ErrExists   = errors.New("already taken")          // an id or a unique value; see FaultError
	ErrInvalid  = errors.New("not valid")              // breaks a rule of the schema; see FaultError
	ErrShape    = errors.New("wrong shape")            // valid JSON, but not what is needed here
	ErrRefers   = errors.New("referred to")            // a record that refers to it forbids the delete; see FaultError
	ErrMismatch = errors.New("does not apply")         // a patch supposes what is not so; see FaultError
	ErrBroken   = errors.New("the file is broken")     // a hand edit that does not parse; see BrokenError
	ErrTooLarge = errors.New("too large")
	ErrReadOnly = errors.New("read-only")    // by configuration, or by the disk
	ErrFull     = errors.New("disk full")    // nothing was changed
	ErrBusy     = errors.New("busy")         // the queue is full, or a save is in progress: try again
	ErrInUse    = errors.New("in use")       // another server holds the file
	ErrUnsure   = errors.New("outcome open") // the change may or may not be durable
)

// A FaultError lists everything that is wrong with a value. It wraps
// ErrInvalid, or ErrExists where all that is wrong is a value that is taken.
// Of a JSON Patch, whose pointers lead into the patch, it tells the first
// operation that is none (ErrShape) or cannot be done (ErrMismatch).
type FaultError struct {
	Kind   error
	Faults []Fault
}

func (e *FaultError) Unwrap() error { return e.Kind }

func (e *FaultError) Error() string {
	s := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		s[i] = f.String()
	}
	return strings.Join(s, "; ")
}

// A BrokenError tells where a file stops being JSON.
type BrokenError struct {
	File         string // as it was named to the store
	Line, Column int    // from 1; the column counts characters (code points)
	Reason       string // what is wrong there, one sentence without the position
}

func (e *BrokenError) Unwrap() error { return ErrBroken }

func (e *BrokenError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Reason)
}

// An AdviceError is an error that the operator can end, with how. The advice
// holds nothing that a client must not see.
type AdviceError struct {
	Err    error
	Advice string // a sentence
}

func (e *AdviceError) Unwrap() error { return e.Err }

func (e *AdviceError) Error() string { return e.Err.Error() + ": " + e.Advice }

// refusePatch is the error of a patch that is none: at leads into it.
func refusePatch(at, detail string) error {
	return &FaultError{Kind: ErrShape, Faults: []Fault{{at, detail}}}
}

// patchFault returns what is wrong with a patch as a *FaultError.
func patchFault(err error) error {
	e, ok := err.(*Error)
	if !ok {
		return err
	}
	kind := ErrMismatch
	if e.Malformed {
		kind = ErrShape
	}
	return &FaultError{Kind: kind, Faults: []Fault{{e.Pointer, e.Detail}}}
}
