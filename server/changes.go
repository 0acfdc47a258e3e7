package server

import (
	"math"
	"net/http"
	"slices"
	"strconv"

	"pickup/internal/rawjson"
	"pickup/server/internal/httpx"
	"pickup/server/internal/live"
	"pickup/server/internal/problem"
)

// maxStreamedChanges is the number of changes up to which the event of
// a revision lists them.
const maxStreamedChanges = 200

// listChanges serves GET /_/changes: the revisions that the history holds, the
// newest first, or as a stream those to come.
func (req *request) listChanges() error {
	limit, err := req.number("_limit", math.MaxInt, 0, math.MaxInt)
	if err != nil {
		return err
	}
	fields, some := req.parameter("_fields")
	streams, follow := req.parameter("_streams")
	after, requests := req.parameter("_requests")
	var request uint64
	switch {
	case some && fields != "id":
		return problem.BadParameter("_fields", `the only value is "id"`)
	case follow && !httpx.WantsStream(req.Request):
		return onlyStream("_streams")
	case follow && streams != "1":
		return problem.BadParameter("_streams", "the only value is 1")
	case requests:
		if request, err = req.followRequests(after); err != nil {
			return err
		}
	}
	t := live.ChangesTopic{Run: req.db.Run(), Values: !some, Most: maxStreamedChanges, Streams: follow, Requests: requests}
	if httpx.WantsStream(req.Request) {
		since, err := req.readSince([]string{"_limit"})
		if err != nil {
			return err
		}
		if since.run == req.db.Run() { // else another server has counted, or this one before a restart
			since.request = request
		}
		return req.stream(t, since)
	}
	begin, err := req.readSince(nil)
	if err != nil {
		return err
	}
	revisions := req.db.History()
	if begin.now {
		revisions = nil
	} else if begin.run != "" {
		after, ok, _ := req.db.Since(begin.rev)
		if !ok || begin.run != req.db.Run() || !req.db.Shown(begin.rev) {
			return gone(live.EventID(begin.run, begin.rev))
		}
		revisions = after
	}
	slices.Reverse(revisions)
	revisions = revisions[:min(limit, len(revisions))]
	t.Most = -1
	return req.respond(response{}, func(b []byte) ([]byte, error) {
		b = append(b, '[')
		for _, r := range revisions {
			b = t.AppendRevision(rawjson.AppendComma(b), r)
		}
		return append(b, ']'), nil
	})
}

// followRequests returns the request after which a stream has the requests of clients, too.
// It is refused where GET /_/requests would be.
func (req *request) followRequests(id string) (number uint64, err error) {
	switch {
	case !httpx.WantsStream(req.Request):
		return 0, onlyStream("_requests")
	case !req.Requests:
		return 0, problem.New(http.StatusForbidden, "The server records no requests (--requests).")
	case req.session != nil:
		return 0, problem.New(http.StatusForbidden, "The requests belong to the server and not to a session.")
	case isElsewhere(req.Request):
		return 0, requestsForbidden()
	}
	if number, err = strconv.ParseUint(id, 10, 64); err != nil {
		return 0, problem.BadParameter("_requests", "must be the id of a request, or 0")
	}
	return number, nil
}
