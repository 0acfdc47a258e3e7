package problem

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"pickup/internal/database"
	"pickup/internal/jsonsyntax"
	"pickup/internal/query"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
	"pickup/server/internal/httpx"
)

// MaxFaults is roughly how many faults a problem lists. Nobody would read more.
const MaxFaults = 100

// RetryAfter is how many seconds a client should wait before it tries again.
const RetryAfter = "5"

// Reason returns the text of an error without the sentinel at its end.
func Reason(err, sentinel error) string {
	return strings.TrimSuffix(err.Error(), ": "+sentinel.Error())
}

// PreconditionFailed returns the problem for an If-Match that does not hold. tag is the
// current tag of the resource, "" if the resource does not exist.
func PreconditionFailed(tag string) *Problem {
	p := New(http.StatusPreconditionFailed, "The resource does not match If-Match: it was changed or does not exist. "+
		"Read it again, and retry with its ETag.")
	if tag == "" {
		return p
	}
	return p.With("ETag", tag)
}

// Retry returns a temporary problem.
func Retry(status int, detail string) *Problem {
	return New(status, detail).With("Retry-After", RetryAfter)
}

// Unavailable returns a temporary problem with the status 503.
func Unavailable(detail string) *Problem { return Retry(http.StatusServiceUnavailable, detail) }

// InvalidJSON returns the problem for a body that is not valid JSON or is nested too deep. The
// specification of the API prescribes the status and the title.
func InvalidJSON(text []byte, maxDepth int) *Problem {
	offset, reason, unquoted := jsonsyntax.Grammar{Noun: "body", MaxDepth: maxDepth}.Explain(text)
	line, column := rawjson.LineColumn(text, offset)
	place := fmt.Sprintf("The body is not valid JSON: line %d, column %d: ", line, column)
	p := New(http.StatusInternalServerError, place+reason+".")
	p.Title = "Internal server Error"
	p.Line, p.Column = line, column
	p.unquoted = place + unquoted + "."
	return p
}

// BadRequest returns the problem for an unsuitable request, such as a body of the wrong shape.
func BadRequest(detail string) *Problem {
	return New(http.StatusBadRequest, httpx.Sentence(detail))
}

// BadRequestAt is BadRequest with a JSON Pointer into the body.
func BadRequestAt(pointer, detail string) *Problem {
	p := BadRequest(detail)
	p.Errors = []Fault{{Pointer: &pointer, Detail: detail}}
	return p
}

// BadParameter returns the problem for a parameter of the URL. The detail is formatted by
// fmt.Sprintf.
func BadParameter(name, format string, args ...any) *Problem {
	detail := fmt.Sprintf(format, args...)
	p := BadRequest(fmt.Sprintf("parameter %q: %s", httpx.Clip(name), detail))
	p.Errors = []Fault{{Parameter: &name, Detail: detail}}
	return p
}

// NoCredentials returns the problem for a request without a valid user and password.
func NoCredentials(detail string) *Problem {
	return New(http.StatusUnauthorized, detail).With("WWW-Authenticate", `Basic realm="pickup", charset="UTF-8"`)
}

// TooLarge returns the problem for a body of more than limit bytes.
func TooLarge(limit int64) *Problem {
	p := Newf(http.StatusRequestEntityTooLarge, "The body is larger than %d bytes.", limit)
	return p.With("Connection", "close") // the rest of the body is not read
}

// NoMemory returns the problem for a request that needs too much memory at the moment. Small
// bodies are still accepted.
func NoMemory() *Problem {
	return Unavailable("Too many large requests and responses are in progress. Try again.").With("Connection", "close")
}

// adviceOf returns the advice of an error for the operator, as a sentence to be appended.
func adviceOf(err error) string {
	if advice, ok := errors.AsType[*storage.AdviceError](err); ok {
		return " " + httpx.Sentence(advice.Advice)
	}
	return ""
}

