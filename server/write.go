package server

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/openapi"
)

// create serves POST of a collection: it stores one record, or all records of an array or none. POST
// /drivers/2/schedules sets driverId. The error has the faults of all objects together.
func (req *request) create() error {
	if err := req.settle(req.checkParent); err != nil {
		return err
	}
	b, err := req.readBody()
	if err != nil {
		return err
	}
	collection, sent := req.collection(), b.objects
	mode := database.Create
	if hasPreference(req.Context, preferDefaults) {
		mode = database.CreateWithDefaults
	}
	var created []*database.Record
	after, err := req.updateList(collection, func(tx *database.Tx) (err error) {
		b.objects, err = req.fillReferences(tx, b, sent)
		if err != nil {
			return err
		}
		created, err = createAll(tx, mode, collection, b)
		if err != nil {
			return err
		}
		more := 0 // bytes of the records in addition to the body, as defaults may be large
		for i, r := range created {
			more += len(r.Value) - len(b.objects[i])
		}
		return req.reserveAnswer(more)
	})
	if err != nil {
		return err
	}

	req.prefer(preferDefaults)
	if len(created) == 1 {
		req.Header("Location", req.href(collection)+"/"+url.PathEscape(created[0].ID))
	}
	values := make([]jsontext.Value, len(created))
	for i, r := range created {
		r, err := after.Get(collection, r.ID)
		if err != nil {
			return req.missing(after)
		}
		values[i] = r.Value
	}
	return req.sendWritten(http.StatusCreated, collection, b, values...)
}

// createAll creates a record for each object of a body.
func createAll(tx *database.Tx, mode database.Mode, collection string, b *body) ([]*database.Record, error) {
	created := make([]*database.Record, len(b.objects))
	var all database.FaultError
	for i, object := range b.objects {
		if len(all.Faults) >= problem.MaxFaults {
			const detail = "not checked from here on: there are too many errors before"
			all.Faults = append(all.Faults, schema.Fault{Pointer: b.pointer(i), Detail: detail})
			break
		}
		err := tx.Below(b.pointer(i), func() (err error) {
			created[i], err = tx.Put(mode, collection, "", object)
			return err
		})
		if err := all.Add(err); err != nil {
			return nil, err
		}
		if errors.Is(err, storage.ErrInvalid) { // violated rules take precedence over taken values
			all.Kind = storage.ErrInvalid
		}
	}
	if all.Kind != nil {
		return nil, &all
	}
	return created, nil
}

// fillReferences returns the objects of a POST below a record. It sets the field that refers to the
// record, like driverId, to the id of the record. null and "" in the field count as no reference.
func (req *request) fillReferences(tx *database.Tx, b *body, sent []jsontext.Value) ([]jsontext.Value, error) {
	if req.child == "" {
		return sent, nil
	}
	parent, err := tx.Snapshot().Get(req.name, req.id) // it may have been deleted
	if err != nil {
		return nil, err
	}
	key := tx.Snapshot().ForeignKey(req.child, req.name)
	aliases := tx.Snapshot().Schema().Member(req.child).Aliases
	id := rawjson.Get(parent.Value, tx.Snapshot().IDMember(req.name))
	objects := make([]jsontext.Value, len(sent))
	for i, object := range sent {
		filled, found := jsontext.Value("{"), false
		for name, value := range rawjson.Fields(object) {
			if name == key || aliases[name] == key {
				text, _ := storage.ID(object, name)
				isEmpty := value.Kind() == 'n' || string(value) == `""`
				if text != parent.ID && !isEmpty {
					detail := fmt.Sprintf("the %s differs from the id in the path, %q", name, httpx.Clip(req.id))
					return nil, problem.BadRequestAt(b.pointer(i)+"/"+name, detail)
				}
				value, found = id, true
			}
			filled = rawjson.AppendMember(filled, name, value)
		}
		if !found {
			filled = rawjson.AppendMember(filled, key, id)
		}
		objects[i] = append(filled, '}')
	}
	return objects, nil
}

