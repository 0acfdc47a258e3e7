//go:build !linux && !darwin

package filestore

import "errors"

// This system swaps no two names in one step.
func exchange(a, b string) error { return errors.ErrUnsupported }

func renameNew(from, to string) error { return renameSlowly(from, to) }

func unsupported(err error) bool { return errors.Is(err, errors.ErrUnsupported) }
