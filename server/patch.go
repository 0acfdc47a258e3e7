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
func (k *call) patch() error {
	switch patchMedia(k.Request) {
	case openapi.MergeType:
		return k.change((*database.Tx).MergePatch)
	case openapi.PatchType:
		return k.applyPatch()
	}
	return k.change((*database.Tx).Merge)
}

// patchObject answers PATCH on a singular resource.
func (k *call) patchObject() error {
	switch patchMedia(k.Request) {
	case openapi.MergeType:
		return k.changeObject((*database.Tx).MergePatchObject)
	case openapi.PatchType:
		return k.applyObjectPatch()
	}
	return k.changeObject((*database.Tx).MergeObject)
}

// applyPatch changes a record by a JSON Patch.
func (k *call) applyPatch() error {
	if err := k.address(); err != nil {
		return err
	}
	patch, err := k.patchBody()
	if err != nil {
		return err
	}
	var changed *database.Record
	err = k.update(func(tx *database.Tx) (err error) {
		if err = k.supposesRecord(tx); err != nil {
			return err
		}
		if changed, err = tx.Patch(k.name, k.id, patch); err != nil {
			return err
		}
		return k.hold(changed.Value)
	})
	if err != nil {
		return err
	}
	return k.wrote(http.StatusOK, k.name, &body{objects: []jsontext.Value{spelledIn(patch)}}, changed.Value)
}

// applyObjectPatch changes a singular resource by a JSON Patch.
func (k *call) applyObjectPatch() error {
	if err := k.noParameters(); err != nil {
		return err
	}
	patch, err := k.patchBody()
	if err != nil {
		return err
	}
	var changed jsontext.Value
	err = k.update(func(tx *database.Tx) (err error) {
		if err = k.supposesObject(tx); err != nil {
			return err
		}
		if changed, err = tx.PatchObject(k.name, patch); err != nil {
			return err
		}
		return k.hold(changed)
	})
	if err != nil {
		return err
	}
	return k.wrote(http.StatusOK, k.name, &body{objects: []jsontext.Value{spelledIn(patch)}}, changed)
}

// patchDatabase answers PATCH /db: one transaction over any number of records
// and collections. The answer is the database as the transaction left it.
func (k *call) patchDatabase() error {
	if err := k.noParameters(); err != nil {
		return err
	}
	patch, err := k.patchBody()
	if err != nil {
		return err
	}
	var after *database.Snapshot
	err = k.update(func(tx *database.Tx) error {
		if err := k.supposesList(tx, ""); err != nil {
			return err
		}
		err := tx.PatchDatabase(patch)
		after = tx.Snapshot()
		return err
	})
	switch {
	case err != nil:
		return err
	case prefers(k.Context, preferMinimal):
		k.Status(http.StatusNoContent)
		return nil
	}
	send(k.Context, http.StatusOK, openapi.JsonType, append(after.AppendJSON(nil), '\n'))
	return nil
}

// patchBody reads the body as JSON. What is no JSON Patch the engine knows.
func (k *call) patchBody() (jsontext.Value, error) {
	text, err := k.text()
	if err != nil {
		return nil, err
	}
	b, err := readBody(text, k.MaxDepth)
	if err != nil {
		return nil, err
	}
	if !k.take(int64(len(b.objects)) * recordCost) { // each may create one
		return nil, noMemory()
	}
	return text, nil
}

// spelledIn returns an object with the members that the paths of a patch name,
// as they are spelled there.
func spelledIn(patch jsontext.Value) jsontext.Value {
	object := []byte("{")
	seen := make(map[string]bool)
	b, err := readBody(patch, rawjson.MaxDepth)
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
