package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	"pickup/internal/database"
	"pickup/internal/query"
	"pickup/server/internal/httpx"
	"pickup/server/internal/live"
	"pickup/server/internal/problem"
)

// A GET with Accept: text/event-stream is answered with a stream of server-sent
// events: the state, and then each change of it once it is durable. A client
// that has lost the connection continues after the last id that it has seen.

// streamList streams the records that the query of the URL wants; under narrows it further.
func (req *request) streamList(collection string) error {
	since, err := req.readSince(orderParameters)
	if err != nil {
		return err
	}
	q, _, err := req.listQuery(collection)
	if err != nil {
		return err
	}
	return req.stream(live.ListTopic{Query: q}, since)
}

// streamRecord streams a record or a singular resource.
func (req *request) streamRecord() error {
	since, err := req.readSince(orderParameters)
	if err != nil {
		return err
	}
	q, _, err := req.query(req.name)
	if err != nil {
		return err
	}
	return req.stream(live.RecordTopic{Query: q, ID: req.id}, since)
}

// streamDatabase streams all top-level fields.
func (req *request) streamDatabase() error {
	since, err := req.readSince(nil)
	if err != nil {
		return err
	}
	return req.stream(live.DatabaseTopic{}, since)
}

// orderParameters are the parameters that a stream of records does not have.
var orderParameters = []string{"_sort", "_order", "_page", "_per_page", "_limit", "_start", "_end", "_embed", "_expand"}

// readSince returns where a stream begins, by Last-Event-ID, which browsers send
// when they connect again, or else by the parameter _since. It takes _since out
// of the query, and refuses the parameters called refused.
func (req *request) readSince(refused []string) (s resumePoint, err error) {
	id := req.Request.Header.Get("Last-Event-ID")
	for _, p := range req.parameters {
		switch {
		case slices.Contains(refused, strings.TrimSuffix(p.Name, "[]")):
			return resumePoint{}, problem.BadParameter(p.Name, "a stream has no order and no pages")
		case p.Name != "_since":
			continue
		case p.Value == "now":
			s.now = id == ""
		case id == "":
			if _, ok := parseEventID(p.Value); !ok {
				return resumePoint{}, problem.BadParameter(p.Name, "must be the id of an event, as in 7KQ2AB-42, or now")
			}
			id = p.Value
		}
	}
	// Streams that differ only in it share a group.
	req.parameters = slices.DeleteFunc(req.parameters, func(p query.Parameter) bool { return p.Name == "_since" })
	if at, ok := parseEventID(id); ok {
		return at, nil
	}
	return s, nil
}

// stream answers with the events of a topic until the client goes, does not keep
// up, or the server stops.
func (req *request) stream(t live.Topic, start resumePoint) error {
	if req.Request.Method == http.MethodHead {
		if !live.Exists(t, req.snap) {
			return req.missing(req.snap)
		}
		req.setStreamHeaders()
		req.Status(http.StatusOK)
		return nil
	}
	if req.db.Shared() && start.run == req.db.Run() {
		// The client may come from a server that is ahead of this one.
		err := req.reach(func(ctx context.Context) (*database.Snapshot, error) { return req.db.Reach(ctx, start.rev) })
		if err != nil && !req.isLost(start.rev) {
			return req.endStream()
		}
	}
	key := fmt.Sprintf("%q %q", []string{req.FullPath(), req.name, req.id, req.child}, req.parameters)
	if changes, ok := t.(live.ChangesTopic); ok {
		key = fmt.Sprint(changes) // they have the same topic, wherever they begin
	}
	var ended <-chan struct{}
	if req.session != nil {
		ended = req.session.ended
	}
	place := req.streams.Join(req.db, t, key, sentURL(req.Request).Path, ended)
	if place == nil {
		return problem.Unavailable("The server has as many streams as --max-streams allows. Try again.")
	}
	place.Request = start.request
	begun := false
	defer func() {
		if !begun {
			place.Leave()
		}
	}()
	first, err := req.beginning(place, t, key, start)
	if errors.Is(err, errNoMemory) {
		return req.endStream()
	}
	if err != nil {
		return err
	}
	req.setStreamHeaders()
	req.Status(http.StatusOK)
	s := &stream{server: req.server, place: place, id: requestIDOf(req.Context), first: first, reserved: req.reserved, session: req.session, revoked: req.revoked()}
	req.reserved, req.session = 0, nil // the stream gives them back
	s.metrics.streams.Inc()
	begun = true
	if w, lost := req.Writer.(*truncatingWriter); lost {
		s.run(w, req.Request) // simulate cuts the connection next
	} else {
		*req.Request.Context().Value(streamKey{}).(**stream) = s
	}
	return nil
}

