package filestore

import (
	"log/slog"
	"time"

	"pickup/filestore/internal/disk"
)

// Options says how a Store treats its file. The zero value is useful.
type Options struct {
	// Initial is what a file begins with that is missing, or has 0 bytes when
	// the store is opened. nil: {}.
	Initial []byte

	// ReadOnly makes Commit fail with storage.ErrReadOnly. Nothing is created,
	// locked or mended on the disk.
	ReadOnly bool

	// Ephemeral keeps commits in memory. The file is read and watched, and an
	// edit of it replaces what memory holds; it is never written.
	Ephemeral bool

	// JournalDir is the folder, which has to exist, for the redo record of a file
	// that has to be written in place. It should outlive what the file outlives: in a
	// container, be a volume, and one that no container with another file at
	// the same path has. "": the record goes into the file itself, for the
	// moment of the write.
	JournalDir string

	// Synced is told how long each sync of a file or a folder took. It is
	// called with the store locked and returns at once. nil: nobody is told.
	Synced func(time.Duration)

	// Kept is told the name, without its folder, of each file that is put beside
	// the database because what somebody saved could not be merged. It is called
	// with the store locked and returns at once. nil: nobody is told; the log,
	// or Warnings, names it in any case.
	Kept func(name string)

	// Log takes what people should know: edits that were loaded, broken and
	// repaired files, copies kept beside the file. What Open notices is in
	// Warnings instead, unless it fails. nil: discarded.
	Log *slog.Logger

	ids func(collection string) string // the member that carries the ids, as KeyBy says; nil: always "id"

	sys disk.Calls            // the zero value: the real file system
	now func() time.Time      // nil: time.Now
	nap func(d time.Duration) // nil: time.Sleep
}

// How long the store waits. A save by hand is several system calls, so a file
// that is absent, empty or cut off is first of all a save in progress.
const (
	retryAfter  = 20 * time.Millisecond  // between two looks at a file that cannot be read
	quietAfter  = 30 * time.Millisecond  // from the last event to the look at the file
	quietAtMost = 250 * time.Millisecond // from the first event to the look at the file
	pollEvery   = time.Second            // events get lost: mounts, overflow, other machines
	pollOnly    = 250 * time.Millisecond // the same where there are no events at all
	graceRead   = time.Second            // until a file that cannot be read is reported
	graceWrite  = 2 * time.Second        // until a write that waits for it is refused
	graceStart  = 10 * time.Second       // until Open gives up on a file that keeps changing
)

// touches reports whether the store may change anything on the disk.
func (o Options) touches() bool { return !o.ReadOnly && !o.Ephemeral }

func (o Options) idMember(collection string) string {
	if o.ids == nil {
		return "id"
	}
	return o.ids(collection)
}
