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

// The response to a GET with Accept: text/event-stream is a stream of server-sent events: the
// state, and then each durable change. A client that reconnects sends the id of the last event, and
// the stream continues from there.

// streamList streams the records that the query of the URL selects.
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

// orderParameters are the parameters that streams of records refuse.
var orderParameters = []string{
	"_sort", "_order", "_page", "_per_page", "_limit", "_start", "_end", "_embed", "_expand",
}

// readSince returns where a stream starts: after Last-Event-ID, which browsers send when they
// reconnect, or else after the parameter _since. It removes _since from the query. It returns an
// error for the refused parameters.
func (req *request) readSince(refused []string) (s resumePoint, err error) {
	id := req.Request.Header.Get("Last-Event-ID")
	for _, p := range req.parameters {
		switch {
		case slices.Contains(refused, strings.TrimSuffix(p.Name, "[]")):
			return s, problem.BadParameter(p.Name, "a stream has no order and no pages")
		case p.Name != "_since":
			continue
		case p.Value == "now":
			s.now = id == ""
		case id == "":
			if _, ok := parseEventID(p.Value); !ok {
				return s, problem.BadParameter(p.Name, "must be the id of an event, as in 7KQ2AB-42, or now")
			}
			id = p.Value
		}
	}
	// Streams that differ only in _since share a group.
	req.parameters = slices.DeleteFunc(req.parameters, func(p query.Parameter) bool { return p.Name == "_since" })
	if at, ok := parseEventID(id); ok {
		return at, nil
	}
	return s, nil
}

// stream sends the events of a topic until the client disconnects or is too slow, or the server
// stops.
func (req *request) stream(t live.Topic, start resumePoint) error {
	if req.path != nil {
		t = live.NestedTopic{Topic: t, Path: req.path}
	}
	if req.Request.Method == http.MethodHead {
		if !live.Exists(t, req.snap) {
			return req.missing(req.snap)
		}
		req.setStreamHeaders()
		return nil
	}
	if req.db.Shared() && start.run == req.db.Run() {
		// The client may have read a newer state from another server.
		err := req.reach(func(ctx context.Context) (*database.Snapshot, error) { return req.db.Reach(ctx, start.rev) })
		if err != nil && !req.isLost(start.rev) {
			return req.endStream()
		}
	}
	var ended <-chan struct{}
	if req.session != nil {
		ended = req.session.ended
	}
	subscription := req.streams.Join(req.db, t, req.groupOf(t), sentURL(req.Request).Path, ended)
	if subscription == nil {
		return problem.Unavailable("The server has as many streams as --max-streams allows. Try again.")
	}
	subscription.Request = start.request
	started := false
	defer func() {
		if !started {
			subscription.Leave()
		}
	}()
	first, err := req.firstEvents(subscription, t, start)
	if errors.Is(err, errNoMemory) {
		return req.endStream()
	}
	if err != nil {
		return err
	}
	req.setStreamHeaders()
	s := &stream{
		server:       req.server,
		subscription: subscription,
		id:           requestIDOf(req.Context),
		first:        first,
		reserved:     req.reserved,
		session:      req.session,
		revoked:      req.revoked(),
	}
	req.reserved, req.session = 0, nil // the stream releases them
	s.metrics.streams.Inc()
	started = true
	if w, truncates := req.Writer.(*truncatingWriter); truncates {
		s.run(w, req.Request) // simulate cuts the connection next
	} else {
		*req.Request.Context().Value(streamKey{}).(**stream) = s
	}
	return nil
}

// groupOf returns the key of the streams that share the events of a topic.
func (req *request) groupOf(t live.Topic) string {
	if changes, ok := t.(live.ChangesTopic); ok {
		return fmt.Sprint(changes) // the topic is the same for every _since
	}
	return fmt.Sprintf("%q %q", []string{req.FullPath(), req.name, req.id, req.child}, req.parameters)
}

// endStream sends a stream that ends at once. A browser reconnects after the end of a stream, but
// not after an error.
func (req *request) endStream() error {
	req.setStreamHeaders()
	_, _ = fmt.Fprintf(req.Writer, "retry: %d\n\n", 1000+rand.IntN(4000)) // an error means that the client has gone
	return nil
}

// A stream is a response of events after its header was sent.
type stream struct {
	*server
	subscription *live.Subscription
	id           string          // of the request
	first        []byte          // the first events
	reserved     int64           // bytes of the server's budget, for first
	session      *session        // nil: none
	revoked      <-chan struct{} // see request.revoked
}

// streamKey is the key of a **stream in the context of a request: the stream to run after the
// request.
type streamKey struct{}

// run sends the events of a stream.
func (s *stream) run(w http.ResponseWriter, r *http.Request) {
	defer s.close()
	out := live.NewWriter(w, r)
	defer out.Close()
	err := out.Send([]byte("retry: 1000\n\n"), s.first)
	s.first = nil // a stream may last for hours
	s.release()
	if err == nil {
		httpx.Contain(s.Log, "stream ended", func() { err = s.subscription.Follow(r.Context(), s.revoked, out) })
	}
	// It is too late for an error response. Clients reconnect.
	switch err {
	case live.ErrNotReading, live.ErrTooMuch:
		s.metrics.dropped.Inc()
		fallthrough
	case live.ErrRevoked:
		s.Log.Info("stream closed", "id", s.id, "reason", err)
	}
}

// close releases the resources of the stream.
func (s *stream) close() {
	s.release()
	s.subscription.Leave()
	if s.session != nil {
		s.sessions.leave(s.session)
	}
	s.metrics.streams.Dec()
}

// release releases the memory reserved for the first events.
func (s *stream) release() {
	s.budget.used.Add(-s.reserved)
	s.reserved = 0
}

// firstEvents returns the first events of a stream: the changes since the state of the client or, if
// that state is unknown, the current state. The subscription continues from there.
func (req *request) firstEvents(s *live.Subscription, t live.Topic, start resumePoint) (first []byte, err error) {
	snap := req.db.Snapshot() // after Join, so that no change is lost
	_, known, _ := req.db.Since(start.rev)
	switch {
	case start.now:
		first = s.Start(snap.Rev())
	case known && start.run == req.db.Run() && start.rev <= snap.Rev() && req.db.Shown(start.rev):
		req.withBuildSlot(func() { first, err = s.Resume(start.rev) })
	case !live.Exists(t, snap):
		return nil, req.missing(snap)
	default:
		req.withBuildSlot(func() { first, err = s.Resume(0) })
	}
	if err == nil && !req.reserve(int64(len(first))) {
		err = errNoMemory
	}
	return first, err
}

// setStreamHeaders sets the status and the headers of a stream.
func (req *request) setStreamHeaders() {
	req.Status(http.StatusOK)
	h := req.Writer.Header()
	h["Vary"] = vary // before the others: a map with eight entries grows even if an entry is replaced
	h.Set("Content-Type", httpx.StreamType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // so that nginx does not buffer events
}
