package server

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
)

// create answers POST /schedules: one record, or an array of them of which all
// are stored or none.
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

// createChild answers POST /drivers/2/schedules: create with driverId filled in.
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
		parent, err := tx.Snapshot().Get(req.name, req.id) // still there?
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

// store creates the body's objects, as prepare leaves them. The faults of all
// objects are told together.
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
		req.Header("Location", "/"+url.PathEscape(collection)+"/"+url.PathEscape(created[0].ID))
	}
	values := make([]jsontext.Value, len(created))
	for i, r := range created {
		values[i] = r.Value
	}
	return req.sendWritten(http.StatusCreated, collection, b, values...)
}

// replace answers PUT /schedules/4 and PUT /schedules?Id=4.
func (req *request) replace() error { return req.changeRecord((*database.Tx).Replace) }

func (req *request) changeRecord(do func(tx *database.Tx, collection, id string, body jsontext.Value) (*database.Record, error)) error {
	if err := req.resolveID(); err != nil {
		return err
	}
	status := http.StatusOK
	if req.isCreateOnly() {
		if req.db.Schema().Member(req.name).ReadOnlyID() {
			return idsServerMade(req.name, "GET, HEAD, PATCH, DELETE, OPTIONS")
		}
		do, status = (*database.Tx).CreateAs, http.StatusCreated
	}
	b, err := req.readSingle()
	if err != nil {
		return err
	}
	var changed *database.Record
	err = req.update(func(tx *database.Tx) (err error) {
		if err = req.checkRecordPrecondition(tx); err != nil {
			return err
		}
		if changed, err = do(tx, req.name, req.id, b.objects[0]); err != nil {
			return b.rebaseFaults(err, req.snap.IDMember(req.name))
		}
		return req.reserveAnswer(changed.Value)
	})
	if err != nil {
		return err
	}
	return req.sendWritten(status, req.name, b, changed.Value)
}

// remove answers DELETE /schedules/4 and DELETE /schedules?Id=4 with what was
// deleted.
func (req *request) remove() error {
	if err := req.resolveID(); err != nil {
		return err
	}
	var deleted *database.Record
	err := req.update(func(tx *database.Tx) (err error) {
		if _, err := tx.Snapshot().Get(req.name, req.id); err != nil {
			return err
		}
		if err := req.checkRecordPrecondition(tx); err != nil {
			return err
		}
		if deleted, err = tx.Delete(req.name, req.id, req.dependent...); err != nil {
			return err
		}
		return req.reserveAnswer(deleted.Value)
	})
	if err != nil {
		return err
	}
	return req.sendWritten(http.StatusOK, req.name, new(body), deleted.Value)
}

// replaceObject answers PUT on a singular resource.
func (req *request) replaceObject() error { return req.changeObject((*database.Tx).ReplaceObject) }

func (req *request) changeObject(do func(tx *database.Tx, name string, body jsontext.Value) (jsontext.Value, error)) error {
	if err := req.rejectParameters(); err != nil {
		return err
	}
	b, err := req.readSingle()
	if err != nil {
		return err
	}
	var changed jsontext.Value
	err = req.update(func(tx *database.Tx) (err error) {
		if err = req.checkObjectPrecondition(tx); err != nil {
			return err
		}
		if changed, err = do(tx, req.name, b.objects[0]); err != nil {
			return b.rebaseFaults(err, "")
		}
		return req.reserveAnswer(changed)
	})
	if err != nil {
		return err
	}
	return req.sendWritten(http.StatusOK, req.name, b, changed)
}
