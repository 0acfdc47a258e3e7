package live

import (
	"log/slog"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/storage/storetest"
	"pickup/server/internal/httpx"
)

// panicking is a topic that cannot be encoded.
type panicking struct{ Database }

func (panicking) Events(*database.Revision) ([]Event, bool) { panic("cannot be encoded") }

// TestHubPanic: a panic while events are encoded ends the streams of the database,
// and no more. New ones begin again.
func TestHubPanic(t *testing.T) {
	db, err := database.Open(t.Context(), storetest.NewMemStore(jsontext.Value(`{"posts":[]}`)), database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	hubs := Hubs{Max: 1, Log: slog.New(slog.DiscardHandler), Status: func() string { return "" }}
	for _, test := range []struct {
		topic Topic
		want  error
	}{
		{topic: panicking{}, want: errEnded},
		{topic: Database{}},
	} {
		s := hubs.Join(db, test.topic, "key", "/db", nil)
		if s == nil {
			t.Fatal("there are too many streams")
		}
		_, more, err := s.take()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Update(t.Context(), func(tx *database.Tx) error {
			_, err := tx.Put(database.Create, "posts", "", jsontext.Value(`{}`))
			return err
		}); err != nil {
			t.Fatal(err)
		}
		<-more
		if events, _, err := s.take(); err != test.want || len(events) == 0 && err == nil {
			t.Errorf("%T: %q, %v", test.topic, events, err)
		}
		s.Leave()
	}
}

// TestHubReportPanic checks that a panic in a report of streams that opened or closed leaves
// the hub unlocked, so that its streams can be ended.
func TestHubReportPanic(t *testing.T) {
	h := &hub{groups: map[string]*group{"": nil}}
	httpx.Contain(slog.New(slog.DiscardHandler), "", h.reportMoves)
	if !h.mu.TryLock() {
		t.Error("the hub is still locked")
	}
}
