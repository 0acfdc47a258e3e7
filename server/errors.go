package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pickup/internal/database"
	"pickup/internal/jsonsyntax"
	"pickup/internal/query"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// This file is the only one that knows which error has which status.

// retryAfter is how many seconds a client does well to wait while the file is
// broken or the disk refuses.
const retryAfter = "5"

// problemOf returns what the client is told about an error. An error that is
// not one of ours, or one that the store has caused, is also returned as cause.
func problemOf(err error) (p *problem, cause error) {
	if errors.As(err, &p) {
		return p, nil
	}
	var (
		faults *database.FaultError
		query  *query.Error
		broken *storage.BrokenError
		advice *storage.AdviceError
	)
	switch {
	case errors.As(err, &faults):
		return faultProblem(faults), nil
	case errors.As(err, &query):
		return badParameter(query.Parameter, query.Detail), nil
	case errors.Is(err, storage.ErrShape):
		return wrongShape(reasonOf(err, storage.ErrShape)), nil
	case errors.As(err, &broken):
		return retry(http.StatusServiceUnavailable, fmt.Sprintf(
			"The file does not parse since it was last edited: %s:%d:%d: %s. Reads go on from its last good state; writes wait until it is repaired.",
			filepath.Base(broken.File), broken.Line, broken.Column, broken.Reason)), nil
	case errors.Is(err, storage.ErrBroken):
		return retry(http.StatusServiceUnavailable, "The file cannot be read at present. Reads go on from its last good state; writes wait until it is repaired."), err
	case errors.Is(err, storage.ErrNotFound): // gone since the path was looked up
		return &problem{status: http.StatusNotFound, detail: "It is no longer there."}, nil
	case errors.Is(err, storage.ErrTooLarge):
		return &problem{status: http.StatusRequestEntityTooLarge, detail: "The database would become too large. Nothing was changed."}, err
	case errors.Is(err, storage.ErrFull):
		return retry(http.StatusInsufficientStorage, "The disk is full. Nothing was changed."), err
	case errors.Is(err, storage.ErrUnsure):
		return &problem{status: http.StatusInternalServerError, detail: "Stored, durability unknown: the disk did not confirm the change. Read it back before you repeat it."}, err
	case errors.Is(err, storage.ErrReadOnly):
		return retry(http.StatusServiceUnavailable, "The file cannot be written at present. Nothing was changed."+adviceOf(err)), err
	case errors.Is(err, storage.ErrInUse):
		return retry(http.StatusServiceUnavailable, "The file is now one that another server holds. Nothing was changed."), err
	case errors.Is(err, storage.ErrBusy) && errors.As(err, &advice):
		return retry(http.StatusServiceUnavailable, "At present "+advice.Advice+". Reads go on from its last good state; nothing was changed."), err
	case errors.Is(err, storage.ErrBusy), errors.Is(err, storage.ErrConflict):
		return retry(http.StatusServiceUnavailable, "The file is being saved, or too many writes wait. Nothing was changed; try again."), err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return retry(http.StatusServiceUnavailable, "The request was given up before its turn came. Nothing was changed."), nil
	}
	return &problem{status: http.StatusInternalServerError, detail: "Something went wrong on this side. The log has the cause, under the id in X-Request-Id."}, err
}

// reasonOf returns what an error says of itself, without the sentinel at its
// end.
func reasonOf(err, sentinel error) string {
	return strings.TrimSuffix(err.Error(), ": "+sentinel.Error())
}

// adviceOf returns what the operator can do about an error, to follow a
// sentence.
func adviceOf(err error) string {
	var advice *storage.AdviceError
	if errors.As(err, &advice) {
		return " " + sentence(advice.Advice)
	}
	return ""
}

func faultProblem(e *database.FaultError) *problem {
	p := &problem{status: http.StatusUnprocessableEntity, detail: "The body breaks a rule. Nothing was stored."}
	switch e.Kind {
	case database.ErrExists:
		p.status, p.detail = http.StatusConflict, "A value that has to be the only one of its kind is taken. Nothing was stored."
	case database.ErrMismatch:
		p.status, p.detail = http.StatusConflict, "The patch does not fit what is stored. Nothing was changed."
	case database.ErrRefers:
		p.status, p.detail = http.StatusConflict, "Another record refers to it. Nothing was deleted."
	case storage.ErrShape:
		p.status, p.detail = http.StatusBadRequest, "The patch is none that can be done. Nothing was changed."
	}
	for _, f := range e.Faults {
		p.errors = append(p.errors, fault{"pointer", f.Pointer, f.Detail})
	}
	return p
}

// preconditionFailed tells the tag that the resource has now, "" where it is not
// there.
func preconditionFailed(tag string) *problem {
	p := &problem{status: http.StatusPreconditionFailed, detail: "It is not, or no longer, what If-Match says. Read it again, and try again with its new tag."}
	if tag == "" {
		return p
	}
	return p.with("ETag", tag)
}

func alreadyExists() *problem {
	return &problem{status: http.StatusPreconditionFailed, detail: "It is there, which If-None-Match rules out."}
}

func idsServerMade(collection, allow string) *problem {
	return (&problem{status: http.StatusMethodNotAllowed, detail: "The ids of " + collection + " are made by the service, so PUT cannot create a record: POST does."}).with("Allow", allow)
}

