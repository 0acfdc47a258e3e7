package server

import (
	"net/http"
	"time"

	"pickup/internal/database"
	"pickup/server/internal/httpx"
	"pickup/server/internal/live"
	"pickup/server/internal/problem"
	"pickup/server/simulate"
)

// baselineName is the name of the contents at the start or at the latest edit.
const baselineName = "baseline"

// namedSnapshot is what a client sees of a named snapshot.
type namedSnapshot struct {
	Name    string    `json:"name"`
	Rev     string    `json:"rev"`
	At      time.Time `json:"at"`
	Records int       `json:"records"` // of all collections

	Differing int `json:"differing"` // records that are not as they are now
}

func (req *request) describeSnapshot(s *database.NamedSnapshot) namedSnapshot {
	records := 0
	for _, name := range s.Names() {
		records += s.Len(name)
	}
	return namedSnapshot{s.Name, live.EventID(req.db.Run(), s.Rev()), s.Time.UTC(), records,
		s.Differing(req.db.Snapshot())}
}

// listSnapshots serves GET /_/snapshots.
func (req *request) listSnapshots() error {
	list := []namedSnapshot{}
	for _, s := range req.db.Snapshots() {
		list = append(list, req.describeSnapshot(s))
	}
	return req.sendValue(list)
}

// readSnapshot serves GET /_/snapshots/NAME: the database as it was.
func (req *request) readSnapshot() error {
	s := req.db.NamedSnapshot(req.Param("name"))
	if s == nil {
		return noSnapshot(req.Param("name"))
	}
	req.setRevision(s.Snapshot)
	return req.sendText(response{tag: req.listTag(s.Snapshot, "")}, s.AppendJSON)
}

// keepSnapshot serves PUT /_/snapshots/NAME.
func (req *request) keepSnapshot() error {
	name := req.Param("name")
	if !simulate.IsName(name) || name == baselineName || name == "now" {
		return problem.BadRequest("a snapshot name is 1 to 64 characters: letters, digits, dot, underscore or hyphen; " +
			"the names baseline and now are reserved")
	}
	if req.Request.ContentLength != 0 {
		return problem.BadRequest("PUT saves the current database and takes no body")
	}
	status := http.StatusCreated
	s, err := req.db.KeepSnapshot(name, func(old *database.NamedSnapshot) error {
		if old != nil {
			status = http.StatusOK
		}
		return req.checkSnapshot(old)
	})
	if err != nil {
		return err
	}
	req.setRevision(s.Snapshot)
	return req.sendJSON(status, httpx.Marshal(req.describeSnapshot(s)))
}

// forgetSnapshot serves DELETE /_/snapshots/NAME.
func (req *request) forgetSnapshot() error {
	name := req.Param("name")
	err := req.db.ForgetSnapshot(name, func(old *database.NamedSnapshot) error {
		if old == nil {
			return noSnapshot(name)
		}
		return req.checkSnapshot(old)
	})
	if err == nil {
		req.Status(http.StatusNoContent)
	}
	return err
}

// checkSnapshot checks the preconditions on a snapshot, which is nil if it does not exist.
func (req *request) checkSnapshot(s *database.NamedSnapshot) error {
	if s != nil {
		return req.checkPrecondition(req.listTag(s.Snapshot, ""))
	}
	if len(req.Request.Header.Values("If-Match")) > 0 {
		return problem.PreconditionFailed("")
	}
	return nil
}

func noSnapshot(name string) *problem.Problem {
	return problem.Newf(http.StatusNotFound, "There is no snapshot %q.", httpx.Clip(name))
}

// stateNamed returns the baseline or a named snapshot.
func (req *request) stateNamed(name string) (*database.Snapshot, error) {
	if name == baselineName {
		return req.db.Baseline(), nil
	}
	named := req.db.NamedSnapshot(name)
	if named == nil {
		return nil, noSnapshot(name)
	}
	return named.Snapshot, nil
}
