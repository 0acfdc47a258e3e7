//go:build !linux && !darwin

package disk

import "errors"

// exchange fails: these systems cannot swap two names in one step.
func exchange(a, b string) error { return errors.ErrUnsupported }

func renameNew(from, to string) error { return RenameByLink(from, to) }

// Unsupported reports whether err means that the system does not have the call.
func Unsupported(err error) bool { return errors.Is(err, errors.ErrUnsupported) }
