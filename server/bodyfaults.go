package server

import (
	"errors"
	"fmt"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
	"pickup/server/internal/problem"
)

// A faultList collects the faults of the objects of a body. If rules are violated
// and unique values are taken, the status is that for the rules.
type faultList struct{ database.FaultError }

// full reports whether there are enough faults. If so, and the body has objects after
// the i-th, it adds a fault that they were not checked.
func (l *faultList) full(b *body, i int) bool {
	if len(l.Faults) < problem.MaxFaults || i+1 == len(b.objects) {
		return false
	}
	l.Faults = append(l.Faults, schema.Fault{Pointer: b.pointer(i+1, ""), Detail: "not checked from here on: there are too many errors before"})
	return true
}

// add adds the faults in err, of the i-th object, with pointers into the body. It
// returns any other error.
func (l *faultList) add(b *body, i int, err error) error {
	var faults *database.FaultError
	if !errors.As(err, &faults) {
		return err
	}
	if l.Kind == nil || faults.Kind != database.ErrExists {
		l.Kind = faults.Kind
	}
	for _, f := range faults.Faults {
		f.Pointer = b.pointer(i, f.Pointer)
		l.Faults = append(l.Faults, f)
	}
	return nil
}

func (l *faultList) err() error {
	if l.Kind == nil {
		return nil
	}
	return &l.FaultError
}

// rebaseFaults returns err with pointers into the body, which has one object. The
// body is known to be an object, so ErrShape can only be about its id.
func (b *body) rebaseFaults(err error, idMember string) error {
	if errors.Is(err, storage.ErrShape) {
		return problem.WrongShapeAt(b.pointer(0, rawjson.Pointer(idMember)), problem.Reason(err, storage.ErrShape))
	}
	var l faultList
	if err := l.add(b, 0, err); err != nil {
		return err
	}
	return l.err()
}

// pointer turns p, a pointer into the i-th object, into a pointer into the body.
func (b *body) pointer(i int, p string) string {
	if b.array {
		return fmt.Sprintf("/%d%s", i, p)
	}
	return p
}