func retry(status int, detail string) *problem {
	return (&problem{status: status, detail: detail}).with("Retry-After", retryAfter)
}

// invalidJSON returns the problem for a body that is not valid JSON or is nested
// too deep. Its status and title are those that the interface prescribes.
func invalidJSON(text []byte, maxDepth int) *problem {
	offset, reason := jsonsyntax.Grammar{Noun: "body", MaxDepth: maxDepth}.Explain(text)
	line, column := rawjson.LineColumn(text, offset)
	return &problem{
		status: http.StatusInternalServerError, title: "Internal server Error",
		detail: fmt.Sprintf("The body is not valid JSON: line %d, column %d: %s.", line, column, reason),
		line:   line, column: column,
	}
}

func wrongShape(detail string) *problem {
	return &problem{status: http.StatusBadRequest, detail: sentence(detail)}
}

func wrongShapeAt(pointer, detail string) *problem {
	p := wrongShape(detail)
	p.errors = []fault{{"pointer", pointer, detail}}
	return p
}

func badParameter(name, detail string) *problem {
	p := &problem{status: http.StatusBadRequest, detail: sentence(fmt.Sprintf("parameter %q: %s", clip(name), detail))}
	p.errors = []fault{{"parameter", name, detail}}
	return p
}

func cutShort() *problem {
	return &problem{status: http.StatusBadRequest, detail: "The body ended before its announced end."}
}

func tooSlow() *problem {
	return &problem{status: http.StatusRequestTimeout, detail: "The body took too long to arrive."}
}

func noCredentials(detail string) *problem {
	return (&problem{status: http.StatusUnauthorized, detail: detail}).with("WWW-Authenticate", `Basic realm="pickup", charset="UTF-8"`)
}

// tooManyFailures is told to a source whether its credentials are right or not.
func tooManyFailures(pause time.Duration) *problem {
	seconds := int((pause + time.Second - 1) / time.Second)
	return (&problem{status: http.StatusTooManyRequests, detail: fmt.Sprintf(
		"Too many attempts to log in. The next one is looked at in %d s.", seconds)}).with("Retry-After", strconv.Itoa(seconds))
}

func crossOrigin(detail string) *problem {
	return &problem{status: http.StatusForbidden, detail: detail}
}

func wrongHost(host string) *problem {
	return &problem{status: http.StatusMisdirectedRequest, detail: fmt.Sprintf(
		"This server answers to localhost and to IP addresses, not to %q. --allow-host adds a name.", host)}
}

func noResource(s *database.Snapshot, path string) *problem {
	return notFound(s, fmt.Sprintf("There is nothing at %q.", clip(path)))
}

func noCollection(s *database.Snapshot, name string) *problem {
	names := servable(s)
	kind, there := s.Kind(name)
	db, taken := s.Kind("db")
	switch {
	case there && kind == storage.Other && (!taken || db == storage.Other):
		return notFound(s, fmt.Sprintf("%q is neither a collection nor an object. It has no address of its own: /db has it.", clip(name)))
	case len(names) == 0:
		return notFound(s, fmt.Sprintf("There is no collection %q. The database has none yet.", clip(name)))
	}
	return notFound(s, fmt.Sprintf("There is no collection %q. There are: %s.", clip(name), strings.Join(names, ", ")))
}

func noRecord(s *database.Snapshot, collection, id string) *problem {
	return notFound(s, fmt.Sprintf("%s has no record with the id %q.", collection, clip(id)))
}

func notFound(s *database.Snapshot, detail string) *problem {
	return &problem{status: http.StatusNotFound, detail: detail, collections: servable(s)}
}

func methodNotAllowed(method, allow string) *problem {
	return (&problem{status: http.StatusMethodNotAllowed, detail: fmt.Sprintf(
		"%s is not possible here. What is: %s.", clip(method), allow)}).with("Allow", allow)
}

func unknownMethod(method string) *problem {
	return &problem{status: http.StatusNotImplemented, detail: fmt.Sprintf("The service has no method %q.", clip(method))}
}

func readOnly(allow string) *problem {
	return (&problem{status: http.StatusMethodNotAllowed, detail: "The server was started to refuse writes (--read-only)."}).with("Allow", allow)
}

func tooLarge(most int64) *problem {
	p := &problem{status: http.StatusRequestEntityTooLarge, detail: "The body is larger than " + strconv.FormatInt(most, 10) + " bytes."}
	return p.with("Connection", "close") // so that nobody waits for the rest to pass
}

// noMemory is for this moment: small bodies are taken all the same.
func noMemory() *problem {
	return retry(http.StatusServiceUnavailable, "Too many large requests and answers are on their way. Try again.").with("Connection", "close")
}

func tooManyValues(most int) *problem {
	return &problem{status: http.StatusRequestEntityTooLarge, detail: "The body has more than " + strconv.Itoa(most) + " values."}
}

func uriTooLong(most int) *problem {
	return &problem{status: http.StatusRequestURITooLong, detail: "The URL is longer than " + strconv.Itoa(most) + " bytes."}
}

func unsupportedMedia(header, value, detail string) *problem {
	return (&problem{status: http.StatusUnsupportedMediaType, detail: detail}).with(header, value)
}
