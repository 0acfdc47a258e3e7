package filestore

import (
	"errors"
	"os"
	"testing"
	"time"

	"pickup/filestore/internal/disk"
	"pickup/filestore/internal/durable"
	"pickup/internal/storage"
)

// TestBusy edits the file while another program changes files around it. The edit is
// loaded when the program is done, or after two seconds, and a write waits until then.
func TestBusy(t *testing.T) {
	for _, test := range []struct {
		name     string
		busy     time.Duration
		min, max time.Duration // from the edit to the end of the write
	}{
		{name: "for a second", busy: time.Second, min: time.Second, max: 1100 * time.Millisecond},
		{name: "for long", busy: time.Hour, min: busyAtMost, max: durable.GraceWrite},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := home(t, sample)
			var waited time.Duration
			edited, o := false, Options{sys: disk.Real()}
			o.now = func() time.Time { return time.Now().Add(waited) }
			o.nap = func(d time.Duration) { waited += d }
			o.Busy = func() bool { return edited && waited < test.busy }
			s := start(t, path, o)
			if err := commit(s, set("2", "Ballet")); err != nil {
				t.Fatal(err)
			}
			edited = true
			waited = 0
			begin := o.now()
			base := load(t, s)
			if err := os.WriteFile(path, []byte(sample), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := titles(load(t, s)); got != "Vet visit, Ballet" {
				t.Errorf("while the program is busy: %s", got)
			}
			_, err := s.Commit(t.Context(), base.Rev, []storage.Change{set("1", "Dentist")})
			for errors.Is(err, storage.ErrPending) {
				waited += durable.RetryAfter
				_, err = s.Commit(t.Context(), base.Rev, []storage.Change{set("1", "Dentist")})
			}
			if took := o.now().Sub(begin); !errors.Is(err, storage.ErrConflict) || took < test.min || waited > test.max {
				t.Errorf("the write got %v after %v, of which %v are pauses", err, took, waited)
			}
			if got := titles(load(t, s)); got != "Vet visit, School run" {
				t.Errorf("afterwards: %s", got)
			}
		})
	}
}
