package server

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
	"pickup/server/internal/httpx"
	"pickup/server/internal/live"
	"pickup/server/internal/problem"
)

// undo serves POST /_/undo: it reverts the newest change, or the revision in the body. An edit by hand
// can be reverted in part.
func (req *request) undo() error {
	body, err := req.readMembers("rev", "only")
	if err != nil {
		return err
	}
	id, _ := rawjson.Text(body["rev"])
	only, err := readElements(body["only"])
	if err != nil {
		return err
	}
	if id == "" && only != nil {
		return problem.BadRequestAt("/only", "only requires rev, the id of the revision")
	}
	var at resumePoint
	if id != "" {
		var ok bool
		at, ok = parseEventID(id)
		if !ok {
			return problem.BadRequestAt("/rev", "the value of rev must be the id of a revision, as in 7KQ2AB-42")
		}
		if at.run != req.db.Run() || at.rev == 0 {
			return gone(id)
		}
	}
	var undone *database.Revision
	var changes []database.Change
	_, err = req.updateList("", func(tx *database.Tx) (err error) {
		undone, changes, err = tx.Undo(at.rev, only...)
		return err
	})
	if fault, ok := errors.AsType[*database.FaultError](err); ok && errors.Is(fault, storage.ErrShape) {
		return problem.BadRequestAt("/only"+fault.Faults[0].Pointer, fault.Faults[0].Detail)
	}
	if err != nil {
		return err
	}
	return req.sendChanges(changesAnswer{Undone: live.EventID(req.db.Run(), undone.Rev)}, changes)
}

// readElements reads the elements in the field "only" of a body. It returns nil if v is nil.
func readElements(v jsontext.Value) (all []database.Change, err error) {
	wrong := func(pointer string) error {
		const detail = "the field only must be an array of elements with a collection, and with an id if it is a record, " +
			`as in [{"collection": "people", "id": "3"}, {"collection": "settings"}]`
		return problem.BadRequestAt("/only"+pointer, detail)
	}
	if v == nil {
		return nil, nil
	}
	for e := range rawjson.Elements(v) {
		pointer := rawjson.Pointer(strconv.Itoa(len(all)))
		var at database.Change
		for quoted, v := range rawjson.Members(e) {
			text, ok := rawjson.Text(v)
			switch name := rawjson.Unquote(quoted); {
			case ok && name == "collection" && v.Kind() == '"':
				at.Collection = text
			case ok && text != "" && name == "id":
				at.ID = text
			default:
				return nil, wrong(pointer + rawjson.Pointer(name))
			}
		}
		if at.Collection == "" {
			return nil, wrong(pointer)
		}
		all = append(all, at)
	}
	if all == nil {
		return nil, wrong("")
	}
	return all, nil
}

// reset serves POST /_/reset: it restores the baseline, or the snapshot in the body.
func (req *request) reset() error {
	body, err := req.readMembers("to")
	if err != nil {
		return err
	}
	name, _ := rawjson.Text(body["to"])
	name = cmp.Or(name, baselineName)
	to, err := req.stateNamed(name)
	if err != nil {
		return err
	}
	var changes []database.Change
	_, err = req.updateList("", func(tx *database.Tx) error {
		changes = tx.Reset(to)
		return nil
	})
	if err != nil {
		return err
	}
	return req.sendChanges(changesAnswer{To: name}, changes)
}

// A changesAnswer is the response to a request that changes several records at once.
type changesAnswer struct {
	Rev     string `json:"rev"`
	Undone  string `json:"undone,omitempty"` // the id of the revision
	To      string `json:"to,omitempty"`     // the name of the snapshot
	Session string `json:"session,omitempty"`
	live.Changes
}

// sendChanges sends the answer, with the revision in Pickup-Revision and the changes without values.
func (req *request) sendChanges(answer changesAnswer, changes []database.Change) error {
	if req.prefer(preferMinimal) {
		return req.sendNothing()
	}
	answer.Rev = req.Writer.Header().Get(revisionHeader)
	answer.Changes = live.ChangesTopic{Most: maxStreamedChanges}.List(changes)
	return req.sendJSON(http.StatusOK, httpx.Marshal(answer))
}
