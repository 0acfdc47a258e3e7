package live

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
	"weak"

	"pickup/internal/database"
	"pickup/internal/storage"
	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/internal/requestlog"
)

// Hubs has the open streams of a server. Set the exported fields before the first stream.
type Hubs struct {
	Max      int             // maximum number of streams
	Stop     <-chan struct{} // closed to end all streams
	Requests *requestlog.Log // nil: none

	// Status returns a digest of everything else that clients show and that changes without a
	// revision. When the digest changes, the streams of a ChangesTopic get the event status.
	Status func() string

	mu   sync.Mutex
	hubs map[*database.DB]*hub // guarded by mu; of databases with streams
	open int                   // guarded by mu; number of all streams
}

// A hub has the state shared by the streams of a database.
type hub struct {
	db    *database.DB
	paths map[string]int // guarded by Hubs.mu; number of streams for each path
	moved chan struct{}  // guarded by Hubs.mu; closed when a stream opens or closes

	mu     sync.Mutex
	groups map[string]*group // guarded by mu; the key is from Join
	large  int               // guarded by mu; bytes of all large batches
	rev    storage.Rev       // guarded by mu; the latest state
	broken string            // guarded by mu; why the file is unreadable; "" if the file is readable
	status string            // guarded by mu; the result of Hubs.Status
	more   <-chan struct{}   // guarded by mu; closed when rev, broken or status may have changed
}

// A group has the streams with the same key. Most streams of a group need the same events at the
// same time, so the group encodes the events once.
type group struct {
	streams int    // guarded by hub.mu
	latest  *batch // guarded by hub.mu; nil if there is none

	starting sync.Mutex
	since    storage.Rev         // guarded by starting; argument of the last Resume
	first    weak.Pointer[batch] // guarded by starting; result of the last Resume
}

const (
	largeBatch  = 16 << 10    // bytes; a group retains a smaller batch until the next batch
	retainLarge = time.Second // how long a group retains a larger batch
	maxLarge    = 64 << 20    // bytes of all larger batches

	beatEvery   = 15 * time.Second       // how often a stream sends the id of the state
	reportAfter = 250 * time.Millisecond // delay of the event status after a stream opens or closes
)

// ErrTooMuch reports that the events of a stream need too much memory. The client connects again,
// and then the budget of the server limits the memory.
var ErrTooMuch = errors.New("the streams need too much memory")

// ErrRevoked reports that the account of the client was revoked.
var ErrRevoked = errors.New("the user is gone or has another password")

// A Subscription is a stream.
type Subscription struct {
	hubs   *Hubs
	hub    *hub
	group  *group
	topic  Topic
	key    string
	path   string // of the URL
	ended  <-chan struct{}
	rev    storage.Rev // state of the client
	broken string      // hub.broken of the client
	status string      // hub.status of the client
	first  *batch      // what the stream starts with, until it is sent
	batch  *batch      // the large batch in transmission; nil: none

	// Request is the number of the latest request that the client has at the start; 0: none, and
	// the client gets all requests.
	Request uint64
}

// Join opens a stream of a topic. Streams with the same key must have the same topic, and share
// encoded events. path is the path of the URL. The stream ends when ended is closed. Join returns
// nil if there are too many streams.
func (s *Hubs) Join(db *database.DB, t Topic, key, path string, ended <-chan struct{}) *Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= s.Max {
		return nil
	}
	h := s.hubs[db]
	if h == nil {
		h = &hub{db: db, paths: make(map[string]int), moved: make(chan struct{}), groups: make(map[string]*group)}
		if s.hubs == nil {
			s.hubs = make(map[*database.DB]*hub)
		}
		s.hubs[db] = h
	}
	s.countLocked(h, path, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.groups[key]
	if g == nil {
		g = new(group)
		h.groups[key] = g
	}
	g.streams++
	h.refreshLocked(s.Status)
	return &Subscription{hubs: s, hub: h, group: g, topic: t, key: key, path: path, ended: ended, status: h.status}
}

// countLocked adds n streams at a path, -1 for a stream that closes. The caller has s.mu.
func (s *Hubs) countLocked(h *hub, path string, n int) {
	s.open += n
	h.paths[path] += n
	if h.paths[path] == 0 {
		delete(h.paths, path)
	}
	close(h.moved)
	h.moved = make(chan struct{})
}

