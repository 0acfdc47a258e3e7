package filestore

import (
	"errors"
	"os"
	"testing"

	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, database string) storage.Store {
		return start(t, home(t, database), Options{})
	})
}

func TestContractInPlace(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, database string) storage.Store {
		return start(t, home(t, database), inPlaceOnly())
	})
}

func TestContractLink(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, database string) storage.Store {
		return start(t, home(t, database), Options{sys: withoutExchange()})
	})
}

func TestContractEphemeral(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, database string) storage.Store {
		return start(t, home(t, database), Options{Ephemeral: true})
	})
}

// withoutExchange is a system like Windows, or NFS on Linux.
func withoutExchange() disk.Calls {
	sys := disk.Real()
	sys.Exchange = func(a, b string) error {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: errors.ErrUnsupported}
	}
	sys.RenameNew = disk.RenameByLink
	return sys
}

// inPlaceOnly is a system where the file is a mount point.
func inPlaceOnly() Options {
	o := Options{sys: disk.Real()}
	o.sys.IsMount = func(string) bool { return true }
	return o
}
