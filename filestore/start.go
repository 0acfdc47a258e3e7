package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"pickup/filestore/internal/checksum"
	"pickup/filestore/internal/durable"
	"pickup/internal/storage"
)

// start opens and loads the file. clean says that the file has no dot files.
func (f *dataFile) start(ctx context.Context, clean bool) error {
	if err := f.Resolve(); err != nil {
		return err
	}
	if err := f.Open(clean); err != nil {
		return err
	}
	return f.firstLoad(ctx)
}

// firstLoad loads the file. An unreadable file may be in the middle of a save: firstLoad
// waits as long as the file keeps changing.
func (f *dataFile) firstLoad(ctx context.Context) error {
	start := f.Now()
	for {
		err := f.refresh()
		if err == nil {
			return nil
		}
		if errors.Is(err, fs.ErrNotExist) && f.NoWrites {
			if aside := f.LeftAside(); aside != "" {
				return fmt.Errorf("%w: an interrupted write left %s as %s: start once without read-only to put it back",
					storage.ErrReadOnly, f.Path, aside)
			}
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, durable.ErrEmpty) {
			return f.create()
		}
		if errors.Is(err, storage.ErrBroken) && f.CanWrite() {
			// An interrupted write in place leaves a redo record in the file.
			text, err := f.CompleteWrite()
			if err != nil {
				return fmt.Errorf("%w: %s: cannot complete an interrupted write: %w", storage.ErrReadOnly, f.Path, err)
			}
			if text != nil {
				continue
			}
		}
		if errors.Is(err, fs.ErrPermission) {
			return f.unreadableAtStart(err)
		}
		now := f.Now()
		info := f.reading.state.Info
		quiet := info != nil && now.Sub(info.ModTime()) > quietAtMost
		if !isPassing(err) || quiet || now.Sub(start) > graceStart || ctx.Err() != nil {
			if data, _, readErr := f.Read(f.Path); readErr == nil && isBlank(data) {
				return fmt.Errorf("%w%s", err, f.CopyNote())
			}
			return err
		}
		f.Nap(durable.RetryAfter)
	}
}

// unreadableAtStart returns the error of Open for a file closed to this user.
func (f *dataFile) unreadableAtStart(err error) error {
	f.Warnings = nil // about writes
	if advice := f.OwnerAdvice(); advice != "" {
		return fmt.Errorf("cannot read %s: %w: %s", f.Path, err, advice)
	}
	return fmt.Errorf("cannot read %s: %w", f.Path, err)
}

// create creates the file, or fills an empty one, with Options.Initial.
func (f *dataFile) create() error {
	doc, err := f.parse(f.store.o.Initial, nil)
	if err != nil {
		return err
	}
	f.doc = doc
	f.setContent(doc)
	f.SetSeen(f.reading.state) // no file, or an empty one
	f.LastSeen.Sum = checksum.Of()
	f.reading = readState{}
	if f.LastSeen.Info == nil {
		return f.createMissing(doc)
	}
	if name := f.ConflictCopy(); name != "" {
		reason := "the file is empty; " + f.copyAdvice(name)
		return &storage.BrokenError{File: f.Path, Line: 1, Column: 1, Reason: reason}
	}
	if f.NoWrites {
		f.Warn("%s is empty, and is not written", f.Path)
		return nil
	}
	if err := f.insistOn(doc); err != nil {
		f.Warn("%s is empty and cannot be written: %v", f.Path, err)
		return nil
	}
	f.Warn("%s was empty; wrote a new database to it", f.Path)
	return nil
}

func (f *dataFile) createMissing(doc durable.Content) error {
	missing := durable.MissingError{Name: f.Path}
	if name := f.ConflictCopy(); name != "" {
		return &storage.AdviceError{Err: missing, Advice: f.copyAdvice(name)}
	}
	if f.store.o.MustExist {
		return missing
	}
	if f.NoWrites {
		f.Warn("%s does not exist, and is not created", f.Path)
		return nil
	}
	if err := f.insistOn(doc); err != nil {
		f.Warn("%s does not exist and cannot be created: %v", f.Path, err)
		return nil
	}
	where := ""
	if f.InContainer && filepath.IsAbs(f.Path) {
		where = "; it stays in the container unless a directory is mounted on " + filepath.Dir(f.Path)
	}
	f.Warn("created %s, which did not exist%s", f.Path, where)
	return nil
}

// copyAdvice returns the advice for a conflict copy called name.
func (f *dataFile) copyAdvice(name string) string {
	return fmt.Sprintf("an earlier version is kept as %s: rename it to %s, or move it away to begin anew",
		name, filepath.Base(f.Real))
}

// insistOn writes doc, also if another program prevents the write for a moment.
func (f *dataFile) insistOn(doc durable.Content) error {
	return f.Insist(context.Background(), func() error { return f.Write(doc) })
}
