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

// Others may change a database in a cluster. A read shows the state that this server
// has, which they may have overtaken. It can ask for another one with the header
// Pickup-Revision: for one that is not older than a revision, or for the latest.

const (
	latestRevision = "latest"         // of Pickup-Revision
	revisionWait   = 2 * time.Second  // how long a read waits for its state
	maxWait        = 10 * time.Second // how long it may wait, by Prefer: wait=N
	staleAfter     = 3 * time.Second  // answers have Age if the cluster has not answered for so long
)

// awaitRevision makes a read use a state that is as new as it asks for.
func (req *request) awaitRevision() error {
	if !httpx.IsRead(req.Request) && req.Request.Method != methodQuery {
		return nil // a write is judged on the latest state in any case
	}
	want := ""
	switch values := req.Request.Header[revisionHeader]; {
	case len(values) > 1:
		return problem.New(http.StatusBadRequest, "The request has "+revisionHeader+" more than once.")
	case len(values) == 1:
		want = values[0]
	case req.ReadLatest:
		want = latestRevision
	}
	if want != latestRevision && req.MaxStale > 0 && req.db.Age() > req.MaxStale {
		return tryAgainSoon("The cluster has not answered for longer than --max-stale allows.")
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
			return nil, problem.New(http.StatusBadRequest, revisionHeader+" must be the value of that header in an answer, as in 7KQ2AB-42, or latest.")
		}
		if at.run != req.db.Run() {
			return nil, problem.New(http.StatusPreconditionFailed,
				revisionHeader+" comes from another database, or from an earlier run of this server. Send the request without it.")
		}
		snap, err := req.db.Reach(ctx, at.rev)
		if err != nil && req.isLost(at.rev) {
			return nil, problem.New(http.StatusPreconditionFailed, revisionHeader+" is a state that the database has lost. Send the request without it.")
		}
		return snap, err
	})
}

// isLost reports whether the latest state is older than a revision, which a client has
// seen: the cluster was restored from a backup.
func (req *request) isLost(rev storage.Rev) bool {
	ctx, cancel := context.WithTimeout(req.Request.Context(), revisionWait)
	defer cancel()
	latest, err := req.db.Latest(ctx)
	return err == nil && latest < rev
}

// reach makes the request one of the state that find returns, which may take as long
// as the request can wait.
func (req *request) reach(find func(context.Context) (*database.Snapshot, error)) error {
	wait := revisionWait
	value, _ := preferenceOf(req.Context, "wait")
	if n, err := strconv.ParseUint(value, 10, 32); err == nil {
		wait = min(time.Duration(n)*time.Second, maxWait)
	}
	ctx, cancel := context.WithTimeout(req.Request.Context(), wait)
	defer cancel()
	snap, err := find(ctx)
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, storage.ErrAway) && req.Request.Context().Err() == nil {
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

// settle calls look, which looks at snap for what the request is about. If look
// returns an error and the method is not safe, it is called again on the latest state
// of a cluster: what refuses a write must hold there.
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
