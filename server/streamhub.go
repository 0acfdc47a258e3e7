package server

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"pickup/internal/database"
	"pickup/internal/storage"
)

// streams are the open streams of a server. The zero value has none.
type streams struct {
	mu   sync.Mutex
	hubs map[*database.DB]*hub // guarded by mu; of the databases that have streams
	open int                   // guarded by mu; all streams
}

// A hub follows one database for all of its streams, in a goroutine of its own
// that the first of them starts and the last one ends. It encodes an event once
// for each group of streams that have asked for the same.
type hub struct {
	db      *database.DB
	streams int            // guarded by streams.mu
	paths   map[string]int // guarded by streams.mu; the number of streams by the path of their URL
	moved   chan struct{}  // has a value when a stream has joined others or left them
	left    chan struct{}  // closed when the last stream has left
	look    func() situation

	mu     sync.Mutex
	groups map[string]*group // guarded by mu; by what was asked for
	rev    storage.Rev       // guarded by mu; how far advance has come
	broken string            // guarded by mu; why the file cannot be read; "" if it can
	last   situation         // guarded by mu; what look has returned last
	err    error             // guarded by mu; why there are no more events
}

// A situation is what else may change without a revision. When it does, clients that
// follow all changes get the event status, and read GET /_/status, /_/simulate or
// /_/holds again. Those that have asked for it get the event for other streams, too.
type situation struct {
	rules      string // whether the schema can be used
	simulation uint64 // how often its rules, or the requests that are held, have changed
}

func (s *server) situation() situation {
	now := situation{simulation: s.simulation.changes.Load()}
	if s.Rules != nil {
		if file := s.Rules(); file != nil {
			now.rules = file.State + file.Detail
		}
	}
	return now
}

// A group is the streams of one topic. All but the topic is guarded by hub.mu.
type group struct {
	topic   topic
	streams int
	frames  []frame // what some of the streams have not taken yet
	first   int     // the number of frames[0]
	size    int     // bytes of frames
	wake    chan struct{}
	err     error // why the topic has no more events
}

// A frame is one or more events as they are sent.
type frame struct {
	rev     storage.Rev // of the state after it; 0 if it has no event of a revision
	place   bool        // it says only where the stream is
	data    []byte
	waiting int // streams that have not taken it
}

const (
	maxBacklog = 1 << 20   // bytes that one group keeps for streams that lag, besides the latest frame
	maxTaken   = 256 << 10 // bytes that a stream takes at a time

	maxEncoded  = 64 << 20        // bytes that one call of advance encodes
	maxEncoding = 2 * time.Second // the time that it needs for them

	reportAfter = 250 * time.Millisecond // from a stream that opens or closes to the event status
)

// errLagging reports that a client reads too slowly.
var errLagging = errors.New("the client does not keep up")

// errEnded reports that the server or the session has ended.
var errEnded = errors.New("the stream has ended")

// errTooMuch reports that a change is too large to be encoded for all groups at
// once. The clients connect again, and then the budget of the server holds.
var errTooMuch = errors.New("the streams need too much memory or time")

// closed is a closed channel.
var closed = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

// A subscription is the place of one stream in its group.
type subscription struct {
	streams *streams
	hub     *hub
	group   *group
	key     string
	path    string      // of the URL
	next    int         // guarded by hub.mu; the number of the next frame
	rev     storage.Rev // the state that the client has: earlier frames are skipped
	broken  string      // the state of the file when the subscription began
	taken   [][]byte    // what take returned last
}

// reserve counts a stream that has no hub. It reports false if there are as many
// streams as there may be.
func (s *streams) reserve(most int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= most {
		return false
	}
	s.open++
	return true
}

// release ends what reserve has begun.
func (s *streams) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
}

// join opens a stream for a request. It reports false if there are as many as
// there may be.
func (s *streams) join(req *request, key string, t topic) (*subscription, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= req.MaxStreams {
		return nil, false
	}
	db := req.db
	h := s.hubs[db]
	if h == nil {
		h = &hub{db: db, paths: make(map[string]int), moved: make(chan struct{}, 1), left: make(chan struct{}), look: req.situation,
			groups: make(map[string]*group), rev: db.Snapshot().Rev(), broken: brokenDetail(db), last: req.situation()}
		if s.hubs == nil {
			s.hubs = make(map[*database.DB]*hub)
		}
		s.hubs[db] = h
		stop, ended := req.Stop, (<-chan struct{})(nil)
		if req.session != nil {
			ended = req.session.ended
		}
		go contain(req.Log, "streams ended", func() { h.run(stop, ended) })
	}
	path := sentURL(req.Request).Path
	s.open++
	if h.streams++; h.streams > 1 {
		h.noteMove()
	}
	h.paths[path]++
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.groups[key]
	if g == nil {
		g = &group{topic: t, wake: make(chan struct{}), err: h.err}
		h.groups[key] = g
	}
	g.streams++
	return &subscription{streams: s, hub: h, group: g, key: key, path: path, next: g.first + len(g.frames), broken: h.broken}, true
}

const mostPaths = 20 // that paths returns

// paths returns how many streams of a database are open at each path, the paths with
// most streams first.
func (s *streams) paths(db *database.DB) []streamState {
	var all []streamState
	s.mu.Lock()
	if h := s.hubs[db]; h != nil {
		for path, n := range h.paths {
			all = append(all, streamState{clip(path), n})
		}
	}
	s.mu.Unlock()
	slices.SortFunc(all, func(a, b streamState) int { return cmp.Or(b.Count-a.Count, strings.Compare(a.Path, b.Path)) })
	return all[:min(len(all), mostPaths)]
}

