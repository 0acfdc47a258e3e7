package filestore

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"pickup/filestore/internal/disk"
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
	if o.now == nil {
		o.now = time.Now
	}
	if o.nap == nil {
		o.nap = time.Sleep
	}
	if o.sys.Stat == nil {
		o.sys = disk.Real()
	}
	o.sys = o.sys.Timed(o.Synced)
	if o.sys.IsShare(path) {
		o.sys.Lease = func(*os.File, disk.LeaseKind) error { return errors.ErrUnsupported }
	}
	s := &Store{path: path, o: &o, rev: 1, feed: storage.NewFeed(1, keepBatches)}
	var err error
	if IsFolder(path) {
		err = s.openFolder(ctx)
	} else {
		f := s.newFile(path)
		if err = f.start(ctx); err == nil {
			f.opened, f.member = true, f.doc.Only()
		} else {
			f.lock.release()
		}
		s.setFiles([]*dataFile{f})
	}
	if err != nil {
		for _, w := range s.Warnings() { // the caller has no Store to ask for them
			o.Log.Warn(w)
		}
		if s.folder != nil {
			s.closeFilesLocked()
		}
		return nil, err
	}
	return s, nil
}