// endStream answers with a stream that ends at once. A browser gives up for good when
// a stream is refused, but not when one ends.
func (req *request) endStream() error {
	req.setStreamHeaders()
	_, _ = fmt.Fprintf(req.Writer, "retry: %d\n\n", 1000+rand.IntN(4000)) // an error means that the client is gone
	return nil
}

// A stream is an answer of events that has begun.
type stream struct {
	*server
	place    *live.Subscription
	id       string          // of the request
	first    []byte          // what it begins with
	reserved int64           // bytes of the server's budget, for first
	session  *session        // which it uses, nil if none
	revoked  <-chan struct{} // see request.revoked
}

// streamKey is the key of a **stream in the context of a request: the stream that is
// to run once the request is done.
type streamKey struct{}

// run sends the events of a stream.
func (s *stream) run(w http.ResponseWriter, r *http.Request) {
	defer s.close()
	out := live.NewWriter(w, r)
	defer out.Close()
	err := out.Send([]byte("retry: 1000\n\n"), s.first)
	s.first = nil // a stream lasts for long
	s.release()
	if err == nil {
		httpx.Contain(s.Log, "stream ended", func() { err = s.place.Follow(r.Context(), s.revoked, out) })
	}
	// An answer that has begun cannot fail. A client that wants more connects again.
	switch err {
	case live.ErrNotReading, live.ErrTooMuch:
		s.metrics.dropped.Inc()
		fallthrough
	case live.ErrRevoked:
		s.Log.Info("stream closed", "id", s.id, "reason", err)
	}
}

// close gives back what the stream has.
func (s *stream) close() {
	s.release()
	s.place.Leave()
	if s.session != nil {
		s.sessions.leave(s.session)
	}
	s.metrics.streams.Dec()
}

// release gives back what is reserved for the beginning.
func (s *stream) release() {
	s.budget.used.Add(-s.reserved)
	s.reserved = 0
}

// beginning returns what a stream sends first: what has changed since the state
// that the client has or, if that is not known, the state. The subscription
// continues from there.
func (req *request) beginning(s *live.Subscription, t live.Topic, key string, start resumePoint) (first []byte, err error) {
	snap := req.db.Snapshot() // not older than what the subscription gets next
	switch _, ok, _ := req.db.Since(start.rev); {
	case start.now:
		first = s.Start(snap.Rev())
	case ok && start.run == req.db.Run() && start.rev <= snap.Rev() && req.db.Shown(start.rev):
		req.withBuildSlot(func() { first, err = s.Resume(start.rev) })
	case !live.Exists(t, snap):
		return nil, req.missing(snap)
	default:
		s.Start(snap.Rev())
		key = live.EventID(req.db.Run(), snap.Rev()) + "\xff" + key // not a tag, which begins with a quote
		first = req.responses.get(key)
		if first == nil {
			req.withBuildSlot(func() { first, err = s.Reset(snap) })
			req.responses.offer(key, first) // many clients begin with the same state
		}
	}
	if err == nil && !req.reserve(int64(len(first))) {
		err = errNoMemory
	}
	return first, err
}

func (req *request) setStreamHeaders() {
	h := req.Writer.Header()
	h["Vary"] = vary // first: it is there, and a map of eight grows even to replace one
	h.Set("Content-Type", httpx.StreamType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // of nginx, which would collect events
}
