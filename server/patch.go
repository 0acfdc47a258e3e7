package server

import (
	"mime"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/storage"

	"pickup/server/openapi"
)

// What PATCH takes, as Accept-Patch (RFC 5789 section 3.1) says it.
const (
	acceptPatch         = openapi.JsonType + ", " + openapi.MergeType + ", " + openapi.PatchType
	acceptDatabasePatch = openapi.PatchType
)

// patchMedia returns the media type of the body.
func patchMedia(r *http.Request) string {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return media
}

// patch answers PATCH /schedules/4 and PATCH /schedules?Id=4.
func (req *request) patch() error {
	switch patchMedia(req.Request) {
	case openapi.MergeType:
		return req.changeRecord((*database.Tx).MergePatch)
	case openapi.PatchType:
		return req.applyRecordPatch()
	}
	return req.changeRecord((*database.Tx).Merge)
}

// patchObject answers PATCH on a singular resource.
func (req *request) patchObject() error {
	switch patchMedia(req.Request) {
	case openapi.MergeType:
		return req.changeObject((*database.Tx).MergePatchObject)
	case openapi.PatchType:
		return req.applyObjectPatch()
	}
	return req.changeObject((*database.Tx).MergeObject)
}

// applyRecordPatch changes a record by a JSON Patch.
func (req *request) applyRecordPatch() error {
	if err := req.resolveID(); err != nil {
		return err
	}
	patch, err := req.readPatch()
	if err != nil {
		return err
	}
	var changed *database.Record
	err = req.update(func(tx *database.Tx) (err error) {
		if err = req.checkRecordPrecondition(tx); err != nil {
			return err
		}
		if changed, err = tx.Patch(req.name, req.id, patch); err != nil {
			return err
		}
		return req.reserveAnswer(changed.Value)
	})
	if err != nil {
		return err
	}
	return req.sendWritten(http.StatusOK, req.name, &body{objects: []jsontext.Value{spelledIn(patch)}}, changed.Value)
}

// applyObjectPatch changes a singular resource by a JSON Patch.
func (req *request) applyObjectPatch() error {
	if err := req.rejectParameters(); err != nil {
		return err
	}
	patch, err := req.readPatch()
	if err != nil {
		return err
	}
	var changed jsontext.Value
	err = req.update(func(tx *database.Tx) (err error) {
		if err = req.checkObjectPrecondition(tx); err != nil {
			return err
		}
		if changed, err = tx.PatchObject(req.name, patch); err != nil {
			return err
		}
		return req.reserveAnswer(changed)
	})
	if err != nil {
		return err
	}
	return req.sendWritten(http.StatusOK, req.name, &body{objects: []jsontext.Value{spelledIn(patch)}}, changed)
}

// patchDatabase answers PATCH /db: one transaction over any number of records
// and collections. The answer is the database as the transaction left it.
func (req *request) patchDatabase() error {
	if err := req.rejectParameters(); err != nil {
		return err
	}
	patch, err := req.readPatch()
	if err != nil {
		return err
	}
	var after *database.Snapshot
	err = req.update(func(tx *database.Tx) error {
		if err := req.checkListPrecondition(tx, ""); err != nil {
			return err
		}
		err := tx.PatchDatabase(patch)
		after = tx.Snapshot()
		return err
	})
	switch {
	case err != nil:
		return err
	case prefer(req.Context, preferMinimal):
		req.Status(http.StatusNoContent)
		return nil
	}
	send(req.Context, http.StatusOK, openapi.JsonType, append(after.AppendJSON(nil), '\n'))
	return nil
}

// readPatch reads the body as JSON. What is no JSON Patch the engine knows.
func (req *request) readPatch() (jsontext.Value, error) {
	text, err := req.readText()
	if err != nil {
		return nil, err
	}
	b, err := decodeBody(text, req.MaxDepth)
	if err != nil {
		return nil, err
	}
	if !req.reserve(int64(len(b.objects)) * recordCost) { // each may create one
		return nil, noMemory()
	}
	return text, nil
}

// spelledIn returns an object with the members that the paths of a patch name,
// as they are spelled there.
func spelledIn(patch jsontext.Value) jsontext.Value {
	object := []byte("{")
	seen := make(map[string]bool)
	b, err := decodeBody(patch, rawjson.MaxDepth)
	if err != nil {
		return nil
	}
	for _, op := range b.objects {
		path, _ := storage.ID(op, "path") // a string, as it is spelled
		for name := range jsontext.Pointer(path).Tokens() {
			if !seen[name] {
				seen[name] = true
				object = rawjson.AppendMember(object, name, []byte("null"))
			}
			break // only the member
		}
	}
	return append(object, '}')
}
