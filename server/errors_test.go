package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"pickup/internal/database"
	"pickup/internal/query"
	"pickup/internal/schema"
	"pickup/internal/storage"
	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
)

// TestStatuses checks the status of each kind of error, and that clients do not get
// to see paths of the server.
func TestStatuses(t *testing.T) {
	faults := func(kind error) error {
		return &database.FaultError{Kind: kind, Faults: []schema.Fault{{Pointer: "/a", Detail: "no"}}}
	}
	unsure := func(why error) error { return fmt.Errorf("%w: %w", storage.ErrUnsure, why) }
	for _, c := range []struct {
		err    error
		status int
		logged bool
		keeper string // "": a file
	}{
		{err: storage.ErrNotFound, status: 404},
		{err: storage.ErrShape, status: 400},
		{err: faults(storage.ErrInvalid), status: 422},
		{err: faults(database.ErrExists), status: 409},
		{err: faults(database.ErrMismatch), status: 409},
		{err: faults(database.ErrRefers), status: 409},
		{err: faults(storage.ErrShape), status: 400},
		{err: &query.Error{Parameter: "_x", Detail: "no"}, status: 400},
		{err: &storage.BrokenError{File: "/home/ruth/db.json", Line: 1, Column: 2, Reason: "no"}, status: 503},
		{err: storage.ErrBroken, status: 503, logged: true},
		{err: storage.ErrBusy, status: 503, logged: true},
		{err: storage.ErrConflict, status: 503, logged: true},
		{err: storage.ErrReadOnly, status: 503, logged: true},
		{err: storage.ErrInUse, status: 503, logged: true},
		{err: storage.ErrFull, status: 507, logged: true},
		{err: storage.ErrTooLarge, status: 413, logged: true},
		{err: storage.ErrUnsure, status: 500, logged: true},
		{err: unsure(&storage.AdviceError{Err: storage.ErrBusy, Advice: "another program has db.json open"}), status: 500, logged: true},
		{err: unsure(&storage.BrokenError{File: "/home/ruth/db.json", Line: 1, Column: 2, Reason: "no"}), status: 500, logged: true},
		{err: unsure(fmt.Errorf("/home/ruth/db.json is a directory: %w", storage.ErrShape)), status: 500, logged: true},
		{err: &storage.AwayError{Err: errors.New("dial /home/ruth: no")}, status: 503, keeper: "cluster"},
		{err: storage.ErrAway, status: 503, keeper: "cluster"},
		{err: unsure(&storage.AwayError{Err: context.DeadlineExceeded}), status: 500, logged: true, keeper: "cluster"},
		{err: storage.ErrBroken, status: 503, logged: true, keeper: "cluster"},
		{err: storage.ErrReadOnly, status: 503, logged: true, keeper: "cluster"},
		{err: storage.ErrBusy, status: 503, logged: true, keeper: "cluster"},
		{err: storage.ErrConflict, status: 503, logged: true, keeper: "cluster"},
		{err: storage.ErrFull, status: 507, logged: true, keeper: "cluster"},
		{err: context.Canceled, status: 503},
		{err: context.DeadlineExceeded, status: 503},
		{err: errors.New("open /home/ruth/db.json: odd"), status: 500, logged: true},
		{err: problem.NoCredentials("no"), status: 401},
		{err: problem.New(http.StatusRequestTimeout, "slow"), status: 408},
	} {
		for _, err := range []error{c.err, fmt.Errorf("/home/ruth: %w", c.err)} {
			p, cause := problem.Of(err, cmp.Or(c.keeper, "file"))
			if c.keeper != "" && strings.Contains(p.Detail, "file") {
				t.Errorf("%v: there is no file in a cluster: %s", err, p.Detail)
			}
			if p.Status != c.status || (cause != nil) != c.logged {
				t.Errorf("%v: %d, to be logged: %v", err, p.Status, cause)
			}
			if c.err != storage.ErrShape && strings.Contains(string(httpx.Marshal(p)), "/home") {
				t.Errorf("%v: the client learns %s", err, httpx.Marshal(p))
			}
		}
	}
}

// TestCutAnswer checks that a panic after the first byte cuts the connection.
func TestCutAnswer(t *testing.T) {
	s := &server{Options: Options{Log: slog.New(slog.DiscardHandler)}}
	r := gin.New()
	r.Use(s.recover)
	r.NoRoute(func(c *gin.Context) {
		_, _ = c.Writer.WriteString("half")
		panic("no")
	})
	web := httptest.NewServer(r)
	defer web.Close()
	resp, err := http.Get(web.URL)
	if err == nil {
		_ = resp.Body.Close()
		t.Errorf("the client takes half an answer for a whole one: %v", resp.Status)
	}
}
