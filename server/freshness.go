package server

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"pickup/internal/database"
	"pickup/internal/storage"
	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
)

// Other servers may change a database in a cluster. A read returns the state of this server, which
// may not be the latest. With the header Pickup-Revision, a read can require a state that is not
// older than a revision, or the latest state.

const (
	latestRevision = "latest"         // a value of Pickup-Revision
	revisionWait   = 2 * time.Second  // time that a read waits for the state
	maxWait        = 10 * time.Second // maximum of Prefer: wait=N
	staleAfter     = 3 * time.Second  // time without an answer of the cluster until responses have Age
)

// awaitRevision makes a read use the required state.
func (req *request) awaitRevision() error {
	if !httpx.IsRead(req.Request) && req.Request.Method != methodQuery {
		return nil // a write always uses the latest state
	}
	want := ""
	values := req.Request.Header[revisionHeader]
	switch {
	case len(values) > 1:
		return problem.BadRequest("The request has " + revisionHeader + " more than once.")
	case len(values) == 1:
		want = values[0]
	case req.ReadLatest:
		want = latestRevision
	}
	if want != latestRevision && req.MaxStale > 0 && req.db.Age() > req.MaxStale {
		return tryAgainSoon("The cluster has not responded for longer than --max-stale allows.")
	}
	if want == "" {
		return nil
	}
	return req.reach(func(ctx context.Context) (*database.Snapshot, error) {
		if want == latestRevision {
			return req.db.Fresh(ctx)
		}
		at, ok := parseEventID(want)
		if !ok {
			const detail = " must be the value of that header in a response, as in 7KQ2AB-42, or latest."
			return nil, problem.BadRequest(revisionHeader + detail)
		}
		if at.run != req.db.Run() {
			const detail = " comes from another database, or from an earlier run of this server. " +
				"Send the request without it."
			return nil, problem.New(http.StatusPreconditionFailed, revisionHeader+detail)
		}
		snap, err := req.db.Reach(ctx, at.rev)
		if err != nil && req.isLost(at.rev) {
			const detail = " is a state that the database has lost. Send the request without it."
			return nil, problem.New(http.StatusPreconditionFailed, revisionHeader+detail)
		}
		return snap, err
	})
}

// isLost reports whether the latest state is older than a revision that a client has seen, because
// the cluster was restored from a backup.
func (req *request) isLost(rev storage.Rev) bool {
	ctx, cancel := context.WithTimeout(req.Request.Context(), revisionWait)
	defer cancel()
	latest, err := req.db.Latest(ctx)
	return err == nil && latest < rev
}

// reach makes the request use the state that find returns. It cancels find after the time that the
// request may wait.
func (req *request) reach(find func(context.Context) (*database.Snapshot, error)) error {
	wait := revisionWait
	value, _ := preferenceOf(req.Context, "wait")
	if n, err := strconv.ParseUint(value, 10, 32); err == nil {
		wait = min(time.Duration(n)*time.Second, maxWait)
	}
	ctx, cancel := context.WithTimeout(req.Request.Context(), wait)
	defer cancel()
	snap, err := find(ctx)
	isTimeout := errors.Is(err, context.DeadlineExceeded) && req.Request.Context().Err() == nil
	if isTimeout && !errors.Is(err, storage.ErrAway) {
		if age := req.db.Age(); age > staleAfter {
			return &storage.AwayError{Since: time.Now().Add(-age), Err: err}
		}
		return tryAgainSoon("This server does not have the state that the request asks for yet.")
	}
	if err != nil {
		return err
	}
	req.snap = snap
	req.setRevision(snap)
	return nil
}

func tryAgainSoon(detail string) *problem.Problem {
	return problem.New(http.StatusServiceUnavailable, detail).With("Retry-After", "1")
}

// settle calls look, which looks up the target of the request in snap. If look fails for a write in
// a cluster, settle calls look again with the latest state: an old state must not refuse a write.
func (req *request) settle(look func() error) error {
	err, was := look(), req.snap
	if err == nil || isSafe(req.Request.Method) || !req.db.Shared() {
		return err
	}
	if failed := req.reach(req.db.Fresh); failed != nil {
		return failed
	}
	if req.snap == was {
		return err
	}
	return look()
}
