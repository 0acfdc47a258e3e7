package live

import (
	"cmp"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"pickup/internal/database"
	"pickup/internal/storage"
	"pickup/server/internal/httpx"
	"pickup/server/internal/requestlog"
)

// Hubs are the open streams of a server. The fields that are exported are set before the
// first stream.
type Hubs struct {
	Max      int             // streams
	Stop     <-chan struct{} // ends all streams when it is closed
	Requests *requestlog.Log // nil if there is none
	Log      *slog.Logger    // of faults

	// Status returns what else may change without a revision. When it does, clients that
	// follow all changes get the event status, and read what they show of it again. Clients
	// that have asked for it get the event for other streams, too.
	Status func() string

	mu   sync.Mutex
	hubs map[*database.DB]*hub // guarded by mu; of the databases that have streams
	open int                   // guarded by mu; all streams
}

// A hub follows one database for all of its streams, in a goroutine of its own
// that the first of them starts and the last one ends. It encodes an event once
// for each group of streams that have asked for the same.
type hub struct {
	db      *database.DB
	streams int            // guarded by Hubs.mu
	paths   map[string]int // guarded by Hubs.mu; the number of streams by the path of their URL
	moved   chan struct{}  // has a value when a stream has joined others or left them
	left    chan struct{}  // closed when the last stream has left
	shared  *Hubs

	mu     sync.Mutex
	groups map[string]*group // guarded by mu; by what was asked for
	rev    storage.Rev       // guarded by mu; how far advance has come
	broken string            // guarded by mu; why the file cannot be read; "" if it can
	status string            // guarded by mu; what Hubs.Status has returned last
	number uint64            // guarded by mu; of the latest request that was handed out
	err    error             // guarded by mu; why there are no more events
}

// A group is the streams of one topic. All but the topic is guarded by hub.mu.
type group struct {
	topic   Topic
	streams int
	frames  []frame // what some of the streams have not taken yet
	first   int     // the number of frames[0]
	size    int     // bytes of frames
	wake    chan struct{}
	err     error // why the topic has no more events
}

const (
	maxBacklog = 1 << 20   // bytes that one group keeps for streams that lag, besides the latest frame
	maxTaken   = 256 << 10 // bytes that a stream takes at a time

	maxEncoded  = 64 << 20        // bytes that one call of advance encodes
	maxEncoding = 2 * time.Second // the time that it needs for them

	beatEvery   = 15 * time.Second       // how often a stream sends its place
	reportAfter = 250 * time.Millisecond // from a stream that opens or closes to the event status
)

// ErrLagging reports that a client reads too slowly.
var ErrLagging = errors.New("the client does not keep up")

// errEnded reports that the server or the session has ended.
var errEnded = errors.New("the stream has ended")

// ErrTooMuch reports that a change is too large to be encoded for all groups at
// once. The clients connect again, and then the budget of the server holds.
var ErrTooMuch = errors.New("the streams need too much memory or time")

// closed is a closed channel.
var closed = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

// A Subscription is the place of one stream in its group.
type Subscription struct {
	hubs   *Hubs
	hub    *hub
	group  *group
	key    string
	path   string      // of the URL
	next   int         // guarded by hub.mu; the number of the next frame
	rev    storage.Rev // the state that the client has: earlier frames are skipped
	number uint64      // the latest request that the client has: earlier ones are skipped
	broken string      // the state of the file when the subscription began
	taken  [][]byte    // what take returned last
}

// Join opens a stream of a topic. Streams with the same key, which have the same topic,
// share what is encoded; path is the path of their URLs. The stream ends when ended is
// closed. Join returns nil if there are as many streams as there may be.
func (s *Hubs) Join(db *database.DB, t Topic, key, path string, ended <-chan struct{}) *Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= s.Max {
		return nil
	}
	h := s.hubs[db]
	if h == nil {
		h = &hub{db: db, shared: s, paths: make(map[string]int), moved: make(chan struct{}, 1), left: make(chan struct{}),
			groups: make(map[string]*group), rev: db.Snapshot().Rev(), broken: brokenDetail(db), status: s.Status()}
		if s.hubs == nil {
			s.hubs = make(map[*database.DB]*hub)
		}
		s.hubs[db] = h
		go httpx.Contain(s.Log, "streams ended", func() { h.run(s.Stop, ended) })
	}
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
	return &Subscription{hubs: s, hub: h, group: g, key: key, path: path, next: g.first + len(g.frames), broken: h.broken}
}

// Begin lets the stream begin after a revision, and returns the line that says so.
func (s *Subscription) Begin(rev storage.Rev) []byte {
	s.rev = rev
	return placeLine(s.hub.db.Run(), rev)
}