// replace serves PUT of a record or an object.
func (req *request) replace() error { return req.change(database.Replace) }

// change changes a record or an object by a body that is an object.
func (req *request) change(mode database.Mode) error {
	if err := req.resolveID(); err != nil {
		return err
	}
	status := http.StatusOK
	if req.id != "" && req.isCreateOnly() {
		mode, status = database.Create, http.StatusCreated
	}
	b, err := req.readSingle()
	if err != nil {
		return err
	}
	after, err := req.updateTarget(func(tx *database.Tx) (changed *database.Record, err error) {
		if mode == database.Create && tx.Snapshot().Schema().Member(req.name).ReadOnlyID() {
			const detail = "The service assigns the ids of %s, so PUT cannot create a record. Use POST."
			p := problem.Newf(http.StatusMethodNotAllowed, detail, req.name)
			return nil, p.With("Allow", "GET, HEAD, PATCH, DELETE, OPTIONS")
		}
		err = tx.Below(b.pointer(0), func() (err error) {
			changed, err = tx.Put(mode, req.name, req.id, b.objects[0])
			return err
		})
		return changed, err
	})
	if err != nil {
		return err
	}
	return req.sendTarget(status, after, b)
}

// remove serves DELETE of a record. The response is the deleted record.
func (req *request) remove() error {
	if err := req.resolveID(); err != nil {
		return err
	}
	var deleted *database.Record
	_, err := req.updateTarget(func(tx *database.Tx) (_ *database.Record, err error) {
		deleted, err = tx.Delete(req.name, req.id, req.dependent...)
		return deleted, err
	})
	if err != nil {
		return err
	}
	return req.sendWritten(http.StatusOK, req.name, new(body), deleted.Value)
}

// sendTarget responds to a change of the record or object of the path with its new value, in the
// form of the body sent.
func (req *request) sendTarget(status int, after *database.Snapshot, sent *body) error {
	value, err := after.Target(req.name, req.id)
	if err != nil { // the request changed nothing, and another one deleted the record in the same revision
		return req.missing(after)
	}
	return req.sendWritten(status, req.name, sent, value)
}

// sendWritten sends the values after a write in the shape of the body, an object or an array, with
// the field names of the body. With return=minimal it sends no values. The response for one record
// has the ETag of the record.
func (req *request) sendWritten(status int, collection string, b *body, values ...jsontext.Value) error {
	if len(values) == 1 && len(b.objects) == 1 {
		req.setWrittenTag(values[0], b.objects[0])
	}
	if req.prefer(preferMinimal) {
		if status != http.StatusCreated {
			status = http.StatusNoContent
		}
		req.Status(status)
		return nil
	}
	var out []byte
	if b.array {
		out = append(out, '[')
	}
	for i, v := range values {
		var sent jsontext.Value
		if i < len(b.objects) {
			sent = b.objects[i]
		}
		out = req.appendSpelled(rawjson.AppendComma(out), collection, v, sent)
	}
	if b.array {
		out = append(out, ']')
	}
	return req.sendJSON(status, req.form.Wrap(out, len(values)))
}

// appendSpelled appends the record v. If the schema has several spellings of a field, appendSpelled
// uses the spelling in sent.
func (req *request) appendSpelled(dst []byte, collection string, v, sent jsontext.Value) []byte {
	aliases := req.db.Schema().Member(collection).Aliases
	if len(aliases) == 0 {
		return append(dst, v...)
	}
	spelled := make(map[string]string) // by canonical name
	own := make(map[string]bool)       // names that are not aliases
	for name := range rawjson.Fields(sent) {
		if canonical, ok := aliases[name]; ok {
			spelled[canonical] = name
		} else {
			own[name] = true
		}
	}
	if len(spelled) == 0 {
		return append(dst, v...)
	}
	dst = append(dst, '{')
	for name, value := range rawjson.Fields(v) {
		if s, ok := spelled[name]; ok && !own[name] {
			name = s
		}
		dst = rawjson.AppendMember(dst, name, value)
	}
	return append(dst, '}')
}

