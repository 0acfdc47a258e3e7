package filestore

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"pickup"
)

// claim is what keeps a second server from the file: a lock file in its
// folder. The lock is the kernel's, so it ends with the process however that
// ends; the text in it tells people who holds it.
type claim struct {
	file *os.File // nil: none
}

// claimLocked takes the file for us, or fails with pickup.ErrInUse.
func (s *Store) claimLocked() error {
	for {
		f, err := os.OpenFile(s.beside(".lock"), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			s.notice("no lock on %s: %v", s.path, cause(err))
			return nil
		}
		if err := lockFile(f); err != nil {
			defer f.Close()
			if !errors.Is(err, errLocked) {
				s.notice("no lock on %s: %v", s.path, err)
				return nil
			}
			b := make([]byte, 200)
			n, _ := f.Read(b)
			holder := strings.TrimSpace(string(b[:n]))
			if holder == "" {
				holder = "another server"
			}
			return fmt.Errorf("%w: %s holds %s", pickup.ErrInUse, holder, s.path)
		}
		// The last holder may have removed the file between our open and our
		// lock; then the lock is on a file that nobody else will find.
		mine, err1 := f.Stat()
		named, err2 := os.Stat(f.Name())
		if err1 != nil || err2 != nil || !os.SameFile(mine, named) {
			f.Close()
			continue
		}
		host, _ := os.Hostname()
		f.Truncate(0)
		fmt.Fprintf(f, "process %d on %s\n", os.Getpid(), host)
		s.claim.file = f
		return nil
	}
}

// release gives the file free.
func (c *claim) release() error {
	if c.file == nil {
		return nil
	}
	err := os.Remove(c.file.Name()) // while it is locked, so that it is ours
	return errors.Join(err, c.file.Close())
}