// Unwritable explains why the store cannot be written, and what the operator can do. The
// error of a system call has no path.
func Unwritable(err error, keeper string) string {
	cause, isErrno := errors.AsType[syscall.Errno](err)
	reason := ""
	switch {
	case errors.Is(err, storage.ErrFull) && keeper == "cluster":
		return "The cluster is full." + adviceOf(err)
	case errors.Is(err, storage.ErrFull):
		return "The disk is full."
	case errors.Is(err, storage.ErrInUse):
		return "Another server holds the file now."
	case isErrno:
		reason = ": " + cause.Error()
	case errors.Is(err, fs.ErrPermission): // of etcd
		reason = ": permission denied"
	}
	return "The " + keeper + " cannot be written" + reason + "." + adviceOf(err)
}

// Keeper names the kind of store that a database is in: "cluster" or "file".
func Keeper(db *database.DB) string {
	if db.Shared() {
		return "cluster"
	}
	return "file"
}

// Of returns the problem for an error. It also returns the error as the cause if the error
// should be logged, as unknown errors and most errors of the store should. keeper names the
// kind of store: "cluster" or "file".
func Of(err error, keeper string) (p *Problem, cause error) {
	if errors.Is(err, storage.ErrUnsure) { // the change may be stored, whatever failed
		return unsure(keeper), err
	}
	p = ofRequest(err)
	if p != nil {
		return p, nil
	}
	if keeper == "cluster" {
		p, cause = ofCluster(err)
	} else {
		p, cause = ofFile(err)
	}
	if p != nil {
		return p, cause
	}
	return ofStore(err, keeper)
}

// unsure returns the problem for a change that may be stored or not.
func unsure(keeper string) *Problem {
	if keeper == "cluster" {
		return New(http.StatusInternalServerError,
			"The cluster has not confirmed the change, which it may have stored "+
				"or may store later. Before you repeat it, read it with Pickup-Revision: latest, "+
				"after another write has succeeded.")
	}
	return New(http.StatusInternalServerError, "The change was stored, but the disk did not confirm it, "+
		"so it may not survive a power failure. Read it back before you repeat it.")
}

// ofRequest returns the problem for an error in a request, nil if err is another error.
func ofRequest(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if faults, ok := errors.AsType[*database.FaultError](err); ok {
		return ofFaults(faults)
	}
	if conflict, ok := errors.AsType[*database.ConflictError](err); ok {
		return ofConflict(conflict)
	}
	if wrong, ok := errors.AsType[*query.Error](err); ok {
		return BadParameter(wrong.Parameter, "%s", wrong.Detail)
	}
	switch {
	case errors.Is(err, database.ErrGone):
		return New(http.StatusGone, "The history does not have the values of this revision.")
	case errors.Is(err, database.ErrMemory):
		return Retry(http.StatusInsufficientStorage, httpx.Sentence(Reason(err, database.ErrMemory)))
	case errors.Is(err, storage.ErrInvalid):
		detail := httpx.Sentence(Reason(err, storage.ErrInvalid) + "; nothing was stored")
		return New(http.StatusUnprocessableEntity, detail)
	case errors.Is(err, storage.ErrShape):
		return BadRequest(Reason(err, storage.ErrShape))
	}
	return nil
}

// ofFaults returns the problem for faults in the values of a body.
func ofFaults(e *database.FaultError) *Problem {
	p := New(http.StatusUnprocessableEntity, "The body violates a rule. Nothing was stored.")
	switch e.Kind {
	case database.ErrExists:
		p = New(http.StatusConflict, "A value that must be unique is taken. Nothing was stored.")
	case database.ErrMismatch:
		p = New(http.StatusConflict, "The change does not apply to what is stored. Nothing was changed.")
	case database.ErrRefers:
		p = New(http.StatusConflict, "Another record refers to this one. Nothing was deleted.")
	case storage.ErrShape:
		p = BadRequest("The body does not have the right form. Nothing was changed.")
		if len(e.Faults) == 1 {
			p = BadRequest(e.Faults[0].Detail)
		}
	case storage.ErrNotFound:
		p = New(http.StatusNotFound, "A record or collection does not exist. Nothing was changed.")
	}
	for _, f := range e.Faults {
		p.Errors = append(p.Errors,
			Fault{Pointer: &f.Pointer, Member: f.Member, Detail: f.Detail, Suggestion: f.Suggestion})
	}
	return p
}

