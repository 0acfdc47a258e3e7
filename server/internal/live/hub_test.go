package live

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/query"
	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

// open returns a database with an empty collection of posts.
func open(t *testing.T) *database.DB {
	t.Helper()
	db, err := database.Open(t.Context(), storetest.NewMemStore(jsontext.Value(`{"posts":[]}`)), database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// post adds a record.
func post(t *testing.T, db *database.DB, padding string) {
	t.Helper()
	if _, err := db.Update(t.Context(), func(tx *database.Tx) error {
		_, err := tx.Put(database.Create, "posts", "", jsontext.Value(`{"padding":"`+padding+`"}`))
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func noStatus() string { return "" }

// panicking is a topic that cannot be encoded.
type panicking struct{ DatabaseTopic }

func (panicking) Events(*database.Revision) ([]Event, bool) { panic("cannot be encoded") }

// TestHubPanic: a panic while events are encoded ends one stream. Others go on.
func TestHubPanic(t *testing.T) {
	db, hubs := open(t), Hubs{Max: 2, Status: noStatus}
	bad, good := hubs.Join(db, panicking{}, "bad", "/db", nil), hubs.Join(db, DatabaseTopic{}, "good", "/db", nil)
	bad.Start(db.Snapshot().Rev())
	good.Start(db.Snapshot().Rev())
	post(t, db, "")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("there is no panic")
			}
		}()
		_, _, _ = bad.next(nil)
	}()
	bad.Leave()
	if events, _, err := good.next(nil); err != nil || len(events) != 1 {
		t.Errorf("the other stream: %q, %v", events, err)
	}
	good.Leave()
	if len(hubs.hubs) != 0 || hubs.open != 0 {
		t.Errorf("%d hubs and %d streams are left", len(hubs.hubs), hubs.open)
	}
}

// TestHubStarts has streams of one group that start at the same time, with and without an
// earlier state: each is sent the same bytes, until there is a new state.
func TestHubStarts(t *testing.T) {
	db, hubs := open(t), Hubs{Max: 100, Status: noStatus}
	post(t, db, "old")
	topic := ListTopic{&query.Query{Collection: "posts"}}
	start := func(rev storage.Rev) (*Subscription, []byte) {
		t.Helper()
		s := hubs.Join(db, topic, "key", "/posts", nil)
		first, err := s.Resume(rev)
		if err != nil {
			t.Fatal(err)
		}
		return s, first
	}
	one, first := start(0)
	two, second := start(0)
	if &first[0] != &second[0] || !strings.HasPrefix(string(first), "event: reset\n") {
		t.Errorf("the second stream starts with %q of its own", second)
	}
	post(t, db, "new")
	three, third := start(0)
	if !strings.Contains(string(third), `"new"`) || three.rev != db.Snapshot().Rev() {
		t.Errorf("after a change a stream starts at %d with %q", three.rev, third)
	}
	four, fourth := start(one.rev)
	if !strings.HasPrefix(string(fourth), "event: created\n") || strings.Contains(string(fourth), `"old"`) {
		t.Errorf("a stream with an earlier state starts with %q", fourth)
	}
	five, fifth := start(one.rev)
	if &fourth[0] != &fifth[0] {
		t.Errorf("a second stream with that state starts with %q of its own", fifth)
	}
	for _, s := range []*Subscription{one, two, three, four, five} {
		s.sent()
		s.Leave()
	}
}

// TestHubShares: streams that need the same events share them. Large events of all streams
// have a limit, and are dropped when nobody sends them any more.
func TestHubShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 4 << 20
		db, hubs := open(t), Hubs{Max: 100, Status: noStatus}
		var streams []*Subscription
		for i := range 40 {
			s := hubs.Join(db, DatabaseTopic{}, strings.Repeat("k", i/2), "/db", nil)
			s.Start(db.Snapshot().Rev())
			streams = append(streams, s)
		}
		h := streams[0].hub
		post(t, db, strings.Repeat("x", size))
		var first []byte
		sent := 0
		for i, s := range streams {
			events, _, err := s.next(nil)
			switch {
			case errors.Is(err, ErrTooMuch) && sent > maxLarge-2*size:
				continue
			case err != nil || len(events) != 1:
				t.Fatalf("stream %d: %d events, %v", i, len(events), err)
			case i%2 == 0:
				first, sent = events[0], sent+len(events[0])
			case &first[0] != &events[0][0]:
				t.Fatalf("stream %d has events of its own", i)
			}
		}
		if sent > maxLarge || h.large != sent {
			t.Errorf("%d bytes are in memory, counted as %d", sent, h.large)
		}
		time.Sleep(2 * retainLarge)
		synctest.Wait()
		if h.large != sent {
			t.Errorf("while they are sent, %d bytes are counted", h.large)
		}
		for _, s := range streams {
			s.sent()
		}
		if h.large != 0 {
			t.Errorf("afterwards %d bytes are counted", h.large)
		}
		post(t, db, strings.Repeat("x", size))
		if _, _, err := streams[39].next(nil); err != nil {
			t.Errorf("later: %v", err)
		}
		for _, s := range streams {
			s.Leave()
		}
		if h.large != 0 || len(h.groups) != 0 {
			t.Errorf("in the end %d bytes and %d groups are left", h.large, len(h.groups))
		}
	})
}
