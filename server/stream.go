package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"pickup/internal/database"
	"pickup/internal/query"
	"pickup/internal/storage"
)

// A GET with Accept: text/event-stream is answered with a stream of server-sent
// events: the state, and then each change of it once it is durable. A client
// that has lost the connection continues after the last id that it has seen.

const (
	streamType        = "text/event-stream"
	beatEvery         = 15 * time.Second // how often a stream sends its place
	defaultMaxStreams = 1024
	defaultWriteTime  = time.Minute // for a write, if the server has no timeout
)

// wantsStream reports whether the request asks for a stream.
func wantsStream(r *http.Request) bool {
	return isRead(r) && prefers(r, streamType)
}

// streamList streams the records that the query of the URL wants; under narrows
// it further.
func (req *request) streamList(collection string) error {
	since, err := req.readSince(orderParameters)
	if err != nil {
		return err
	}
	q, _, err := req.listQuery(collection)
	if err != nil {
		return err
	}
	return req.stream(listTopic{q}, since)
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
	return req.stream(recordTopic{q, req.id}, since)
}

// streamDatabase streams all top-level members.
func (req *request) streamDatabase() error {
	since, err := req.readSince(nil)
	if err != nil {
		return err
	}
	return req.stream(databaseTopic{}, since)
}

// orderParameters are the parameters that a stream of records does not have.
var orderParameters = []string{"_sort", "_order", "_page", "_per_page", "_limit", "_start", "_end", "_embed", "_expand"}

// A since is where a client wants a stream to begin.
type since struct {
	now bool        // with the next change
	run string      // after the state at rev of this run; "": with a reset
	rev storage.Rev // of run
}

// readSince returns where a stream begins, by Last-Event-ID, which browsers send
// when they connect again, or else by the parameter _since. It takes _since out
// of the query, and refuses the parameters called refused.
func (req *request) readSince(refused []string) (s since, err error) {
	id := req.Request.Header.Get("Last-Event-ID")
	for _, p := range req.parameters {
		switch {
		case slices.Contains(refused, strings.TrimSuffix(p.Name, "[]")):
			return since{}, badParameter(p.Name, "a stream has no order and no pages")
		case p.Name != "_since":
			continue
		case p.Value == "now":
			s.now = id == ""
		case id == "":
			if _, ok := parseEventID(p.Value); !ok {
				return since{}, badParameter(p.Name, "it is the id of an event, as in 7KQ2AB-42, or now")
			}
			id = p.Value
		}
	}
	req.leaveOut("_since")
	if at, ok := parseEventID(id); ok {
		return at, nil
	}
	return s, nil
}

func parseEventID(id string) (since, bool) {
	i := strings.LastIndexByte(id, '-')
	if i <= 0 {
		return since{}, false
	}
	rev, err := strconv.ParseUint(id[i+1:], 10, 64)
	return since{run: id[:i], rev: storage.Rev(rev)}, err == nil
}

// leaveOut takes a parameter out of the query, so that streams which differ only in it
// share a group.
func (req *request) leaveOut(parameter string) {
	req.parameters = slices.DeleteFunc(req.parameters, func(p query.Parameter) bool { return p.Name == parameter })
	parts := strings.Split(req.Request.URL.RawQuery, "&")
	req.Request.URL.RawQuery = strings.Join(slices.DeleteFunc(parts, func(part string) bool {
		name, _, _ := strings.Cut(part, "=")
		name, err := url.QueryUnescape(name)
		return err == nil && name == parameter
	}), "&")
}

