package storage

import (
	"errors"
	"fmt"
	"time"

	"pickup/internal/rawjson"
)

// Errors that callers act on. Errors of this package and of stores wrap these errors;
// test with errors.Is.
var (
	ErrNotFound = errors.New("not found")              // no such collection or record
	ErrConflict = errors.New("the store has moved on") // Commit's base is not current
	ErrInvalid  = errors.New("not valid")              // not JSON, or against a rule of the schema
	ErrShape    = errors.New("wrong shape")            // valid JSON, but another type is needed here
	ErrBroken   = errors.New("the file is broken")     // a hand edit that does not parse; see BrokenError
	ErrTooLarge = errors.New("too large")
	ErrReadOnly = errors.New("read-only")       // by configuration, or by the disk
	ErrFull     = errors.New("disk full")       // nothing was changed
	ErrBusy     = errors.New("busy")            // the queue is full, or a save is in progress: try again
	ErrPending  = errors.New("pending")         // an edit waits for other files: try again soon
	ErrInUse    = errors.New("in use")          // another server holds the file
	ErrUnsure   = errors.New("outcome unknown") // the change may or may not be durable
	ErrAway     = errors.New("unreachable")     // a SharedStore does not answer; nothing was changed; see AwayError
)

// A BrokenError reports where a file stops being JSON.
type BrokenError struct {
	File         string // as named to the store
	Line, Column int    // from 1; the column counts characters (code points)
	Reason       string // one sentence without the position
	Excerpt      rawjson.Excerpt
}

func (e *BrokenError) Unwrap() error { return ErrBroken }

func (e *BrokenError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Reason)
}

// An AwayError reports that a SharedStore does not answer.
type AwayError struct {
	Since time.Time // of the latest answer
	Err   error     // the cause
}

func (e *AwayError) Unwrap() []error { return []error{ErrAway, e.Err} }

func (e *AwayError) Error() string {
	return fmt.Sprintf("no response since %s: %v", e.Since.UTC().Format(time.RFC3339), e.Err)
}

// An AdviceError is an error with advice for the operator. Clients may see the advice.
type AdviceError struct {
	Err    error
	Advice string // a sentence
}

func (e *AdviceError) Unwrap() error { return e.Err }

func (e *AdviceError) Error() string { return e.Err.Error() + ": " + e.Advice }
