package server

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"pickup/internal/rewrite"
	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/internal/requestlog"
)

// requestBodies is a recorded request with the bodies of the request and of the response.
type requestBodies struct {
	*requestlog.Request
	Body      string `json:"body,omitempty"`
	Answer    string `json:"answer,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
}

// listRequests serves GET /_/requests: the latest requests, the newest first. A stream of
// GET /_/changes has the next requests.
func (req *request) listRequests() error {
	since, ok := req.parameter("_since")
	number, err := strconv.ParseUint(since, 10, 64)
	if ok && err != nil {
		return problem.BadParameter("_since", "must be the id of a request")
	}
	list, _, _ := req.requests.Since(number)
	slices.Reverse(list)
	return req.sendNow(http.StatusOK, list)
}

// readRequest serves GET /_/requests/ID: a request with the bodies.
func (req *request) readRequest() error {
	list, _, _ := req.requests.Since(0)
	i := slices.IndexFunc(list, func(r *requestlog.Request) bool { return r.ID == req.Param("name") })
	if i < 0 {
		return problem.New(http.StatusNotFound, "There is no request with this id, or it is too old.")
	}
	body, bodyCut := list[i].Body.Text()
	answer, answerCut := list[i].Answer.Text()
	return req.sendNow(http.StatusOK, requestBodies{list[i], body, answer, bodyCut || answerCut})
}

// clearRequests serves DELETE /_/requests.
func (req *request) clearRequests() error {
	req.requests.Clear()
	return req.sendNothing()
}

// A recording is a request under recording, with the writer of the response.
type recording struct {
	requestlog.Request
	writer recordingWriter
}

var recordings = sync.Pool{New: func() any { return new(recording) }}

// logRequest starts to record the request. It returns nil for a request that is not recorded: from a
// page of the service, or for a resource of the service.
func (s *server) logRequest(c *gin.Context, start time.Time) *recording {
	r := c.Request
	path := s.pathOf(r)
	isData := !rewrite.IsService(path) || path == "/_/transaction"
	if !s.Requests || isOwnPage(r) || !isData {
		return nil
	}
	sent := sentURL(r)
	e := recordings.Get().(*recording)
	e.Request = requestlog.Request{
		Request: requestIDOf(c),
		At:      start.UTC(),
		Method:  httpx.Clip(r.Method),
		Path:    sent.EscapedPath(),
		Query:   sent.RawQuery,
		Session: httpx.Clip(sessionOf(r)),
		Origin:  httpx.Clip(httpx.Header(r.Header, "Origin")),
		Agent:   httpx.Clip(httpx.Header(r.Header, "User-Agent")),
	}
	if r.ContentLength != 0 && r.Body != nil {
		e.Type = httpx.Clip(r.Header.Get("Content-Type"))
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(r.Body, &e.Body), r.Body}
	}
	e.writer = recordingWriter{c.Writer, &e.Answer, s.requests}
	c.Writer = &e.writer
	return e
}

// end adds the request to the log.
func (e *recording) end(c *gin.Context, o *outcome) {
	c.Writer = e.writer.ResponseWriter // Gin reuses the writer
	if !isPreflight(c.Request) || o.status >= http.StatusBadRequest {
		e.Status = o.status
		e.Bytes = o.bytes
		e.MS = o.ms()
		e.Simulated = o.simulated
		e.Problem = o.problem
		e.Secret = c.GetBool(secretKey)
		e.writer.log.Add(&e.Request)
	}
	*e = recording{}
	recordings.Put(e)
}
