package server

import (
	"net/http"
	"slices"
	"strconv"

	"pickup/server/internal/problem"
	"pickup/server/internal/requestlog"
)

// requestBodies is a request with its body and the body of its answer.
type requestBodies struct {
	*requestlog.Request
	Body      string `json:"body,omitempty"`
	Answer    string `json:"answer,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
}

// listRequests serves GET /_/requests: the latest requests, the newest first. Those to come
// are events of GET /_/changes.
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

// readRequest serves GET /_/requests/ID: a request with its bodies.
func (req *request) readRequest() error {
	list, _, _ := req.requests.Since(0)
	i := slices.IndexFunc(list, func(r *requestlog.Request) bool { return r.ID == req.Param("name") })
	if i < 0 {
		return problem.New(http.StatusNotFound, "There is no request with this id, or it is too old.")
	}
	answer := requestBodies{Request: list[i]}
	var more bool
	answer.Body, answer.Truncated = list[i].Body.Text()
	answer.Answer, more = list[i].Answer.Text()
	answer.Truncated = answer.Truncated || more
	return req.sendNow(http.StatusOK, answer)
}

// clearRequests serves DELETE /_/requests.
func (req *request) clearRequests() error {
	req.requests.Clear()
	return req.sendNothing()
}