// patch serves PATCH of a record or an object.
func (req *request) patch() error {
	media, _, _ := mime.ParseMediaType(req.Request.Header.Get("Content-Type"))
	switch media {
	case openapi.MergeType:
		return req.change(database.MergePatch)
	case openapi.PatchType:
		return req.applyPatch()
	}
	return req.change(database.Merge)
}

// applyPatch changes a record or an object by a JSON Patch.
func (req *request) applyPatch() error {
	if err := req.resolveID(); err != nil {
		return err
	}
	patch, err := req.readJSON()
	if err != nil {
		return err
	}
	after, err := req.updateTarget(func(tx *database.Tx) (*database.Record, error) {
		return tx.Patch(req.name, req.id, patch)
	})
	if err != nil {
		return err
	}
	return req.sendTarget(http.StatusOK, after, &body{objects: []jsontext.Value{spelledIn(patch)}})
}

// spelledIn returns an object with the fields in the paths of a patch, in the spelling of the patch.
func spelledIn(patch jsontext.Value) jsontext.Value {
	object := []byte("{")
	for op := range rawjson.Elements(patch) {
		path, _ := storage.ID(op, "path") // a string is its own id
		if tokens := rawjson.SplitPointer(path); len(tokens) > 0 {
			object = rawjson.AppendMember(object, tokens[0], []byte("null"))
		}
	}
	return append(object, '}')
}

// update runs fn as one transaction. It returns when the transaction is durable, with the state
// after the transaction. If the client prefers a rollback, update stores nothing.
func (req *request) update(fn func(*database.Tx) error) (*database.Snapshot, error) {
	var snap *database.Snapshot
	var err error
	changed := false
	fn = req.nested(fn)
	rollback := hasPreference(req.Context, preferRollback)
	if rollback {
		err = req.reach(func(ctx context.Context) (_ *database.Snapshot, err error) {
			snap, err = req.db.Preview(ctx, fn)
			return snap, err
		})
	} else {
		ctx := database.WithRequest(req.Request.Context(), requestIDOf(req.Context))
		snap, err = req.db.Update(ctx, func(tx *database.Tx) error {
			err := fn(tx)
			changed = tx.IsChanged()
			return err
		})
	}
	if err != nil {
		snap = req.db.Snapshot()
		req.setRevision(snap) // this state, or an earlier one, refused the change
	}
	switch {
	case req.name != "" && errors.Is(err, storage.ErrNotFound):
		return nil, req.missing(snap)
	case err != nil:
		return nil, err
	case rollback:
		req.Writer.Header().Add("Preference-Applied", preferRollback)
	case !changed:
		req.Header(unchangedHeader, "1") // the revision comes from another request
	}
	req.setRevision(snap)
	return req.viewOf(snap), nil
}

// updateList is update after a check of the preconditions on a collection or, if name is "", on the
// database. The preconditions name the tag of a GET without a query.
func (req *request) updateList(name string, fn func(*database.Tx) error) (*database.Snapshot, error) {
	return req.update(func(tx *database.Tx) error {
		if req.isConditional() {
			if err := req.checkPrecondition(req.listTag(tx.Snapshot(), name)); err != nil {
				return err
			}
		}
		return fn(tx)
	})
}

// updateTarget is update for a change of the record or object of the path, after a check of the
// preconditions.
func (req *request) updateTarget(change func(*database.Tx) (*database.Record, error)) (*database.Snapshot, error) {
	return req.update(func(tx *database.Tx) error {
		if err := req.checkTarget(tx); err != nil {
			return err
		}
		changed, err := change(tx)
		if err != nil {
			return err
		}
		return req.reserveAnswer(len(changed.Value))
	})
}
