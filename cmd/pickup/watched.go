package main

import (
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

// A watched is a set of files that are read at the start and again when one of
// them changes: the credentials, the certificate and its key. What cannot be
// used is told in the log, and what was read last stays in force.
//
// It is used by one goroutine; ok may be asked by others.
type watched struct {
	what  string   // "the users"
	names []string // of the files
	load  func() error

	seen []stamp     // of what was loaded, or refused
	next []stamp     // of a change that may not be finished yet
	bad  atomic.Bool // the files are not in force as they are
}

// A stamp is what a stat tells of a file's content.
type stamp struct {
	size int64
	time time.Time
	info fs.FileInfo
}

func (s stamp) same(t stamp) bool {
	return s.size == t.size && s.time.Equal(t.time) && (s.info == nil) == (t.info == nil) &&
		(s.info == nil || os.SameFile(s.info, t.info))
}

// watch loads files for the first time.
func watch(what string, load func() error, names ...string) (*watched, error) {
	w := &watched{what: what, names: names, load: load}
	w.seen = w.stamps()
	return w, w.load()
}

func (w *watched) stamps() []stamp {
	s := make([]stamp, len(w.names))
	for i, name := range w.names {
		if info, err := os.Stat(name); err == nil { // a missing file has the zero stamp
			s[i] = stamp{info.Size(), info.ModTime(), info}
		}
	}
	return s
}

// look loads the files if they have changed and have been the same at two
// looks, so that a save is finished; now does not wait for that.
func (w *watched) look(now bool, log *slog.Logger) {
	stamps := w.stamps()
	switch {
	case !now && same(stamps, w.seen):
		w.next = nil
		return
	case !now && (w.next == nil || !same(stamps, w.next)):
		w.next = stamps
		return
	}
	w.seen, w.next = stamps, nil
	err := w.load()
	w.bad.Store(err != nil)
	if err != nil {
		log.Error(fmt.Sprintf("%s cannot be used: what was read last stays in force", w.what), "error", err)
		return
	}
	log.Info(w.what + " were read again")
}

// ok reports whether the files are in force as they are.
func (w *watched) ok() bool { return !w.bad.Load() }

func same(a, b []stamp) bool {
	for i := range a {
		if !a[i].same(b[i]) {
			return false
		}
	}
	return true
}
