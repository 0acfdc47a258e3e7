package server

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/storage"
)

// create serves POST of a collection: one record, or an array of records of which
// all are stored or none.
func (req *request) create() error {
	if err := req.rejectParameters(); err != nil {
		return err
	}
	b, err := req.readBody()
	if err != nil {
		return err
	}
	return req.createAll(req.name, b, func(*database.Tx) error { return nil })
}

// createChild serves POST /drivers/2/schedules: create, with driverId filled in.
func (req *request) createChild() error {
	if err := req.rejectParameters(); err != nil {
		return err
	}
	if _, err := req.snap.Get(req.name, req.id); err != nil {
		return noRecord(req.snap, req.name, req.id)
	}
	b, err := req.readBody()
	if err != nil {
		return err
	}
	sent := b.objects
	return req.createAll(req.child, b, func(tx *database.Tx) error {
		parent, err := tx.Snapshot().Get(req.name, req.id) // it may have been deleted
		if err != nil {
			return err
		}
		b.objects = make([]jsontext.Value, len(sent))
		for i, object := range sent {
			filled, spelled, ok := req.fillReference(object, parent)
			if !ok {
				return wrongShapeAt(b.pointer(i, "/"+spelled), "it differs from the id in the path, "+strconv.Quote(clip(req.id)))
			}
			b.objects[i] = filled
		}
		return nil
	})
}

// createAll creates the objects of the body after prepare has run. It reports the
// faults of all objects together.
func (req *request) createAll(collection string, b *body, prepare func(*database.Tx) error) error {
	created := make([]*database.Record, len(b.objects))
	err := req.update(func(tx *database.Tx) error {
		if err := req.checkListPrecondition(tx, collection); err != nil {
			return err
		}
		if err := prepare(tx); err != nil {
			return err
		}
		var faults faultList
		for i, object := range b.objects {
			r, err := tx.Create(collection, object)
			if err := faults.add(b, i, err); err != nil {
				return err
			}
			if faults.full() && i+1 < len(b.objects) {
				faults.more(b, i)
				break
			}
			created[i] = r
		}
		return faults.err()
	})
	if err != nil {
		return err
	}
	if len(created) == 1 {
		req.Header("Location", req.prefix+"/"+url.PathEscape(collection)+"/"+url.PathEscape(created[0].ID))
	}
	values := make([]jsontext.Value, len(created))
	for i, r := range created {
		values[i] = r.Value
	}
	return req.sendWritten(http.StatusCreated, collection, b, values...)
}

// replace serves PUT of a record.
func (req *request) replace() error { return req.changeRecord((*database.Tx).Replace) }

// changeRecord changes a record by a body that is an object.
func (req *request) changeRecord(change func(tx *database.Tx, collection, id string, body jsontext.Value) (*database.Record, error)) error {
	if err := req.resolveID(); err != nil {
		return err
	}
	status := http.StatusOK
	if req.isCreateOnly() {
		if req.db.Schema().Member(req.name).ReadOnlyID() {
			return idsServerMade(req.name, "GET, HEAD, PATCH, DELETE, OPTIONS")
		}
		change, status = (*database.Tx).CreateAs, http.StatusCreated
	}
	b, err := req.readSingle()
	if err != nil {
		return err
	}
	return req.write(status, b, func(tx *database.Tx) (jsontext.Value, error) {
		r, err := change(tx, req.name, req.id, b.objects[0])
		if err != nil {
			return nil, b.rebaseFaults(err, req.snap.IDMember(req.name))
		}
		return r.Value, nil
	})
}

// remove serves DELETE of a record. The answer is the deleted record.
func (req *request) remove() error {
	if err := req.resolveID(); err != nil {
		return err
	}
	return req.write(http.StatusOK, new(body), func(tx *database.Tx) (jsontext.Value, error) {
		r, err := tx.Delete(req.name, req.id, req.dependent...)
		if err != nil {
			return nil, err
		}
		return r.Value, nil
	})
}

// replaceObject serves PUT of a singular resource.
func (req *request) replaceObject() error { return req.changeObject((*database.Tx).ReplaceObject) }

// changeObject changes a singular resource by a body that is an object.
func (req *request) changeObject(change func(tx *database.Tx, name string, body jsontext.Value) (jsontext.Value, error)) error {
	if err := req.rejectParameters(); err != nil {
		return err
	}
	b, err := req.readSingle()
	if err != nil {
		return err
	}
	return req.write(http.StatusOK, b, func(tx *database.Tx) (jsontext.Value, error) {
		changed, err := change(tx, req.name, b.objects[0])
		if err != nil {
			return nil, b.rebaseFaults(err, "")
		}
		return changed, nil
	})
}

// write runs change as a transaction on the record or object of the path, after
// its preconditions, and answers with what change returns, in the form of sent.
func (req *request) write(status int, sent *body, change func(*database.Tx) (jsontext.Value, error)) error {
	var changed jsontext.Value
	err := req.update(func(tx *database.Tx) (err error) {
		if err = req.checkTarget(tx); err != nil {
			return err
		}
		if changed, err = change(tx); err != nil {
			return err
		}
		return req.reserveAnswer(changed)
	})
	if err != nil {
		return err
	}
	return req.sendWritten(status, req.name, sent, changed)
}

// update runs fn as one transaction and returns when it is durable.
func (req *request) update(fn func(*database.Tx) error) error {
	snap, err := req.db.Update(database.WithRequest(req.Request.Context(), requestIDOf(req.Context)), fn)
	if errors.Is(err, storage.ErrNotFound) {
		return req.missing(req.db.Snapshot())
	}
	if err == nil {
		req.setRevision(snap)
	}
	return err
}

// missing returns the problem for the part of the path that snap does not have.
func (req *request) missing(snap *database.Snapshot) error {
	for _, name := range []string{req.name, req.child} {
		if _, ok := snap.Kind(name); !ok && name != "" {
			return noCollection(snap, name)
		}
	}
	if req.id == "" {
		return notFound(snap, req.name+" is no longer of the same kind.")
	}
	return noRecord(snap, req.name, req.id)
}
