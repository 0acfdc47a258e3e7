package server

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"pickup/internal/rewrite"
	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/internal/requestlog"
	"pickup/server/openapi"
)

// requestBodies is a request with its body and the body of its answer.
type requestBodies struct {
	*requestlog.Request
	Body      string `json:"body,omitempty"`
	Answer    string `json:"answer,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
}

// record records the request when it has been answered, unless it is one of the
// service's page or for a resource of the service.
func (s *server) record(c *gin.Context) {
	r := c.Request
	if isOwnPage(r) || rewrite.IsService(s.pathOf(r)) {
		return
	}
	start := time.Now()
	kept := &struct { // one allocation
		requestlog.Request
		writer recordingWriter
	}{}
	e := &kept.Request
	*e = requestlog.Request{Request: requestIDOf(c), At: start.UTC(), Method: httpx.Clip(r.Method), Path: sentURL(r).EscapedPath(), Query: sentURL(r).RawQuery,
		Session: httpx.Clip(sessionOf(r)), Origin: httpx.Clip(r.Header.Get("Origin")), Agent: httpx.Clip(r.UserAgent())}
	if r.ContentLength != 0 && r.Body != nil {
		e.Type = httpx.Clip(r.Header.Get("Content-Type"))
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(r.Body, &e.Body), r.Body}
	}
	writer := c.Writer
	kept.writer = recordingWriter{writer, &e.Answer}
	c.Writer = &kept.writer
	// Deferred, so that an aborted answer is recorded as well.
	defer func() {
		if isPreflight(r) && writer.Status() < http.StatusBadRequest {
			return
		}
		e.Status, e.Bytes, e.Simulated = writer.Status(), max(writer.Size(), 0), writer.Header().Get(simulatedHeader)
		if isCut(c) {
			e.Status = 0
		}
		e.MS = float64(time.Since(start).Microseconds()) / 1000
		if p, ok := c.Get(problemKey); ok {
			e.Problem = p.(*problem.Problem)
		}
		c.Writer, kept.writer = writer, recordingWriter{} // which Gin uses again
		s.requests.Add(e)
	}()
	c.Next()
}

// A recordingWriter keeps the beginning of an answer that is JSON.
type recordingWriter struct {
	gin.ResponseWriter
	answer *requestlog.Excerpt
}

func (w *recordingWriter) Write(b []byte) (int, error) {
	if w.Header()["Content-Encoding"] == nil {
		w.keep(b)
	}
	return w.ResponseWriter.Write(b)
}

// keep keeps the beginning of a part of an answer, unless it is not JSON.
func (w *recordingWriter) keep(b []byte) {
	if t := w.Header()["Content-Type"]; len(t) > 0 && strings.Contains(t[0], "json") && t[0] != openapi.ProblemType {
		_, _ = w.answer.Write(b) // it has no error
	}
}

func (w *recordingWriter) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// Unwrap is for http.ResponseController.
func (w *recordingWriter) Unwrap() http.ResponseWriter { return unwrapped(w.ResponseWriter) }

// listRequests serves GET /_/requests: the latest requests, the newest first. Those to come
// are events of GET /_/changes.
func (req *request) listRequests() error {
	number := uint64(0)
	for _, p := range req.parameters {
		var err error
		if number, err = strconv.ParseUint(p.Value, 10, 64); err != nil {
			return problem.BadParameter(p.Name, "it is the id of a request")
		}
	}
	list, _, _ := req.requests.Since(number)
	slices.Reverse(list)
	req.Header("Cache-Control", "no-store")
	req.send(req.Context, http.StatusOK, openapi.JSONType, httpx.Marshal(append([]*requestlog.Request{}, list...)))
	return nil
}

// readRequest serves GET /_/requests/ID: a request with its bodies.
func (req *request) readRequest() error {
	list, _, _ := req.requests.Since(0)
	i := slices.IndexFunc(list, func(r *requestlog.Request) bool { return r.ID == req.Param("name") })
	if i < 0 {
		return problem.New(http.StatusNotFound, "There is no such request, or it was too long ago.")
	}
	answer := requestBodies{Request: list[i]}
	var more bool
	answer.Body, answer.Truncated = list[i].Body.Text()
	answer.Answer, more = list[i].Answer.Text()
	answer.Truncated = answer.Truncated || more
	req.Header("Cache-Control", "no-store")
	req.send(req.Context, http.StatusOK, openapi.JSONType, httpx.Marshal(answer))
	return nil
}

// clearRequests serves DELETE /_/requests.
func (req *request) clearRequests() error {
	req.requests.Clear()
	req.Status(http.StatusNoContent)
	return nil
}
