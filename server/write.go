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
func (k *call) create() error {
	if err := k.noParameters(); err != nil {
		return err
	}
	b, err := k.body()
	if err != nil {
		return err
	}
	return k.store(k.name, b, func(*database.Tx) error { return nil })
}

// createChild answers POST /drivers/2/schedules: create with driverId filled in.
func (k *call) createChild() error {
	if err := k.noParameters(); err != nil {
		return err
	}
	if _, err := k.snap.Get(k.name, k.id); err != nil {
		return noRecord(k.snap, k.name, k.id)
	}
	b, err := k.body()
	if err != nil {
		return err
	}
	sent := b.objects
	return k.store(k.child, b, func(tx *database.Tx) error {
		parent, err := tx.Snapshot().Get(k.name, k.id) // still there?
		if err != nil {
			return err
		}
		b.objects = make([]jsontext.Value, len(sent))
		for i, object := range sent {
			filled, spelled, ok := k.refer(object, parent)
			if !ok {
				return wrongShapeAt(b.pointer(i, "/"+spelled), "it differs from the id in the path, "+strconv.Quote(clip(k.id)))
			}
			b.objects[i] = filled
		}
		return nil
	})
}

// store creates the body's objects, as prepare leaves them. The faults of all
// objects are told together.
func (k *call) store(collection string, b *body, prepare func(*database.Tx) error) error {
	created := make([]*database.Record, len(b.objects))
	err := k.update(func(tx *database.Tx) error {
		if err := k.supposesList(tx, collection); err != nil {
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
		k.Header("Location", "/"+url.PathEscape(collection)+"/"+url.PathEscape(created[0].ID))
	}
	values := make([]jsontext.Value, len(created))
	for i, r := range created {
		values[i] = r.Value
	}
	return k.wrote(http.StatusCreated, collection, b, values...)
}

// replace answers PUT /schedules/4 and PUT /schedules?Id=4.
func (k *call) replace() error { return k.change((*database.Tx).Replace) }

func (k *call) change(do func(tx *database.Tx, collection, id string, body jsontext.Value) (*database.Record, error)) error {
	if err := k.address(); err != nil {
		return err
	}
	status := http.StatusOK
	if k.createsOnly() {
		if k.db.Schema().Member(k.name).ReadOnlyID() {
			return madeHere(k.name, "GET, HEAD, PATCH, DELETE, OPTIONS")
		}
		do, status = (*database.Tx).CreateAs, http.StatusCreated
	}
	b, err := k.single()
	if err != nil {
		return err
	}
	var changed *database.Record
	err = k.update(func(tx *database.Tx) (err error) {
		if err = k.supposesRecord(tx); err != nil {
			return err
		}
		if changed, err = do(tx, k.name, k.id, b.objects[0]); err != nil {
			return b.faults(err, k.snap.IDMember(k.name))
		}
		return k.hold(changed.Value)
	})
	if err != nil {
		return err
	}
	return k.wrote(status, k.name, b, changed.Value)
}

// remove answers DELETE /schedules/4 and DELETE /schedules?Id=4 with what was
// deleted.
func (k *call) remove() error {
	if err := k.address(); err != nil {
		return err
	}
	var deleted *database.Record
	err := k.update(func(tx *database.Tx) (err error) {
		if _, err := tx.Snapshot().Get(k.name, k.id); err != nil {
			return err
		}
		if err := k.supposesRecord(tx); err != nil {
			return err
		}
		if deleted, err = tx.Delete(k.name, k.id, k.dependent...); err != nil {
			return err
		}
		return k.hold(deleted.Value)
	})
	if err != nil {
		return err
	}
	return k.wrote(http.StatusOK, k.name, new(body), deleted.Value)
}

// replaceObject answers PUT on a singular resource.
func (k *call) replaceObject() error { return k.changeObject((*database.Tx).ReplaceObject) }

func (k *call) changeObject(do func(tx *database.Tx, name string, body jsontext.Value) (jsontext.Value, error)) error {
	if err := k.noParameters(); err != nil {
		return err
	}
	b, err := k.single()
	if err != nil {
		return err
	}
	var changed jsontext.Value
	err = k.update(func(tx *database.Tx) (err error) {
		if err = k.supposesObject(tx); err != nil {
			return err
		}
		if changed, err = do(tx, k.name, b.objects[0]); err != nil {
			return b.faults(err, "")
		}
		return k.hold(changed)
	})
	if err != nil {
		return err
	}
	return k.wrote(http.StatusOK, k.name, b, changed)
}
