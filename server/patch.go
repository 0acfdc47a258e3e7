package server

import (
	"mime"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
	"pickup/server/internal/problem"
	"pickup/server/openapi"
)

// Values of Accept-Patch (RFC 5789 section 3.1).
const (
	acceptPatch         = openapi.JSONType + ", " + openapi.MergeType + ", " + openapi.PatchType
	acceptDatabasePatch = openapi.PatchType
)

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
	patch, err := req.readPatch()
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

// patchDatabase serves PATCH /db: a transaction over any number of records and
// collections. The answer is the database after it.
func (req *request) patchDatabase() error {
	patch, err := req.readPatch()
	if err != nil {
		return err
	}
	after, err := req.update(func(tx *database.Tx) error {
		if err := req.checkListPrecondition(tx, ""); err != nil {
			return err
		}
		return tx.PatchDatabase(patch)
	})
	switch {
	case err != nil:
		return err
	case prefer(req.Context, preferMinimal):
		req.Status(http.StatusNoContent)
		return nil
	}
	req.send(req.Context, http.StatusOK, openapi.JSONType, append(after.AppendJSON(nil), '\n'))
	return nil
}

// readPatch reads the body as JSON. Whether it is a JSON Patch is checked by the
// transaction.
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
		return nil, problem.NoMemory()
	}
	return text, nil
}

// spelledIn returns an object with the members that the paths of a patch name, in
// their spelling.
func spelledIn(patch jsontext.Value) jsontext.Value {
	object := []byte("{")
	seen := make(map[string]bool)
	for op := range rawjson.Elements(patch) {
		path, _ := storage.ID(op, "path") // a string is its own id
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
