package server

import (
	"errors"
	"fmt"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// A faultList collects what is wrong with the objects of one body. Where rules
// are broken and values taken, the rules decide the status.
type faultList struct{ found *database.FaultError }

// maxFaults is about how many faults of one body are told. Nobody reads more,
// and while they are looked for all other writes wait.
const maxFaults = 100

// full reports whether enough is wrong.
func (l *faultList) full() bool { return l.found != nil && len(l.found.Faults) >= maxFaults }

// more says that what comes after the i-th object was not looked at.
func (l *faultList) more(b *body, i int) {
	l.found.Faults = append(l.found.Faults, schema.Fault{Pointer: b.pointer(i+1, ""), Detail: "from here on nothing was looked at, so much is wrong before"})
}

// add notes the faults of the i-th object, with pointers into the body as it
// was sent. An err that is of another sort is returned.
func (l *faultList) add(b *body, i int, err error) error {
	var faults *database.FaultError
	if !errors.As(err, &faults) {
		return err
	}
	if l.found == nil {
		l.found = &database.FaultError{Kind: database.ErrExists}
	}
	if !errors.Is(faults, database.ErrExists) {
		l.found.Kind = faults.Kind
	}
	for _, f := range faults.Faults {
		l.found.Faults = append(l.found.Faults, schema.Fault{Pointer: b.pointer(i, f.Pointer), Detail: f.Detail})
	}
	return nil
}

func (l *faultList) err() error {
	if l.found == nil {
		return nil // not a nil pointer in an interface
	}
	return l.found
}

// faults returns err with the pointers of its faults leading into a body of one
// object as it was sent. That the body is an object is known by now, so its
// shape can be wrong in the id alone.
func (b *body) rebaseFaults(err error, idMember string) error {
	if errors.Is(err, storage.ErrShape) {
		return wrongShapeAt(b.pointer(0, rawjson.Pointer(idMember)), reasonOf(err, storage.ErrShape))
	}
	var l faultList
	if err := l.add(b, 0, err); err != nil {
		return err
	}
	return l.err()
}

// pointer leads p, a pointer into the i-th object, into the body as it was sent.
func (b *body) pointer(i int, p string) string {
	if b.array {
		return fmt.Sprintf("/%d%s", i, p)
	}
	return p
}