// Leave closes the stream.
func (s *Subscription) Leave() {
	h := s.hub
	s.hubs.mu.Lock()
	defer s.hubs.mu.Unlock()
	s.hubs.countLocked(h, s.path, -1)
	if len(h.paths) == 0 {
		delete(s.hubs.hubs, h.db)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.releaseLocked(s.batch)
	s.group.streams--
	if s.group.streams == 0 {
		h.retainLocked(s.group, nil)
		delete(h.groups, s.key)
	}
}

// Start makes the stream start after a revision, and returns the first line.
func (s *Subscription) Start(rev storage.Rev) []byte {
	s.rev = rev
	return idLine(s.hub.db.Run(), rev)
}

// Resume makes the stream start after a revision, and returns the events since then. After 0 the
// stream starts with the whole state. Streams of a group that start at the same time share the
// events, which may be large.
func (s *Subscription) Resume(rev storage.Rev) ([]byte, error) {
	g, db := s.group, s.hub.db
	g.starting.Lock()
	defer g.starting.Unlock()
	b := g.first.Value()
	if b == nil || rev != g.since || b.rev < db.Snapshot().Rev() {
		var err error
		b, err = encode(db, s.topic, rev)
		if err != nil {
			return nil, err
		}
		g.since = rev
		g.first = weak.Make(b)
	}
	line := s.Start(b.rev)
	if b.data == nil {
		return line, nil
	}
	s.first = b
	return b.data, nil
}

// Follow sends the events of the stream. It returns when the client disconnects or the server or
// the session ends, and with an error if the account is revoked or a write fails.
func (s *Subscription) Follow(ctx context.Context, revoked <-chan struct{}, w *Writer) error {
	beat := time.NewTicker(beatEvery) // keeps the connections of quiet streams open
	defer beat.Stop()
	changes, _ := s.topic.(ChangesTopic)
	moved := s.moved(changes)
	number := cmp.Or(s.Request, math.MaxUint64) // the log knows no such number, and returns all requests
	var report <-chan time.Time                 // delays the event status, so that many streams cause one event
	var events [][]byte
	for {
		var requests <-chan struct{}
		if changes.Requests {
			requests = s.hubs.Requests.More()
		}
		var more <-chan struct{}
		var err error
		events, more, err = s.next(events[:0])
		if err != nil {
			return err
		}
		if changes.Requests {
			var latest []byte
			latest, number = encodeRequests(s.hubs.Requests, number)
			if latest != nil {
				events = append(events, latest)
			}
		}
		err = w.Send(events...)
		clear(events) // releases large events
		s.sent()
		if err != nil {
			return err
		}
		select {
		case <-more:
		case <-requests:
		case <-moved:
			moved = nil
			report = time.After(reportAfter)
		case <-report:
			moved = s.moved(changes)
			report = nil
			err = w.Send(statusEvent)
		case <-beat.C:
			err = w.Send(idLine(s.hub.db.Run(), s.rev))
		case <-revoked:
			return ErrRevoked
		case <-ctx.Done():
			return nil
		case <-s.ended:
			return nil
		case <-s.hubs.Stop:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// moved returns a channel that is closed when another stream opens or closes, nil if the topic
// excludes streams.
func (s *Subscription) moved(t ChangesTopic) <-chan struct{} {
	if !t.Streams {
		return nil
	}
	s.hubs.mu.Lock()
	defer s.hubs.mu.Unlock()
	return s.hub.moved
}

// next appends the next events, and returns a channel that is closed when there may be more. The
// caller must call sent afterwards.
func (s *Subscription) next(events [][]byte) (_ [][]byte, more <-chan struct{}, err error) {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refreshLocked(s.hubs.Status)
	if s.rev < h.rev {
		b, err := h.batchLocked(s)
		if err != nil {
			return nil, nil, err
		}
		s.rev = b.rev
		if b.data != nil {
			events = append(events, b.data)
		}
	}
	if s.broken != h.broken {
		s.broken = h.broken
		events = append(events, fileEvent(s.broken))
	}
	if s.status != h.status {
		s.status = h.status
		if _, ok := s.topic.(ChangesTopic); ok {
			events = append(events, statusEvent)
		}
	}
	return events, h.more, nil
}

// sent releases the events returned by next.
func (s *Subscription) sent() {
	s.first = nil
	if s.batch != nil {
		s.hub.mu.Lock()
		s.hub.releaseLocked(s.batch)
		s.hub.mu.Unlock()
		s.batch = nil
	}
}

// refreshLocked updates the state that streams compare with the state of the client. The caller
// has h.mu.
func (h *hub) refreshLocked(status func() string) {
	if h.more != nil { // not the first call
		select {
		case <-h.more:
		default:
			return
		}
	}
	revisions, ok, more := h.db.Since(h.rev)
	h.more = more
	if !ok {
		h.rev = h.db.Snapshot().Rev()
	} else if n := len(revisions); n > 0 {
		h.rev = revisions[n-1].Rev
	}
	h.status = status()
	h.broken = ""
	if err := h.db.Err(); err != nil {
		p, _ := problem.Of(err, problem.Keeper(h.db)) // the store has logged the cause
		h.broken = p.Detail
	}
}

// batchLocked returns the events from the state of a stream to the latest state. The caller has
// h.mu.
func (h *hub) batchLocked(s *Subscription) (*batch, error) {
	b := s.group.latest
	if b == nil || s.rev < b.from || b.until < s.rev || b.rev < h.rev {
		var err error
		b, err = encode(h.db, s.topic, s.rev)
		if err != nil {
			return nil, err
		}
		if n := len(b.data); n > largeBatch && h.large > 0 && h.large+n > maxLarge {
			return nil, ErrTooMuch
		}
		h.retainLocked(s.group, b)
	}
	if b.users > 0 {
		b.users++
		s.batch = b
	}
	return b, nil
}

// retainLocked retains a batch, nil for none, for other streams of the group. The caller has h.mu.
func (h *hub) retainLocked(g *group, b *batch) {
	h.releaseLocked(g.latest)
	g.latest = b
	if b == nil || len(b.data) <= largeBatch { // a small batch needs no timer
		return
	}
	b.users = 1
	h.large += len(b.data)
	time.AfterFunc(retainLarge, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if g.latest == b {
			h.retainLocked(g, nil)
		}
	})
}

// releaseLocked ends a use of a large batch. The caller has h.mu.
func (h *hub) releaseLocked(b *batch) {
	if b == nil || b.users == 0 {
		return
	}
	b.users--
	if b.users == 0 {
		h.large -= len(b.data)
	}
}

// A PathCount is the number of streams at a path.
type PathCount struct {
	Path  string `json:"path"`
	Count int    `json:"count"`
}

const maxPaths = 20 // result of Paths

// Paths returns the paths with the most streams of a database.
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
	return all[:min(len(all), maxPaths)]
}
