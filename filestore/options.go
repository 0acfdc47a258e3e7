package filestore

import (
	"log/slog"
	"time"

	"pickup/filestore/internal/disk"
)

// Options says how a Store treats its file. The zero value is useful.
type Options struct {
	// Initial is the content of a file that is missing, or empty when the store
	// is opened. nil: {}.
	Initial []byte

	// MustExist makes Open fail with fs.ErrNotExist if the file is missing, also
	// after what a crash interrupted is completed or undone.
	MustExist bool

	// ReadOnly makes Commit fail with storage.ErrReadOnly. Nothing on the disk is
	// created, locked or recovered.
	ReadOnly bool

	// Ephemeral keeps commits in memory. The file is read and watched, and an
	// edit of it replaces the contents; it is never written.
	Ephemeral bool

	// Private are files of the server, which are not part of a folder.
	Private []string

	// URL is the address of the server, if it has one. The lock file names it, for
	// ServerURL.
	URL string

	// InContainer lets advice name docker run.
	InContainer bool

	// Synced is called with the duration of each sync of a file or a directory.
	// The store is locked during the call, which must return at once. May be nil.
	Synced func(time.Duration)

	// Busy reports whether a program is changing the file together with others, as git
	// does. An edit is then a save in progress, for up to 2 s. The store is locked during
	// the call. May be nil.
	Busy func() bool

	// Log reports edits that were loaded, broken and repaired files, and conflict
	// copies. What Open notices is in Warnings instead, unless Open fails. nil:
	// discarded.
	Log *slog.Logger

	ids func(collection string) string // the field with the ids, as set by KeyBy; nil: always "id"

	sys disk.Calls            // the zero value: the real file system
	now func() time.Time      // nil: time.Now
	nap func(d time.Duration) // nil: time.Sleep
}

// pollEvery is the time from one look at the file to the next without an event. Events get
// lost: in mounts, by overflow, by writes of other machines. Tests change it.
var pollEvery = time.Second

// How long the store waits; see also the package durable. A save is several system calls, so a
// file that is absent, empty or cut off is assumed to be a save in progress.
const (
	quietAfter  = 30 * time.Millisecond   // from the last event to the look at the file
	quietAtMost = 250 * time.Millisecond  // from the first event to the look at the file
	pollOnly    = 250 * time.Millisecond  // the same if there are no events
	graceRead   = time.Second             // until a file that cannot be read is reported
	busyAtMost  = 1900 * time.Millisecond // from an edit to its load while Options.Busy
	graceStart  = 10 * time.Second        // until Open gives up on a file that keeps changing
)