// ofConflict returns the problem for a change that conflicts with changes of others.
func ofConflict(e *database.ConflictError) *Problem {
	p := New(http.StatusConflict, e.Detail)
	for _, ch := range e.Changed[:min(len(e.Changed), MaxFaults)] {
		at := Conflict{Collection: ch.Collection, Fields: ch.Fields}
		if !storage.IsPositionKey(ch.ID) {
			at.ID = ch.ID
		}
		p.Conflicts = append(p.Conflicts, at)
	}
	return p
}

// ofCluster returns the problem for an error that only clusters have, nil for another error.
// The database logs once that a cluster does not answer.
func ofCluster(err error) (p *Problem, cause error) {
	if away, ok := errors.AsType[*storage.AwayError](err); ok {
		return Unavailable("The cluster has not responded since " + away.Since.UTC().Format(time.RFC3339) +
			". Reads return the state of that time. Nothing was changed."), nil
	}
	if errors.Is(err, storage.ErrAway) {
		return Unavailable("The cluster does not respond. Nothing was changed."), nil
	}
	if errors.Is(err, storage.ErrBusy) || errors.Is(err, storage.ErrConflict) {
		return Unavailable("Too many writes are waiting, here or at other servers. " +
			"Nothing was changed. Try again."), err
	}
	return nil, nil
}

// ofFile returns the problem for an error that only files have, nil for another error.
func ofFile(err error) (p *Problem, cause error) {
	if broken, ok := errors.AsType[*storage.BrokenError](err); ok {
		return Unavailable(fmt.Sprintf("The file does not parse: %s:%d:%d: %s. Reads return its last valid state. "+
			"It cannot be written until it is fixed.",
			filepath.Base(broken.File), broken.Line, broken.Column, broken.Reason)), nil
	}
	if advice, ok := errors.AsType[*storage.AdviceError](err); ok && errors.Is(err, storage.ErrBusy) {
		return Unavailable("The file cannot be used: " + advice.Advice +
			". Reads return the last valid state. Nothing was changed."), err
	}
	if errors.Is(err, storage.ErrBusy) || errors.Is(err, storage.ErrConflict) {
		return Unavailable("The file is being saved, or too many writes are waiting. " +
			"Nothing was changed. Try again."), err
	}
	return nil, nil
}

// ofStore returns the problem for any other error.
func ofStore(err error, keeper string) (p *Problem, cause error) {
	switch {
	case errors.Is(err, storage.ErrBroken):
		return Unavailable("The " + keeper + " cannot be read. Reads return its last valid state. " +
			"It cannot be written until it is fixed." + adviceOf(err)), err
	case errors.Is(err, storage.ErrNotFound): // removed since the path was looked up
		return New(http.StatusNotFound, "The resource no longer exists."), nil
	case errors.Is(err, storage.ErrTooLarge) && adviceOf(err) != "": // for one transaction
		detail := strings.TrimSpace(adviceOf(err)) + " Nothing was changed."
		return New(http.StatusRequestEntityTooLarge, detail), nil
	case errors.Is(err, storage.ErrTooLarge):
		detail := "The database would exceed its size limit. Nothing was changed."
		return New(http.StatusRequestEntityTooLarge, detail), err
	case errors.Is(err, storage.ErrFull):
		return Retry(http.StatusInsufficientStorage, Unwritable(err, keeper)+" Nothing was changed."), err
	case errors.Is(err, storage.ErrReadOnly), errors.Is(err, storage.ErrInUse):
		return Unavailable(Unwritable(err, keeper) + " Nothing was changed."), err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Unavailable("The request was canceled before its turn came. Nothing was changed."), nil
	}
	return New(http.StatusInternalServerError,
		"Internal error. The log has the cause, with the id that is in X-Request-Id."), err
}