// leave closes a stream.
func (s *subscription) leave() {
	s.streams.mu.Lock()
	defer s.streams.mu.Unlock()
	h, g := s.hub, s.group
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := max(s.next-g.first, 0); i < len(g.frames); i++ {
		g.frames[i].waiting--
	}
	g.trim()
	if g.streams--; g.streams == 0 && h.groups[s.key] == g {
		delete(h.groups, s.key)
	}
	s.streams.open--
	if h.paths[s.path]--; h.paths[s.path] == 0 {
		delete(h.paths, s.path)
	}
	if h.streams--; h.streams == 0 {
		delete(s.streams.hubs, h.db)
		close(h.left)
	} else {
		h.noteMove()
	}
}

// noteMove has the event status sent soon, because a stream has opened or closed.
func (h *hub) noteMove() {
	select {
	case h.moved <- struct{}{}:
	default:
	}
}

// take returns the events that the stream has not sent yet, and a channel that
// is closed when there are more. The events are valid until the next call.
func (s *subscription) take() (events [][]byte, more <-chan struct{}, err error) {
	h, g := s.hub, s.group
	h.mu.Lock()
	defer h.mu.Unlock()
	if g.err != nil {
		return nil, nil, g.err
	}
	if s.next < g.first {
		return nil, nil, errLagging
	}
	events, size := s.taken[:0], 0
	for i := s.next - g.first; i < len(g.frames) && size < maxTaken; i++ {
		f := &g.frames[i]
		f.waiting--
		s.next++
		if f.rev == 0 || f.rev > s.rev || f.place && f.rev == s.rev {
			events, size = append(events, f.data), size+len(f.data)
			s.rev = max(s.rev, f.rev)
		}
	}
	s.taken, more = events, g.wake
	if s.next < g.first+len(g.frames) {
		more = closed
	}
	g.trim()
	return events, more, nil
}

// trim forgets the frames that every stream has taken and, beyond maxBacklog,
// the oldest of the others. The caller has hub.mu.
func (g *group) trim() {
	n := 0
	for n < len(g.frames) && (g.frames[n].waiting == 0 || g.size > maxBacklog && n < len(g.frames)-1) {
		g.size -= len(g.frames[n].data)
		n++
	}
	g.frames, g.first = slices.Delete(g.frames, 0, n), g.first+n
}

// add appends frames and wakes the streams. The caller has hub.mu.
func (g *group) add(frames ...frame) {
	for _, f := range frames {
		f.waiting = g.streams
		g.frames = append(g.frames, f)
		g.size += len(f.data)
	}
	g.trim()
	close(g.wake)
	g.wake = make(chan struct{})
}

// run hands out events until the last stream has left, or the server or the session
// ends.
func (h *hub) run(stop, ended <-chan struct{}) {
	defer h.end()
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	var report <-chan time.Time // many streams that open or close are one event
	for {
		more := h.advance()
		select {
		case <-more:
		case <-h.moved:
			if report == nil {
				report = time.After(reportAfter)
			}
		case <-report:
			report = nil
			h.reportMoves()
		case <-beat.C:
			h.beat()
		case <-stop:
			return
		case <-ended:
			return
		case <-h.left:
			return
		}
	}
}

// beat hands out the place. It keeps the connections of quiet streams.
func (h *hub) beat() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.groups {
		g.add(frame{rev: h.rev, place: true, data: placeLine(h.db.Run(), h.rev)})
	}
}

// end ends all streams.
func (h *hub) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = errEnded
	for _, g := range h.groups {
		g.err = h.err
		g.add()
	}
}

// advance hands out the events of new revisions. It returns a channel that is
// closed when there are more revisions.
func (h *hub) advance() (more <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	revisions, ok, more := h.db.Since(h.rev)
	switch {
	case !ok:
		snap := h.db.Snapshot()
		h.publish(func(t topic) ([]frame, error) {
			f, err := resetFrame(h.db.Run(), t, snap)
			return []frame{f}, err
		})
		h.rev = snap.Rev()
	case len(revisions) > 0:
		h.publish(func(t topic) ([]frame, error) { return encode(h.db.Run(), t, revisions) })
		h.rev = revisions[len(revisions)-1].Rev
	}
	if broken := brokenDetail(h.db); broken != h.broken {
		h.broken = broken
		for _, g := range h.groups {
			g.add(frame{data: fileEvent(broken)})
		}
	}
	if now := h.look(); now != h.last {
		h.last = now
		h.addStatus(false)
	}
	return more
}

// reportMoves hands out the event status, because streams have opened or closed.
func (h *hub) reportMoves() {
	h.mu.Lock()
	defer h.mu.Unlock() // a panic ends the streams, which needs the lock
	h.addStatus(true)
}

// addStatus adds the event status to the groups that follow all changes; with moved,
// which is for streams that have opened or closed, only to those that have asked for it.
// The caller has h.mu.
func (h *hub) addStatus(moved bool) {
	for _, g := range h.groups {
		if t, ok := g.topic.(changesTopic); ok && (t.streams || !moved) {
			g.add(frame{data: event{"status", []byte("{}")}.append(nil, "")})
		}
	}
}

// publish adds what encode returns for a topic to each group. A group for which
// it fails, or would need too much, ends. The caller has h.mu.
func (h *hub) publish(encode func(topic) ([]frame, error)) {
	start, size := time.Now(), 0
	for key, g := range h.groups {
		frames, err := []frame(nil), errTooMuch
		if size < maxEncoded && time.Since(start) < maxEncoding {
			frames, err = encode(g.topic)
		}
		if err != nil {
			g.err = err
			delete(h.groups, key) // the next stream makes another one
			g.add()
		} else if len(frames) > 0 {
			g.add(frames...)
		}
		for _, f := range frames {
			size += len(f.data)
		}
	}
}
