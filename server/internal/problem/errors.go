package problem

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strconv"
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

// MaxFaults is roughly how many faults a problem lists. More would not be read.
const MaxFaults = 100

// RetryAfter is how many seconds a client should wait before it tries again.
const RetryAfter = "5"

// Reason returns the text of an error without the sentinel at its end.
func Reason(err, sentinel error) string {
	return strings.TrimSuffix(err.Error(), ": "+sentinel.Error())
}

// ofFaults returns the problem for what is wrong with the values of a body.
func ofFaults(e *database.FaultError) *Problem {
	p := New(http.StatusUnprocessableEntity, "The body violates a rule. Nothing was stored.")
	switch e.Kind {
	case database.ErrExists:
		p = New(http.StatusConflict, "A value that must be unique is taken. Nothing was stored.")
	case database.ErrMismatch:
		p = New(http.StatusConflict, "The patch does not apply to what is stored. Nothing was changed.")
	case database.ErrRefers:
		p = New(http.StatusConflict, "Another record refers to this one. Nothing was deleted.")
	case storage.ErrShape:
		p = New(http.StatusBadRequest, "The patch cannot be applied. Nothing was changed.")
	}
	for _, f := range e.Faults {
		p.Errors = append(p.Errors, Fault{Pointer: &f.Pointer, Member: f.Member, Detail: f.Detail, Suggestion: f.Suggestion})
	}
	return p
}

// PreconditionFailed returns the problem for an If-Match that does not hold. tag is
// the tag of the resource now, "" if it does not exist.
func PreconditionFailed(tag string) *Problem {
	p := New(http.StatusPreconditionFailed, "The resource does not match If-Match: it was changed or does not exist. Read it again, and retry with its ETag.")
	if tag == "" {
		return p
	}
	return p.With("ETag", tag)
}

// Retry returns a problem that may be gone in a moment.
func Retry(status int, detail string) *Problem {
	return New(status, detail).With("Retry-After", RetryAfter)
}

// InvalidJSON returns the problem for a body that is not valid JSON or is nested
// too deep. Its status and title are those that the interface prescribes.
func InvalidJSON(text []byte, maxDepth int) *Problem {
	offset, reason, unquoted := jsonsyntax.Grammar{Noun: "body", MaxDepth: maxDepth}.Explain(text)
	line, column := rawjson.LineColumn(text, offset)
	place := fmt.Sprintf("The body is not valid JSON: line %d, column %d: ", line, column)
	p := New(http.StatusInternalServerError, place+reason+".")
	p.Title, p.Line, p.Column, p.unquoted = "Internal server Error", line, column, place+unquoted+"."
	return p
}

// WrongShape returns the problem for a body that is JSON, but not what the request needs.
func WrongShape(detail string) *Problem {
	return New(http.StatusBadRequest, httpx.Sentence(detail))
}

// WrongShapeAt is WrongShape with the place in the body, a JSON Pointer.
func WrongShapeAt(pointer, detail string) *Problem {
	p := WrongShape(detail)
	p.Errors = []Fault{{Pointer: &pointer, Detail: detail}}
	return p
}

// BadParameter returns the problem for a parameter of the URL.
func BadParameter(name, detail string) *Problem {
	p := New(http.StatusBadRequest, httpx.Sentence(fmt.Sprintf("parameter %q: %s", httpx.Clip(name), detail)))
	p.Errors = []Fault{{Parameter: &name, Detail: detail}}
	return p
}

// NoCredentials returns the problem for a request without a valid user and password.
func NoCredentials(detail string) *Problem {
	return New(http.StatusUnauthorized, detail).With("WWW-Authenticate", `Basic realm="pickup", charset="UTF-8"`)
}

// TooLarge returns the problem for a body of more bytes than the server takes.
func TooLarge(most int64) *Problem {
	p := New(http.StatusRequestEntityTooLarge, "The body is larger than "+strconv.FormatInt(most, 10)+" bytes.")
	return p.With("Connection", "close") // the rest of the body is not read
}

// NoMemory returns the problem for a request that needs too much memory. It is temporary, and
// small bodies are accepted meanwhile.
func NoMemory() *Problem {
	return Retry(http.StatusServiceUnavailable, "Too many large requests and answers are in progress. Try again.").With("Connection", "close")
}

// adviceOf returns what the operator can do about an error, as a sentence to be appended.
func adviceOf(err error) string {
	var advice *storage.AdviceError
	if errors.As(err, &advice) {
		return " " + httpx.Sentence(advice.Advice)
	}
	return ""
}

