package server

import (
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
)

// TestStatuses checks the status of each kind of error, and that clients do not get
// to see paths of the server.
func TestStatuses(t *testing.T) {
	faults := func(kind error) error {
		return &database.FaultError{Kind: kind, Faults: []schema.Fault{{Pointer: "/a", Detail: "no"}}}
	}
	for _, c := range []struct {
		err    error
		status int
		logged bool
	}{
		{storage.ErrNotFound, 404, false},
		{storage.ErrShape, 400, false},
		{faults(storage.ErrInvalid), 422, false},
		{faults(database.ErrExists), 409, false},
		{faults(database.ErrMismatch), 409, false},
		{faults(database.ErrRefers), 409, false},
		{faults(storage.ErrShape), 400, false},
		{&query.Error{Parameter: "_x", Detail: "no"}, 400, false},
		{&storage.BrokenError{File: "/home/ruth/db.json", Line: 1, Column: 2, Reason: "no"}, 503, false},
		{storage.ErrBroken, 503, true},
		{storage.ErrBusy, 503, true},
		{storage.ErrConflict, 503, true},
		{storage.ErrReadOnly, 503, true},
		{storage.ErrInUse, 503, true},
		{storage.ErrFull, 507, true},
		{storage.ErrTooLarge, 413, true},
		{storage.ErrUnsure, 500, true},
		{context.Canceled, 503, false},
		{context.DeadlineExceeded, 503, false},
		{errors.New("open /home/ruth/db.json: odd"), 500, true},
		{noCredentials("no"), 401, false},
		{newProblem(http.StatusRequestTimeout, "slow"), 408, false},
	} {
		for _, err := range []error{c.err, fmt.Errorf("/home/ruth: %w", c.err)} {
			p, cause := problemOf(err)
			if p.Status != c.status || (cause != nil) != c.logged {
				t.Errorf("%v: %d, to be logged: %v", err, p.Status, cause)
			}
			if c.err != storage.ErrShape && strings.Contains(string(marshal(p)), "/home") {
				t.Errorf("%v: the client learns %s", err, marshal(p))
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