// stream answers with the events of a topic until the client goes, does not keep
// up, or the server stops.
func (req *request) stream(t topic, begin since) error {
	if req.Request.Method == http.MethodHead {
		if !isThere(t, req.snap) {
			return req.missing(req.snap)
		}
		req.setStreamHeaders()
		req.Status(http.StatusOK)
		return nil
	}
	if req.db.Shared() && begin.run == req.db.Run() {
		// The client may come from a server that is ahead of this one.
		err := req.reach(func(ctx context.Context) (*database.Snapshot, error) { return req.db.Reach(ctx, begin.rev) })
		if err != nil && !req.isLost(begin.rev) {
			return req.endStream()
		}
	}
	key := strings.Join([]string{req.FullPath(), req.name, req.id, req.child, req.Request.URL.RawQuery}, "\xff")
	place, ok := req.streams.join(req, key, t)
	if !ok {
		return tooManyStreams()
	}
	begun := false
	defer func() {
		if !begun {
			place.leave()
		}
	}()
	first, err := req.beginning(place, begin)
	if errors.Is(err, errNoMemory) {
		return req.endStream()
	}
	if err != nil {
		return err
	}
	req.setStreamHeaders()
	req.Status(http.StatusOK)
	s := &stream{server: req.server, place: place, id: requestIDOf(req.Context), first: first, reserved: req.reserved, session: req.session, revoked: req.revoked(), log: req.log}
	req.reserved, req.session = 0, nil // the stream gives them back
	if s.Metrics != nil {
		s.Metrics.streams.Inc()
	}
	begun = true
	if w, lost := req.Writer.(*lostWriter); lost {
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
	place    *subscription
	id       string          // of the request
	first    [][]byte        // what it begins with
	reserved int64           // bytes of the server's budget, for first
	session  *session        // which it uses, nil if none
	revoked  <-chan struct{} // see request.revoked
	log      *requestFeed    // nil: it reports no requests
}

// streamKey is the key of a **stream in the context of a request: the stream that is
// to run once the request is done.
type streamKey struct{}

// run sends the events of a stream.
func (s *stream) run(w http.ResponseWriter, r *http.Request) {
	defer s.close()
	out := newEventWriter(w, r)
	defer out.close()
	err := out.send(s.first...)
	s.first = nil // a stream lasts for long
	s.release()
	if err == nil {
		err = s.place.follow(r.Context(), s.revoked, s.log, out)
	}
	// An answer that has begun cannot fail. A client that wants more connects again.
	switch err {
	case errLagging, errNotReading, errTooMuch:
		if s.Metrics != nil {
			s.Metrics.dropped.Inc()
		}
		fallthrough
	case errRevoked:
		s.Log.Info("stream closed", "id", s.id, "reason", err)
	}
}

// close gives back what the stream has.
func (s *stream) close() {
	s.release()
	s.place.leave()
	if s.session != nil {
		s.leave(s.session)
	}
	if s.Metrics != nil {
		s.Metrics.streams.Dec()
	}
}

// release gives back what is reserved for the beginning.
func (s *stream) release() {
	s.budget.used.Add(-s.reserved)
	s.reserved = 0
}

func tooManyStreams() error {
	return retry(http.StatusServiceUnavailable, "There are as many streams as the server allows (--max-streams). Try again.")
}

func (req *request) setStreamHeaders() {
	h := req.Writer.Header()
	h["Vary"] = vary // first: it is there, and a map of eight grows even to replace one
	h.Set("Content-Type", streamType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // of nginx, which would collect events
}

// beginning returns what a stream sends first: what has changed since the state
// that the client has or, if that is not known, the state. The subscription
// continues from there.
func (req *request) beginning(s *subscription, begin since) (parts [][]byte, err error) {
	run := req.db.Run()
	parts = [][]byte{[]byte("retry: 1000\n\n")}
	snap := req.db.Snapshot() // not older than what the subscription gets next
	switch revisions, ok, _ := req.db.Since(begin.rev); {
	case begin.now:
		s.rev = snap.Rev()
		parts = append(parts, placeLine(run, s.rev))
	case ok && begin.run == run && begin.rev <= snap.Rev() && req.db.Shown(begin.rev):
		s.rev = begin.rev
		if n := len(revisions); n > 0 {
			s.rev = revisions[n-1].Rev
		}
		var frames []frame
		req.withBuildSlot(func() { frames, err = encode(run, s.group.topic, revisions) })
		for _, f := range frames {
			parts = append(parts, f.data)
		}
		if len(frames) == 0 {
			parts = append(parts, placeLine(run, s.rev))
		}
	default:
		if !isThere(s.group.topic, snap) {
			return nil, req.missing(snap)
		}
		s.rev = snap.Rev()
		key := eventID(run, s.rev) + "\xff" + s.key // not a tag, which begins with a quote
		reset := req.responses.get(key)
		if reset == nil {
			req.withBuildSlot(func() {
				var f frame
				f, err = resetFrame(run, s.group.topic, snap)
				reset = f.data
			})
			if err == nil {
				req.responses.offer(key, reset) // many clients begin with the same state
			}
		}
		parts = append(parts, reset)
	}
	if err != nil {
		return nil, err
	}
	if s.broken != "" {
		parts = append(parts, fileEvent(s.broken))
	}
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if !req.reserve(int64(size)) {
		return nil, errNoMemory
	}
	return parts, nil
}

// isThere reports whether a GET finds what a topic is about.
func isThere(t topic, snap *database.Snapshot) bool {
	r, ok := t.(recordTopic)
	return !ok || r.value(snap) != nil
}

// placeLine returns the line by which a client knows its place without an event.
func placeLine(run string, rev storage.Rev) []byte {
	return []byte("id: " + eventID(run, rev) + "\n\n")
}

// errRevoked reports that the users have changed.
var errRevoked = errors.New("the user is gone or has another password")

// follow sends the events of a subscription, and those of log unless it is nil, until
// the client goes, its credentials are revoked, or an error ends the stream.
func (s *subscription) follow(ctx context.Context, revoked <-chan struct{}, log *requestFeed, w *eventWriter) error {
	for {
		events, more, err := s.take()
		if err != nil {
			return err
		}
		if err := w.send(events...); err != nil {
			return err
		}
		clear(events) // they may be large
		var logged <-chan struct{}
		if log != nil {
			events, logged = log.take()
			if err := w.send(events...); err != nil {
				return err
			}
		}
		select {
		case <-more:
		case <-logged:
		case <-ctx.Done():
			return nil
		case <-revoked:
			return errRevoked
		}
	}
}

// An eventWriter sends to the client of a stream.
type eventWriter struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	timeout  time.Duration // for one call of send
	lasting  bool          // the deadline may pass between calls of send
	deadline time.Time     // of writes; zero if none
}

// errNotReading reports that a client did not take what was sent to it in time.
var errNotReading = errors.New("the client does not read")

func newEventWriter(w http.ResponseWriter, r *http.Request) *eventWriter {
	e := &eventWriter{w: w, control: http.NewResponseController(w), timeout: writeTimeout(r), lasting: r.ProtoMajor == 1}
	_ = e.control.SetReadDeadline(time.Time{}) // net/http would take its end for that of the client
	return e
}

// control returns the controller of the connection. Gin's own Flush loses the error.
func (req *request) control() *http.ResponseController {
	return http.NewResponseController(unwrapped(req.Writer))
}

// writeTimeout returns the time for one write to the client.
func writeTimeout(r *http.Request) time.Duration {
	if s, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && s.WriteTimeout > 0 {
		return s.WriteTimeout
	}
	return defaultWriteTime
}

// send sends events together. On HTTP/2 the deadline is for this call only, because
// it would end a stream that has nothing to send. On HTTP/1 it is moved only once
// an eighth of the time has passed: a deadline takes as long as half of a small write.
func (w *eventWriter) send(events ...[]byte) error {
	if len(events) == 0 {
		return nil
	}
	if now := time.Now(); w.deadline.Sub(now) < w.timeout-w.timeout/8 {
		w.deadline = now.Add(w.timeout)
		_ = w.control.SetWriteDeadline(w.deadline) // tests have writers without
	}
	var err error
	for _, e := range events {
		if _, err = w.w.Write(e); err != nil {
			break
		}
	}
	if err == nil {
		err = w.control.Flush()
	}
	if err != nil && !time.Now().Before(w.deadline) {
		return errNotReading
	}
	if !w.lasting {
		w.deadline = time.Time{}
		_ = w.control.SetWriteDeadline(w.deadline)
	}
	return err
}

// close gives net/http the time of one write to end the answer.
func (w *eventWriter) close() { _ = w.control.SetWriteDeadline(time.Now().Add(w.timeout)) }
