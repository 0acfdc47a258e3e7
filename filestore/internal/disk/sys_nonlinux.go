//go:build !linux

package disk

import (
	"errors"
	"os"
)

func reserve(f *os.File, size int64) error { return nil }

func lease(f *os.File, kind LeaseKind) error { return errors.ErrUnsupported }

func isMount(path string) bool { return false }

func isShare(path string) bool { return false } // there are no leases
