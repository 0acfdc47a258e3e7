package filestore

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"pickup/filestore/internal/disk"
	"pickup/filestore/internal/durable"
	"pickup/internal/storage"
)

// Open opens the file at path, or the files of a folder; see IsFolder. A file that is missing
// or empty gets the content o.Initial, at the first Commit if the directory is not writable;
// with a conflict copy next to it, it has lost its content, and Open fails. Open completes or
// undoes writes that a crash interrupted. Errors wrap:
//
//   - storage.ErrBroken (a *storage.BrokenError): the file does not parse, or it is empty
//     and has a conflict copy
//   - storage.ErrInUse: another server holds the file
//   - storage.ErrShape: path is not a regular file
//   - fs.ErrPermission: the file is not readable
//   - fs.ErrNotExist: its directory does not exist, or the file with MustExist or with a
//     conflict copy
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Initial == nil {
		o.Initial = []byte("{}\n")
	}
	s := &Store{path: path, state: &state{o: &o, env: o.env(path), rev: 1, feed: storage.NewFeed(1, keepBatches)}}
	open := s.openFile
	if IsFolder(path) {
		open = s.openFolder
	}
	err := open(ctx)
	if err == nil {
		return s, nil
	}
	for _, w := range s.Warnings() { // the caller has no Store to ask
		o.Log.Warn(w)
	}
	if s.folder != nil {
		s.closeFilesLocked()
	}
	return nil, err
}

// env returns the settings shared by the files of the store at path.
func (o *Options) env(path string) *durable.Env {
	env := &durable.Env{
		Sys:         o.sys,
		Now:         o.now,
		Nap:         o.nap,
		Log:         o.Log,
		NoWrites:    o.ReadOnly || o.Ephemeral,
		InContainer: o.InContainer,
		URL:         o.URL,
	}
	if env.Now == nil {
		env.Now = time.Now
	}
	if env.Nap == nil {
		env.Nap = time.Sleep
	}
	if env.Sys.Stat == nil {
		env.Sys = disk.Real()
	}
	env.Sys = env.Sys.Timed(o.Synced)
	if env.Sys.IsShare(path) {
		env.Sys.Lease = func(*os.File, disk.LeaseKind) error { return errors.ErrUnsupported }
	}
	return env
}

// openFile opens the file of a store of one file.
func (s *Store) openFile(ctx context.Context) error {
	f := newFile(s.state, s.path, "")
	s.setFiles([]*dataFile{f})
	err := f.Resolve()
	if err == nil {
		err = s.completeIntentBeside(ctx, f)
	}
	if err == nil {
		err = f.start(ctx, false)
	}
	if err != nil {
		f.Unlock()
		return err
	}
	f.Opened = true
	f.member = f.doc.Only()
	return nil
}
