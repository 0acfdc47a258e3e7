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

	"pickup/internal/database"
	"pickup/internal/storage"
	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/internal/requestlog"
)

// Hubs are the open streams of a server. The exported fields are set before the first stream.
type Hubs struct {
	Max      int             // streams
	Stop     <-chan struct{} // ends all streams when it is closed
	Requests *requestlog.Log // nil if there is none

	// Status returns what else may change without a revision. When it does, clients that
	// follow all changes get the event status, and read what they show of it again. Clients
	// that have asked for it get the event for other streams, too.
	Status func() string

	mu   sync.Mutex
	hubs map[*database.DB]*hub // guarded by mu; of the databases that have streams
	open int                   // guarded by mu; all streams
}

// A hub is what the streams of one database share.
type hub struct {
	db    *database.DB
	paths map[string]int // guarded by Hubs.mu; the number of streams by the path of their URL
	moved chan struct{}  // guarded by Hubs.mu; closed when a stream opens or closes

	mu     sync.Mutex
	groups map[string]*group // guarded by mu; by what was asked for
	large  int               // guarded by mu; bytes of large batches in memory
	rev    storage.Rev       // guarded by mu; of the latest state
	broken string            // guarded by mu; why the file cannot be read; "" if it can
	status string            // guarded by mu; what Hubs.Status returns
	more   <-chan struct{}   // guarded by mu; closed when rev, broken or status may have changed
}

// A group is the streams that have asked for the same. Most need the same events at the
// same time, so these are encoded once.
type group struct {
	streams int    // guarded by hub.mu
	latest  *batch // guarded by hub.mu; nil if there is none
}

const (
	largeBatch = 16 << 10    // bytes; a smaller batch is kept until the next one
	keepLarge  = time.Second // how long a larger one is kept for other streams
	maxLarge   = 64 << 20    // bytes of all large ones in memory

	beatEvery   = 15 * time.Second       // how often a stream sends its place
	reportAfter = 250 * time.Millisecond // from a stream that opens or closes to the event status
)

// ErrTooMuch reports that there is no memory for the events of a stream. The client connects
// again, and then the budget of the server holds.
var ErrTooMuch = errors.New("the streams need too much memory")

// ErrRevoked reports that the users have changed.
var ErrRevoked = errors.New("the user is gone or has another password")

// A Subscription is one stream.
type Subscription struct {
	hubs   *Hubs
	hub    *hub
	group  *group
	topic  Topic
	key    string
	path   string // of the URL
	ended  <-chan struct{}
	rev    storage.Rev // the state that the client has
	broken string      // the hub.broken that the client has
	status string      // the hub.status that the client has
	batch  *batch      // the large one that is being sent; nil if there is none

	// Request is the number of the latest request that the client has when the stream
	// begins; 0: none, so it gets all that are known.
	Request uint64
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
		h = &hub{db: db, paths: make(map[string]int), moved: make(chan struct{}), groups: make(map[string]*group)}
		if s.hubs == nil {
			s.hubs = make(map[*database.DB]*hub)
		}
		s.hubs[db] = h
	}
	s.moveLocked(h, path, 1)
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