// Resume lets the stream begin after the last of some revisions, or at rev if there is none,
// and returns their events.
func (s *Subscription) Resume(rev storage.Rev, revisions []*database.Revision) (events [][]byte, err error) {
	if n := len(revisions); n > 0 {
		rev = revisions[n-1].Rev
	}
	place := s.Begin(rev)
	frames, err := encode(s.hub.db.Run(), s.group.topic, revisions)
	if err != nil || len(frames) == 0 {
		return [][]byte{place}, err
	}
	return dataOf(frames), nil
}

// Reset returns the event with which a stream begins at the state of a snapshot.
func (s *Subscription) Reset(snap *database.Snapshot) ([]byte, error) {
	f, err := resetFrame(s.hub.db.Run(), s.group.topic, snap)
	return f.data, err
}

// Broken returns the event that the file cannot be read, nil if it can.
func (s *Subscription) Broken() []byte {
	if s.broken == "" {
		return nil
	}
	return fileEvent(s.broken)
}

// Requests lets the stream begin after the request with a number, with all that are known
// if it is 0, and returns the events of those that have come since.
func (s *Subscription) Requests(number uint64) (events [][]byte) {
	frames, last := requestFrames(s.hubs.Requests, number, number == 0)
	s.number = last
	return dataOf(frames)
}

func dataOf(frames []frame) (events [][]byte) {
	for _, f := range frames {
		events = append(events, f.data)
	}
	return events
}

const mostPaths = 20 // that Paths returns

// Paths returns how many streams of a database are open at each path, the paths with
// most streams first.
func (s *Hubs) Paths(db *database.DB) []PathCount {
	var all []PathCount
	s.mu.Lock()
	if h := s.hubs[db]; h != nil {
		for path, n := range h.paths {
			all = append(all, PathCount{httpx.Clip(path), n})
		}
	}
	s.mu.Unlock()
	slices.SortFunc(all, func(a, b PathCount) int { return cmp.Or(b.Count-a.Count, strings.Compare(a.Path, b.Path)) })
	return all[:min(len(all), mostPaths)]
}

// Leave closes the stream.
func (s *Subscription) Leave() {
	s.hubs.mu.Lock()
	defer s.hubs.mu.Unlock()
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
	s.hubs.open--
	if h.paths[s.path]--; h.paths[s.path] == 0 {
		delete(h.paths, s.path)
	}
	if h.streams--; h.streams == 0 {
		delete(s.hubs.hubs, h.db)
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
func (s *Subscription) take() (events [][]byte, more <-chan struct{}, err error) {
	h, g := s.hub, s.group
	h.mu.Lock()
	defer h.mu.Unlock()
	if g.err != nil {
		return nil, nil, g.err
	}
	if s.next < g.first {
		return nil, nil, ErrLagging
	}
	events, size := s.taken[:0], 0
	for i := s.next - g.first; i < len(g.frames) && size < maxTaken; i++ {
		f := &g.frames[i]
		f.waiting--
		s.next++
		if f.number > 0 && f.number <= s.number {
			continue
		}
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
		requests := h.addRequests()
		select {
		case <-more:
		case <-requests:
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
		h.publish(func(t Topic) ([]frame, error) {
			f, err := resetFrame(h.db.Run(), t, snap)
			return []frame{f}, err
		})
		h.rev = snap.Rev()
	case len(revisions) > 0:
		h.publish(func(t Topic) ([]frame, error) { return encode(h.db.Run(), t, revisions) })
		h.rev = revisions[len(revisions)-1].Rev
	}
	if broken := brokenDetail(h.db); broken != h.broken {
		h.broken = broken
		for _, g := range h.groups {
			g.add(frame{data: fileEvent(broken)})
		}
	}
	if now := h.shared.Status(); now != h.status {
		h.status = now
		h.addStatus(false)
	}
	return more
}

// addRequests hands out the requests since the last call to the groups that follow them. It
// returns a channel that is closed when there are more, nil if no group follows them.
func (h *hub) addRequests() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	var groups []*group
	for _, g := range h.groups {
		if t, ok := g.topic.(Changes); ok && t.Requests {
			groups = append(groups, g)
		}
	}
	if groups == nil {
		return nil
	}
	more := h.shared.Requests.More()
	frames, last := requestFrames(h.shared.Requests, h.number, false)
	h.number = last
	if len(frames) > 0 {
		for _, g := range groups {
			g.add(frames...)
		}
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
		if t, ok := g.topic.(Changes); ok && (t.Streams || !moved) {
			g.add(frame{data: Event{"status", []byte("{}")}.append(nil, "")})
		}
	}
}

// publish adds what encode returns for a topic to each group. A group for which
// it fails, or would need too much, ends. The caller has h.mu.
func (h *hub) publish(encode func(Topic) ([]frame, error)) {
	start, size := time.Now(), 0
	for key, g := range h.groups {
		frames, err := []frame(nil), ErrTooMuch
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

// A PathCount is how many streams are open at a path.
type PathCount struct {
	Path  string `json:"path"`
	Count int    `json:"count"`
}
