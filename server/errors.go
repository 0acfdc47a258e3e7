package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pickup/internal/database"
	"pickup/internal/jsonsyntax"
	"pickup/internal/query"
	"pickup/internal/rawjson"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// This file maps errors to statuses, and has the problems that several places return.

// retryAfter is how many seconds a client should wait before it tries again.
const retryAfter = "5"

// problemOf returns the problem for an error, and the error itself as the cause if
// it should be logged: an unknown error, or one of the store. That a cluster is away
// is logged once, by the database. keeper is what the database is in.
func problemOf(err error, keeper string) (p *problem, cause error) {
	if errors.As(err, &p) {
		return p, nil
	}
	var (
		faults   *database.FaultError
		conflict *database.ConflictError
		query    *query.Error
		broken   *storage.BrokenError
		advice   *storage.AdviceError
		away     *storage.AwayError
	)
	switch {
	case errors.As(err, &faults):
		return faultProblem(faults), nil
	case errors.As(err, &conflict):
		return conflictProblem(conflict), nil
	case errors.Is(err, database.ErrGone):
		return newProblem(http.StatusGone, "The history does not have the values of this revision."), nil
	case errors.Is(err, database.ErrMemory):
		return retry(http.StatusInsufficientStorage, sentence(reasonOf(err, database.ErrMemory))), nil
	case errors.As(err, &query):
		return badParameter(query.Parameter, query.Detail), nil
	case errors.Is(err, storage.ErrShape):
		return wrongShape(reasonOf(err, storage.ErrShape)), nil
	case errors.As(err, &broken):
		return retry(http.StatusServiceUnavailable, fmt.Sprintf(
			"The file does not parse: %s:%d:%d: %s. Reads return its last valid state. Writes fail until it is fixed.",
			filepath.Base(broken.File), broken.Line, broken.Column, broken.Reason)), nil
	case errors.Is(err, storage.ErrUnsure) && keeper == "cluster":
		return newProblem(http.StatusInternalServerError, "The cluster has not confirmed the change, which it may have stored or may store later. Before you repeat it, read it with Pickup-Revision: latest, after another write has succeeded."), err
	case errors.As(err, &away):
		return retry(http.StatusServiceUnavailable, "The cluster has not answered since "+away.Since.UTC().Format(time.RFC3339)+
			". Reads return the state of that time. Nothing was changed."), nil
	case errors.Is(err, storage.ErrAway):
		return retry(http.StatusServiceUnavailable, "The cluster does not answer. Nothing was changed."), nil
	case errors.Is(err, storage.ErrBroken):
		return retry(http.StatusServiceUnavailable, "The "+keeper+" cannot be read. Reads return its last valid state. Writes fail until it is fixed."+adviceOf(err)), err
	case errors.Is(err, storage.ErrNotFound): // gone since the path was looked up
		return newProblem(http.StatusNotFound, "The resource no longer exists."), nil
	case errors.Is(err, storage.ErrTooLarge) && errors.As(err, &advice): // for one transaction of etcd
		return newProblem(http.StatusRequestEntityTooLarge, sentence(advice.Advice)+" Nothing was changed."), nil
	case errors.Is(err, storage.ErrTooLarge):
		return newProblem(http.StatusRequestEntityTooLarge, "The database would exceed its size limit. Nothing was changed."), err
	case errors.Is(err, storage.ErrFull):
		return retry(http.StatusInsufficientStorage, unwritable(err, keeper)+" Nothing was changed."), err
	case errors.Is(err, storage.ErrUnsure):
		return newProblem(http.StatusInternalServerError, "The change was stored, but the disk did not confirm it, so it may not survive a power failure. Read it back before you repeat it."), err
	case errors.Is(err, storage.ErrReadOnly):
		return retry(http.StatusServiceUnavailable, unwritable(err, keeper)+" Nothing was changed."), err
	case errors.Is(err, storage.ErrInUse):
		return retry(http.StatusServiceUnavailable, unwritable(err, keeper)+" Nothing was changed."), err
	case errors.Is(err, storage.ErrBusy) && keeper == "cluster":
		return retry(http.StatusServiceUnavailable, "Too many writes are waiting, here or at other servers. Nothing was changed. Try again."), err
	case errors.Is(err, storage.ErrBusy) && errors.As(err, &advice):
		return retry(http.StatusServiceUnavailable, "The file cannot be used: "+advice.Advice+". Reads return the last valid state. Nothing was changed."), err
	case errors.Is(err, storage.ErrBusy), errors.Is(err, storage.ErrConflict):
		return retry(http.StatusServiceUnavailable, "The file is being saved, or too many writes are waiting. Nothing was changed. Try again."), err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return retry(http.StatusServiceUnavailable, "The request was canceled before its turn came. Nothing was changed."), nil
	}
	return newProblem(http.StatusInternalServerError, "Internal error. The log has the cause, with the id that is in X-Request-Id."), err
}

