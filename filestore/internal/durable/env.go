package durable

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// An Env has the settings shared by the files of a store.
type Env struct {
	Sys disk.Calls
	Now func() time.Time
	Nap func(time.Duration) // sleeps
	Log *slog.Logger

	NoWrites    bool   // nothing on the disk is created, locked, recovered or written
	InContainer bool   // advice names docker run
	URL         string // the address of the server, for the lock file; may be ""
}

// Times of waiting.
const (
	RetryAfter = 20 * time.Millisecond // between two looks at an unreadable file
	GraceWrite = 2 * time.Second       // until a waiting write is refused

	// The pauses between two tries of a call. Each pause is twice as long as the last.
	firstPause   = time.Millisecond
	longestPause = 100 * time.Millisecond
)

// Insist repeats call while the error is disk.ErrHeld, for up to 2 s and until ctx is done.
func (e *Env) Insist(ctx context.Context, call func() error) error {
	begin := e.Now()
	for pause := firstPause; ; pause *= 2 {
		err := call()
		if !IsHeld(err) || e.Now().Sub(begin) >= GraceWrite || ctx.Err() != nil {
			return err
		}
		e.Nap(min(pause, longestPause))
	}
}

// IsHeld reports whether another program prevented a call by having a file open.
func IsHeld(err error) bool {
	return errors.Is(err, disk.ErrHeld) && !errors.Is(err, storage.ErrUnsure)
}
