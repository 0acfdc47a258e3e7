package server

import (
	"errors"
	"io/fs"
	"net/http"
	"path/filepath"

	"pickup/internal/lint"
	"pickup/internal/storage"
	"pickup/server/internal/problem"
)

// maxFindings is the number of findings that readyz?verbose lists.
const maxFindings = 1000

// health is the body of livez and readyz.
type health struct {
	Status string `json:"status"`
	// For readyz?verbose:
	Checks   []checked      `json:"checks,omitempty"`
	Count    *int           `json:"count,omitempty"` // of all findings
	Findings []lint.Finding `json:"findings,omitzero"`
}

type checked struct {
	Name   string `json:"name"`
	Status string `json:"status"`
}

// livez serves GET /_/livez: the process responds.
func (req *request) livez() error { return req.sendNow(http.StatusOK, health{Status: "alive"}) }

// readyz serves GET /_/readyz: 503 while the database cannot be read, or cannot be written although
// the server is not read-only. With the parameter verbose, for which authenticate requires
// credentials, readyz lists the checks and the findings.
func (req *request) readyz() error {
	broken := req.db.Err()
	if isVerbose(req.Request) {
		return req.readyzVerbose(broken)
	}
	if broken != nil {
		return req.notReady(broken)
	}
	err := req.writeError()
	if err == nil {
		return req.sendNow(http.StatusOK, health{Status: "ready"})
	}
	more := ""
	if advice, ok := errors.AsType[*storage.AdviceError](err); ok && req.Auth != nil {
		// Clients without credentials need not know the users of this machine.
		err = advice.Err
		more = " The log says what to do, and so does readyz?verbose with credentials."
	}
	return problem.Unavailable(problem.Unwritable(err, req.keeper()) + more + " Reads work.")
}

func (req *request) readyzVerbose(broken error) error {
	status := http.StatusOK
	body := health{Status: "ready"}
	file := "ok"
	if broken != nil || req.writeError() != nil {
		status = http.StatusServiceUnavailable
		body.Status = "not ready"
		req.Header("Retry-After", problem.RetryAfter)
	}
	if broken != nil {
		p, cause := problem.Of(broken, req.keeper())
		file = p.Detail
		if cause != nil {
			req.server.Log.Debug("not ready", "id", requestIDOf(req.Context), "error", cause)
		}
	}
	body.Checks = req.checks(file, broken)
	if req.Findings != nil {
		found, n := req.Findings.List(0, maxFindings)
		body.Count, body.Findings = &n, found
	}
	return req.sendNow(status, body)
}

// notReady returns the problem for a file or cluster that cannot be read. Clients without
// credentials do not see a syntax error, which may quote the file.
func (req *request) notReady(err error) error {
	broken, ok := errors.AsType[*storage.BrokenError](err)
	if !ok {
		return err
	}
	place := *broken
	if req.Auth != nil {
		place.Reason = "the log has the reason, and so has readyz?verbose with credentials"
	}
	p, _ := problem.Of(&place, req.keeper())
	if file := req.brokenOfFolder(err); file != "" {
		p.Detail += " Only the collections of " + file + " are affected."
	}
	return p
}

// brokenOfFolder returns the name of the file of a folder that does not parse, or "". The collections
// in the other files can be written.
func (req *request) brokenOfFolder(err error) string {
	broken, ok := errors.AsType[*storage.BrokenError](err)
	if !ok || req.Source == nil || !req.Source().Folder {
		return ""
	}
	return filepath.Base(broken.File)
}

// checks returns the state of the file or cluster, of writes, and of Options.Checks. broken is the
// reason why the file or cluster cannot be read, or nil. If the file does not exist, a write creates
// the file.
func (req *request) checks(file string, broken error) []checked {
	writes := "ok"
	part := req.brokenOfFolder(broken)
	switch {
	case req.ReadOnly:
		writes = "refused: the server was started with --read-only"
	case errors.Is(broken, storage.ErrAway):
		writes = "refused until the cluster responds"
	case part != "":
		writes = "refused for the collections of " + part + " until it is fixed; others can be written"
	case broken != nil && !errors.Is(broken, fs.ErrNotExist):
		writes = "refused until the " + req.keeper() + " is fixed"
	case req.writeError() != nil:
		writes = problem.Unwritable(req.writeError(), req.keeper())
	}
	list := []checked{{req.keeper(), file}, {"writes", writes}}
	for _, c := range req.Checks {
		state := "ok"
		if !c.OK() {
			state = "the new version cannot be used, so the previous one stays in use; the log has the reason"
		}
		list = append(list, checked{c.Name, state})
	}
	return list
}
