package server

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/spell"
	"pickup/server/internal/httpx"
	"pickup/server/internal/live"
	"pickup/server/internal/problem"
	"pickup/server/simulate"
)

// sessionState is what a client sees of a session.
type sessionState struct {
	Name  string    `json:"name"`
	Rev   string    `json:"rev"`
	At    time.Time `json:"at"` // start
	Used  time.Time `json:"used"`
	Bytes int       `json:"bytes"` // of changed values

	Changes int  `json:"changes"` // uncommitted
	Kept    bool `json:"kept"`
}

// stateLocked returns the state of a session. The caller has sessions.mu.
func (x *session) stateLocked() sessionState {
	return sessionState{x.name, live.EventID(x.db.Run(), x.db.Snapshot().Rev()), x.made.UTC(), x.used.UTC(),
		x.db.PinnedBytes(), x.changesLocked(), x.kept}
}

// list returns the states of the sessions by name.
func (s *sessions) list() []sessionState {
	list := []sessionState{}
	s.mu.Lock()
	for _, x := range s.byName {
		list = append(list, x.stateLocked())
	}
	s.mu.Unlock()
	slices.SortFunc(list, func(a, b sessionState) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// A review is a kept session with changes.
type review struct {
	Name    string `json:"name"`
	Changes int    `json:"changes"`
}

// reviews returns the kept sessions with changes.
func (s *sessions) reviews() (list []review) {
	for _, x := range s.list() {
		if x.Kept && x.Changes > 0 {
			list = append(list, review{x.Name, x.Changes})
		}
	}
	return list
}

// listSessions serves GET /_/sessions.
func (req *request) listSessions() error { return req.sendValue(req.sessions.list()) }

// ofSession returns a handler for a session. The handler does not create missing sessions.
func ofSession(handle func(*request, *session) error) handler {
	return func(req *request) error {
		name := req.Param("name")
		if err := req.checkSessionName(name); err != nil {
			return err
		}
		req.sessions.mu.Lock()
		x := req.sessions.byName[name]
		if x != nil {
			req.enterLocked(x)
		}
		req.sessions.mu.Unlock()
		if x == nil {
			return problem.Newf(http.StatusNotFound, "There is no session %q.", name)
		}
		return handle(req, x)
	}
}

// putSession serves PUT /_/sessions/NAME: it starts a session, and ends an earlier session of that
// name. Without "from" in the body, an earlier session stays if it is kept or becomes kept.
func (req *request) putSession() error {
	name := req.Param("name")
	if err := req.checkSessionName(name); err != nil {
		return err
	}
	body, err := req.readMembers("from", "keep", "discard")
	if err != nil {
		return err
	}
	for _, name := range []string{"keep", "discard"} {
		if v := body[name]; v != nil && v.Kind() != 't' && v.Kind() != 'f' {
			return problem.BadRequestAt("/"+name, "must be true or false")
		}
	}
	from, _ := rawjson.Text(body["from"])
	keep, discard := body["keep"].Kind() == 't', body["discard"].Kind() == 't'
	snap := req.db.Snapshot()
	if from != "" && from != "now" {
		snap, err = req.stateNamed(from)
		if err != nil {
			return err
		}
	}
	status := http.StatusCreated
	req.sessions.mu.Lock()
	x := req.sessions.byName[name]
	if x != nil {
		status = http.StatusOK
		n := x.changesLocked()
		switch {
		case from == "" && (keep || x.kept): // the session stays
		case x.kept && n > 0 && !discard:
			const detail = `The session %s has %s. Send "discard": true to drop them.`
			err = problem.Newf(http.StatusConflict, detail, name, spell.Count(n, "uncommitted change"))
		default:
			req.sessions.endLocked(x)
			x = nil
		}
	}
	if x == nil {
		x, err = req.sessions.makeLocked(name, snap)
	}
	if err == nil {
		req.enterLocked(x)
		if keep {
			req.sessions.keepLocked(x)
		}
	}
	req.sessions.mu.Unlock()
	if err != nil {
		return err
	}
	return req.sendSession(status, x)
}

// sendSession sends the state of a session.
func (req *request) sendSession(status int, x *session) error {
	req.sessions.mu.Lock()
	state := x.stateLocked()
	req.sessions.mu.Unlock()
	return req.sendNow(status, state)
}

// endSession serves DELETE /_/sessions/NAME.
func (req *request) endSession(x *session) error {
	req.sessions.mu.Lock()
	defer req.sessions.mu.Unlock()
	req.sessions.endLocked(x)
	return req.sendNothing()
}

// readSession serves GET /_/sessions/NAME.
func (req *request) readSession(x *session) error { return req.sendSession(http.StatusOK, x) }

// resetSession serves POST /_/sessions/NAME/reset.
func (req *request) resetSession(x *session) error {
	req.use(x.db)
	return req.reset()
}

// sessionChanges serves GET /_/sessions/NAME/changes: what it has changed since it
// began, or was committed.
func (req *request) sessionChanges(x *session) error {
	changes := x.db.Baseline().Changes(x.db.Snapshot())
	return req.sendValue(live.ChangesTopic{Values: true, Most: -1}.List(changes).Changes)
}

// commitSession serves POST /_/sessions/NAME/commit: it makes the changes of the
// session to the database. The session goes on from there.
func (req *request) commitSession(x *session) error {
	take, err := req.readTake()
	if err != nil {
		return err
	}
	x.commit.Lock()
	defer x.commit.Unlock()
	base, now := x.db.Baseline(), x.db.Snapshot()
	var changes []database.Change
	_, err = req.updateList("", func(tx *database.Tx) (err error) {
		tx.From(x.name)
		changes, err = tx.Rebase(base, now, take)
		return err
	})
	if conflict, ok := errors.AsType[*database.ConflictError](err); ok && take == database.TakeNeither {
		conflict.Detail += ` "take": "session" or "database" in the body decides for one side.`
	}
	if err != nil {
		return err
	}
	if !hasPreference(req.Context, preferRollback) {
		x.db.SetBaseline(now)
	}
	return req.sendChanges(changesAnswer{Session: x.name}, changes)
}

// readTake reads the field "take" of a body.
func (req *request) readTake() (database.Take, error) {
	body, err := req.readMembers("take")
	if err != nil || body == nil {
		return database.TakeNeither, err
	}
	text, _ := rawjson.Text(body["take"])
	take := database.Take(text)
	if body["take"] != nil && take != database.TakeFork && take != database.TakeDatabase {
		return "", problem.BadRequestAt("/take", `the value of take must be "session" or "database"`)
	}
	return take, nil
}

// enterSession adds the request to the named session, if any. It creates a missing session. own
// reports whether sessions have the resource.
func (req *request) enterSession(own bool) error {
	name, named, err := req.sessionName()
	if err != nil || !named {
		return err
	}
	if !own {
		return problem.BadRequest("This resource belongs to the server and not to a session. " +
			"Send the request without " + sessionHeader + ".")
	}
	s := &req.sessions
	s.mu.Lock()
	defer s.mu.Unlock()
	x, err := req.findSessionLocked(name)
	if err != nil {
		return err
	}
	if x == nil {
		if !req.mayWrite(req.Request) {
			return problem.New(http.StatusForbidden,
				"Pages from other origins may not start a session. --cors-origin allows an origin.")
		}
		x, err = s.makeLocked(name, req.db.Snapshot())
		if err != nil {
			return err
		}
		req.Header(newSessionHeader, "1")
	}
	req.enterLocked(x)
	req.Header(sessionHeader, name)
	req.use(x.db)
	return nil
}

// findSessionLocked returns the session with this name, nil if there is none. It restarts a kept
// session without changes if the database has changed and only streams use the session. The caller
// has sessions.mu.
func (req *request) findSessionLocked(name string) (*session, error) {
	s, now := &req.sessions, req.db.Snapshot()
	x := s.byName[name]
	if x == nil || !x.kept || x.since == now.Rev() || x.changesLocked() > 0 || len(x.db.Snapshots()) > 0 {
		return x, nil
	}
	busy := x.requests
	for _, p := range req.streams.Paths(x.db) {
		busy -= p.Count
	}
	if busy > 0 {
		return x, nil
	}
	x.kept = false // the end is not an event
	s.endLocked(x)
	again, err := s.makeLocked(name, now)
	if err == nil {
		again.kept = true
		again.announced = again.edges()
		again.stubs = x.stubs
	}
	return again, err
}

// sessionName returns the session named in the header, in the path, or in both.
func (req *request) sessionName() (name string, named bool, err error) {
	names := req.Request.Header[sessionHeader]
	if inPath := strings.TrimPrefix(req.sessionPath, sessionPrefix); inPath != "" {
		if len(names) == 1 && names[0] != inPath {
			const detail = "The path names the session %q, and %s another session."
			return "", false, problem.Newf(http.StatusBadRequest, detail, httpx.Clip(inPath), sessionHeader)
		}
		if len(names) == 0 {
			names = []string{inPath}
		}
	}
	if len(names) == 0 {
		return "", false, nil
	}
	if len(names) > 1 {
		return "", false, problem.BadRequest("The request has " + sessionHeader + " more than once.")
	}
	return names[0], true, req.checkSessionName(names[0])
}

// checkSessionName returns an error unless a session may have the name.
func (req *request) checkSessionName(name string) error {
	if req.MaxSessions < 0 {
		return problem.BadRequest("The server has no sessions (--max-sessions 0). Nothing was done.")
	}
	if !simulate.IsName(name) {
		return problem.BadRequest("A session name is 1 to 64 characters: letters, digits, dot, underscore or hyphen. " +
			"It is not . or ..")
	}
	return nil
}

// enterLocked adds the request to a session until the request ends. The caller has sessions.mu.
func (req *request) enterLocked(x *session) {
	req.session = x
	x.enterLocked()
}