// moveLocked counts a stream that opens or closes. The caller has s.mu.
func (s *Hubs) moveLocked(h *hub, path string, n int) {
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
	s.hubs.moveLocked(h, s.path, -1)
	if len(h.paths) == 0 {
		delete(s.hubs.hubs, h.db)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.releaseLocked(s.batch)
	s.group.streams--
	if s.group.streams == 0 {
		h.keepLocked(s.group, nil)
		delete(h.groups, s.key)
	}
}

// Begin lets the stream begin after a revision, and returns the line that says so.
func (s *Subscription) Begin(rev storage.Rev) []byte {
	s.rev = rev
	return placeLine(s.hub.db.Run(), rev)
}

// Resume lets the stream begin after a revision, and returns the events since then.
func (s *Subscription) Resume(rev storage.Rev) ([]byte, error) {
	b, err := encode(s.hub.db, s.topic, rev)
	if err != nil {
		return nil, err
	}
	if place := s.Begin(b.rev); b.data == nil {
		return place, nil
	}
	return b.data, nil
}

// Reset returns the event with which a stream begins at the state of a snapshot.
func (s *Subscription) Reset(snap *database.Snapshot) ([]byte, error) {
	return encodeReset(s.hub.db, s.topic, snap)
}

// Follow sends the events of the stream until the client goes, its credentials are revoked,
// the server or the session ends, or an error ends the stream.
func (s *Subscription) Follow(ctx context.Context, revoked <-chan struct{}, w *Writer) error {
	beat := time.NewTicker(beatEvery) // keeps the connections of quiet streams
	defer beat.Stop()
	changes, _ := s.topic.(ChangesTopic)
	moved, number := s.moved(changes), cmp.Or(s.Request, math.MaxUint64)
	var report <-chan time.Time // many streams that open or close are one event
	var events [][]byte
	for {
		var requests <-chan struct{}
		if changes.Requests {
			requests = s.hubs.Requests.More()
		}
		var more <-chan struct{}
		var err error
		if events, more, err = s.next(events[:0]); err != nil {
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
		clear(events) // they may be large
		s.sent()
		if err != nil {
			return err
		}
		select {
		case <-more:
		case <-requests:
		case <-moved:
			moved, report = nil, time.After(reportAfter)
		case <-report:
			moved, report = s.moved(changes), nil
			err = w.Send(statusEvent)
		case <-beat.C:
			err = w.Send(placeLine(s.hub.db.Run(), s.rev))
		case <-ctx.Done():
			return nil
		case <-revoked:
			return ErrRevoked
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

// moved returns a channel that is closed when another stream opens or closes, nil if the
// client has not asked for that.
func (s *Subscription) moved(t ChangesTopic) <-chan struct{} {
	if !t.Streams {
		return nil
	}
	s.hubs.mu.Lock()
	defer s.hubs.mu.Unlock()
	return s.hub.moved
}

// next appends the events that the stream has not sent yet, and returns a channel that is
// closed when there may be more. The caller calls sent afterwards.
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

// sent reports that what next has returned was sent.
func (s *Subscription) sent() {
	if s.batch != nil {
		s.hub.mu.Lock()
		s.hub.releaseLocked(s.batch)
		s.hub.mu.Unlock()
		s.batch = nil
	}
}

// refreshLocked sets what streams compare with what they have sent. The caller has h.mu.
func (h *hub) refreshLocked(status func() string) {
	select {
	case <-h.more:
	default:
		if h.more != nil {
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
	h.broken, h.status = "", status()
	if err := h.db.Err(); err != nil {
		p, _ := problem.Of(err, problem.Keeper(h.db)) // who keeps it has logged the cause
		h.broken = p.Detail
	}
}

// batchLocked returns the events that lead a stream to the latest state. The caller has h.mu.
func (h *hub) batchLocked(s *Subscription) (*batch, error) {
	b := s.group.latest
	if b == nil || s.rev < b.from || b.until < s.rev || b.rev < h.rev {
		var err error
		if b, err = encode(h.db, s.topic, s.rev); err != nil {
			return nil, err
		}
		if n := len(b.data); n > largeBatch && h.large > 0 && h.large+n > maxLarge {
			return nil, ErrTooMuch
		}
		h.keepLocked(s.group, b)
	}
	if b.users > 0 {
		b.users++
		s.batch = b
	}
	return b, nil
}

// keepLocked keeps a batch, nil for none, for other streams of its group. The caller has h.mu.
func (h *hub) keepLocked(g *group, b *batch) {
	h.releaseLocked(g.latest)
	g.latest = b
	if b == nil || len(b.data) <= largeBatch { // a few bytes are not worth a timer
		return
	}
	b.users = 1
	h.large += len(b.data)
	time.AfterFunc(keepLarge, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if g.latest == b {
			h.keepLocked(g, nil)
		}
	})
}

// releaseLocked ends one use of a batch, if it is a large one. The caller has h.mu.
func (h *hub) releaseLocked(b *batch) {
	if b == nil || b.users == 0 {
		return
	}
	b.users--
	if b.users == 0 {
		h.large -= len(b.data)
	}
}

// A PathCount is how many streams are open at a path.
type PathCount struct {
	Path  string `json:"path"`
	Count int    `json:"count"`
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
