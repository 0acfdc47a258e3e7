package server

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/server/simulate"
)

// HandlerForTest returns a Handler with the defaults of the command for options that are zero. If
// MaxSessions is negative, the handler has no sessions.
func HandlerForTest(db *database.DB, o Options) http.Handler {
	o.MaxBody = cmp.Or(o.MaxBody, 10<<20)
	o.MaxStreams = cmp.Or(o.MaxStreams, 1024)
	o.MaxURL = cmp.Or(o.MaxURL, 32<<10)
	o.MaxDepth = cmp.Or(o.MaxDepth, rawjson.MaxDepth)
	o.MaxTerms = cmp.Or(o.MaxTerms, 32)
	o.MaxSessions = max(cmp.Or(o.MaxSessions, 256), 0)
	o.SessionIdle = cmp.Or(o.SessionIdle, 10*time.Minute)
	o.SessionMemory = cmp.Or(o.SessionMemory, 256<<20)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Simulate != nil {
		simulation := *o.Simulate
		simulation.MaxDelay = cmp.Or(simulation.MaxDelay, time.Minute)
		if simulation.Dice == nil {
			simulation.Dice = simulate.Random()
		}
		o.Simulate = &simulation
	}
	return Handler(db, o)
}
