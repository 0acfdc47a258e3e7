package server

import (
	"math"
	"net/http"
	"strconv"

	"pickup/internal/lint"
	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/openapi"
)

// listFindings serves GET /_/findings: what is wrong with the database, or with that of the
// session, or a part of it.
func (req *request) listFindings() error {
	start, end := 0, math.MaxInt
	for _, p := range req.parameters {
		n, err := strconv.Atoi(p.Value)
		switch {
		case err != nil || n < 0:
			return problem.BadParameter(p.Name, "must be 0 or a positive whole number")
		case p.Name == "_start":
			start = n
		default:
			end = n
		}
	}
	findings := req.Findings
	if req.session != nil {
		findings = lint.New("", nil, req.db)
	}
	found, count := findings.List(start, end)
	text, total := httpx.Marshal(append([]lint.Finding{}, found...)), strconv.Itoa(count)
	tag := httpx.Tag(append(text, total...))
	if req.sendNotModified(tag) {
		return nil
	}
	req.Header("X-Total-Count", total)
	return req.sendBody(openapi.JSONType, tag, text)
}

// dismissFinding serves DELETE /_/findings/REV: the edit of that revision is no longer
// a finding.
func (req *request) dismissFinding() error {
	id := req.Param("name")
	if at, ok := parseEventID(id); !ok || at.run != req.db.Run() || !req.db.DismissEdit(at.rev) {
		return problem.New(http.StatusNotFound, "There is no finding about an edit with the revision "+httpx.Clip(id)+".")
	}
	return req.sendNothing()
}