// Unwritable says why the keeper cannot be written, and what the operator can do. The
// error of a system call has no path.
func Unwritable(err error, keeper string) string {
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

// Keeper returns what keeps the database.
func Keeper(db *database.DB) string {
	if db.Shared() {
		return "cluster"
	}
	return "file"
}

// Of returns the problem for an error, and the error itself as the cause if
// it should be logged: an unknown error, or one of the store. That a cluster is away
// is logged once, by the database. keeper is what the database is in.
func Of(err error, keeper string) (p *Problem, cause error) {
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
		return ofFaults(faults), nil
	case errors.As(err, &conflict):
		return ofConflict(conflict), nil
	case errors.Is(err, database.ErrGone):
		return New(http.StatusGone, "The history does not have the values of this revision."), nil
	case errors.Is(err, database.ErrMemory):
		return Retry(http.StatusInsufficientStorage, httpx.Sentence(Reason(err, database.ErrMemory))), nil
	case errors.As(err, &query):
		return BadParameter(query.Parameter, query.Detail), nil
	case errors.Is(err, storage.ErrInvalid):
		return New(http.StatusUnprocessableEntity, httpx.Sentence(Reason(err, storage.ErrInvalid)+"; nothing was stored")), nil
	case errors.Is(err, storage.ErrShape):
		return WrongShape(Reason(err, storage.ErrShape)), nil
	case errors.As(err, &broken):
		return Retry(http.StatusServiceUnavailable, fmt.Sprintf(
			"The file does not parse: %s:%d:%d: %s. Reads return its last valid state. It cannot be written until it is fixed.",
			filepath.Base(broken.File), broken.Line, broken.Column, broken.Reason)), nil
	case errors.Is(err, storage.ErrUnsure) && keeper == "cluster":
		return New(http.StatusInternalServerError, "The cluster has not confirmed the change, which it may have stored or may store later. Before you repeat it, read it with Pickup-Revision: latest, after another write has succeeded."), err
	case errors.As(err, &away):
		return Retry(http.StatusServiceUnavailable, "The cluster has not answered since "+away.Since.UTC().Format(time.RFC3339)+
			". Reads return the state of that time. Nothing was changed."), nil
	case errors.Is(err, storage.ErrAway):
		return Retry(http.StatusServiceUnavailable, "The cluster does not answer. Nothing was changed."), nil
	case errors.Is(err, storage.ErrBroken):
		return Retry(http.StatusServiceUnavailable, "The "+keeper+" cannot be read. Reads return its last valid state. It cannot be written until it is fixed."+adviceOf(err)), err
	case errors.Is(err, storage.ErrNotFound): // gone since the path was looked up
		return New(http.StatusNotFound, "The resource no longer exists."), nil
	case errors.Is(err, storage.ErrTooLarge) && errors.As(err, &advice): // for one transaction of etcd
		return New(http.StatusRequestEntityTooLarge, httpx.Sentence(advice.Advice)+" Nothing was changed."), nil
	case errors.Is(err, storage.ErrTooLarge):
		return New(http.StatusRequestEntityTooLarge, "The database would exceed its size limit. Nothing was changed."), err
	case errors.Is(err, storage.ErrFull):
		return Retry(http.StatusInsufficientStorage, Unwritable(err, keeper)+" Nothing was changed."), err
	case errors.Is(err, storage.ErrUnsure):
		return New(http.StatusInternalServerError, "The change was stored, but the disk did not confirm it, so it may not survive a power failure. Read it back before you repeat it."), err
	case errors.Is(err, storage.ErrReadOnly), errors.Is(err, storage.ErrInUse):
		return Retry(http.StatusServiceUnavailable, Unwritable(err, keeper)+" Nothing was changed."), err
	case errors.Is(err, storage.ErrBusy) && keeper == "cluster":
		return Retry(http.StatusServiceUnavailable, "Too many writes are waiting, here or at other servers. Nothing was changed. Try again."), err
	case errors.Is(err, storage.ErrBusy) && errors.As(err, &advice):
		return Retry(http.StatusServiceUnavailable, "The file cannot be used: "+advice.Advice+". Reads return the last valid state. Nothing was changed."), err
	case errors.Is(err, storage.ErrBusy), errors.Is(err, storage.ErrConflict):
		return Retry(http.StatusServiceUnavailable, "The file is being saved, or too many writes are waiting. Nothing was changed. Try again."), err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Retry(http.StatusServiceUnavailable, "The request was canceled before its turn came. Nothing was changed."), nil
	}
	return New(http.StatusInternalServerError, "Internal error. The log has the cause, with the id that is in X-Request-Id."), err
}

// ofConflict returns the problem for a change that others are in the way of.
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