// unwritable says why the keeper cannot be written, and what the operator can do. The
// error of a system call has no path.
func unwritable(err error, keeper string) string {
	switch cause, ok := errors.AsType[syscall.Errno](err); {
	case errors.Is(err, storage.ErrFull) && keeper == "cluster":
		return "The cluster is full." + adviceOf(err)
	case errors.Is(err, storage.ErrFull):
		return "The disk is full."
	case errors.Is(err, storage.ErrInUse):
		return "Another server holds the file now."
	case ok:
		return "The " + keeper + " cannot be written: " + cause.Error() + "." + adviceOf(err)
	case errors.Is(err, fs.ErrPermission): // of etcd
		return "The " + keeper + " cannot be written: permission denied." + adviceOf(err)
	}
	return "The " + keeper + " cannot be written." + adviceOf(err)
}

// reasonOf returns the text of an error without the sentinel at its end.
func reasonOf(err, sentinel error) string {
	return strings.TrimSuffix(err.Error(), ": "+sentinel.Error())
}

// adviceOf returns what the operator can do about an error, as a sentence to be
// appended.
func adviceOf(err error) string {
	var advice *storage.AdviceError
	if errors.As(err, &advice) {
		return " " + sentence(advice.Advice)
	}
	return ""
}

func faultProblem(e *database.FaultError) *problem {
	p := newProblem(http.StatusUnprocessableEntity, "The body violates a rule. Nothing was stored.")
	switch e.Kind {
	case database.ErrExists:
		p = newProblem(http.StatusConflict, "A value that must be unique is taken. Nothing was stored.")
	case database.ErrMismatch:
		p = newProblem(http.StatusConflict, "The patch does not apply to what is stored. Nothing was changed.")
	case database.ErrRefers:
		p = newProblem(http.StatusConflict, "Another record refers to this one. Nothing was deleted.")
	case storage.ErrShape:
		p = newProblem(http.StatusBadRequest, "The patch cannot be applied. Nothing was changed.")
	}
	for _, f := range e.Faults {
		p.Errors = append(p.Errors, fault{Pointer: &f.Pointer, Member: f.Member, Detail: f.Detail, Suggestion: f.Suggestion})
	}
	return p
}

// preconditionFailed returns the problem for an If-Match that does not hold. tag is
// that of the resource now, "" if it does not exist.
func preconditionFailed(tag string) *problem {
	p := newProblem(http.StatusPreconditionFailed, "The resource does not match If-Match: it was changed or does not exist. Read it again, and retry with its ETag.")
	if tag == "" {
		return p
	}
	return p.with("ETag", tag)
}

func retry(status int, detail string) *problem {
	return newProblem(status, detail).with("Retry-After", retryAfter)
}

// invalidJSON returns the problem for a body that is not valid JSON or is nested
// too deep. Its status and title are those that the interface prescribes.
func invalidJSON(text []byte, maxDepth int) *problem {
	offset, reason, unquoted := jsonsyntax.Grammar{Noun: "body", MaxDepth: maxDepth}.Explain(text)
	line, column := rawjson.LineColumn(text, offset)
	place := fmt.Sprintf("The body is not valid JSON: line %d, column %d: ", line, column)
	p := newProblem(http.StatusInternalServerError, place+reason+".")
	p.Title, p.Line, p.Column, p.unquoted = "Internal server Error", line, column, place+unquoted+"."
	return p
}

