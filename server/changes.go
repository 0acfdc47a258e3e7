package server

import (
	"math"
	"net/http"
	"slices"
	"strconv"

	"pickup/server/internal/httpx"
	"pickup/server/internal/live"
	"pickup/server/internal/problem"
)

// maxStreamedChanges is the maximum number of changes that the event of a revision lists.
const maxStreamedChanges = 200

// listChanges serves GET /_/changes: the revisions in the history, the newest first, or the next
// revisions as a stream.
func (req *request) listChanges() error {
	limit, err := req.number("_limit", math.MaxInt, 0, math.MaxInt)
	if err != nil {
		return err
	}
	fields, brief := req.parameter("_fields")
	if brief && fields != "id" {
		return problem.BadParameter("_fields", `the only value is "id"`)
	}
	t := live.ChangesTopic{Run: req.db.Run(), Values: !brief, Most: -1}
	if httpx.WantsStream(req.Request) {
		return req.streamChanges(t)
	}
	for _, name := range []string{"_streams", "_requests"} {
		if _, sent := req.parameter(name); sent {
			return onlyStream(name)
		}
	}
	since, err := req.readSince(nil)
	if err != nil {
		return err
	}
	revisions := req.db.History()
	if since.now {
		revisions = nil
	} else if since.run != "" {
		after, ok, _ := req.db.Since(since.rev)
		if !ok || since.run != req.db.Run() || !req.db.Shown(since.rev) {
			return gone(live.EventID(since.run, since.rev))
		}
		revisions = after
	}
	slices.Reverse(revisions)
	revisions = revisions[:min(limit, len(revisions))]
	list := make([]live.Revision, len(revisions))
	for i, r := range revisions {
		list[i] = t.Revision(r)
	}
	return req.sendValue(list)
}

// streamChanges streams the next revisions and, if the client asks for more, the open streams and
// the requests of clients.
func (req *request) streamChanges(t live.ChangesTopic) error {
	streams, follow := req.parameter("_streams")
	if follow && streams != "1" {
		return problem.BadParameter("_streams", "the only value is 1")
	}
	t.Most = maxStreamedChanges
	t.Streams = follow
	var request uint64
	var err error
	id, ok := req.parameter("_requests")
	if ok {
		t.Requests = true
		request, err = req.followRequests(id)
		if err != nil {
			return err
		}
	}
	since, err := req.readSince([]string{"_limit"})
	if err != nil {
		return err
	}
	if since.run == req.db.Run() { // otherwise the number is from another server or an earlier run
		since.request = request
	}
	return req.stream(t, since)
}

// followRequests parses the id of the latest request that a client has. It refuses clients that may
// not GET /_/requests.
func (req *request) followRequests(id string) (number uint64, err error) {
	switch {
	case !req.Requests:
		return 0, problem.New(http.StatusForbidden, "The server records no requests (--requests).")
	case req.session != nil:
		return 0, problem.New(http.StatusForbidden, "The requests belong to the server and not to a session.")
	case isElsewhere(req.Request):
		return 0, requestsForbidden()
	}
	number, err = strconv.ParseUint(id, 10, 64)
	if err != nil {
		return 0, problem.BadParameter("_requests", "must be the id of a request, or 0")
	}
	return number, nil
}