func wrongShape(detail string) *problem {
	return newProblem(http.StatusBadRequest, sentence(detail))
}

func wrongShapeAt(pointer, detail string) *problem {
	p := wrongShape(detail)
	p.Errors = []fault{{Pointer: &pointer, Detail: detail}}
	return p
}

func badParameter(name, detail string) *problem {
	p := newProblem(http.StatusBadRequest, sentence(fmt.Sprintf("parameter %q: %s", clip(name), detail)))
	p.Errors = []fault{{Parameter: &name, Detail: detail}}
	return p
}

func noCredentials(detail string) *problem {
	return newProblem(http.StatusUnauthorized, detail).with("WWW-Authenticate", `Basic realm="pickup", charset="UTF-8"`)
}

// noCollection returns the problem for a collection that s, a state of the request's
// database, does not have.
func (req *request) noCollection(s *database.Snapshot, name string) *problem {
	names := servable(s)
	kind, there := s.Kind(name)
	db, taken := s.Kind("db")
	switch {
	case there && kind == storage.Other && (!taken || db == storage.Other):
		return notFound(s, fmt.Sprintf("%q is neither a collection nor an object, so it has no URL of its own. It is part of /db.", clip(name)))
	case len(names) == 0:
		return notFound(s, fmt.Sprintf("There is no collection %q. The database has none yet%s.", clip(name), req.howToAdd(clip(name))))
	}
	near, meant := spell.Nearest(name, names), ""
	if near != "" {
		meant = " Did you mean " + near + "?"
	}
	p := notFound(s, fmt.Sprintf("There is no collection %q.%s There are: %s.", clip(name), meant, strings.Join(names, ", ")))
	p.Suggestion = near
	return p
}

// howToAdd says how a collection is added, after a colon, or returns "".
func (req *request) howToAdd(name string) string {
	var ways []string
	if req.Source != nil && req.session == nil {
		ways = append(ways, fmt.Sprintf("add %s: [] to %s", rawjson.AppendQuote(nil, name), req.Source().Name))
	}
	if !req.ReadOnly {
		ways = append(ways, fmt.Sprintf(`send PATCH /db with [{"op":"add","path":%s,"value":[]}] as application/json-patch+json`, rawjson.AppendQuote(nil, rawjson.Pointer(name))))
	}
	if ways == nil {
		return ""
	}
	return ": " + strings.Join(ways, ", or ")
}

// noChildren returns the problem for a path below a record that does not lead to a
// collection.
func (req *request) noChildren() *problem {
	children := slices.DeleteFunc(servable(req.snap), func(name string) bool {
		key := req.snap.ForeignKey(name, req.name)
		return memberOf(req.snap, name) != array || !req.snap.Occurs(name, key) && !req.snap.Schema().Member(name).Knows([]string{key})
	})
	detail := fmt.Sprintf("%q is not a collection whose records refer to %s.", clip(req.child), req.name)
	if len(children) > 0 {
		detail += " There are: " + strings.Join(children, ", ") + "."
	}
	p := notFound(req.snap, detail)
	p.Suggestion = spell.Nearest(req.child, children)
	return p
}

func noRecord(s *database.Snapshot, collection, id string) *problem {
	return notFound(s, fmt.Sprintf("%s has no record with the id %q.", collection, clip(id)))
}

func notFound(s *database.Snapshot, detail string) *problem {
	p := newProblem(http.StatusNotFound, detail)
	p.Collections = servable(s)
	return p
}

func tooLarge(most int64) *problem {
	p := newProblem(http.StatusRequestEntityTooLarge, "The body is larger than "+strconv.FormatInt(most, 10)+" bytes.")
	return p.with("Connection", "close") // the rest of the body is not read
}

// noMemory is temporary, and small bodies are accepted meanwhile.
func noMemory() *problem {
	return retry(http.StatusServiceUnavailable, "Too many large requests and answers are in progress. Try again.").with("Connection", "close")
}

func unsupportedMedia(header, value, detail string) *problem {
	return newProblem(http.StatusUnsupportedMediaType, detail).with(header, value)
}
