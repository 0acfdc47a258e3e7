//go:build !linux && !darwin

package disk

import "errors"

const swapNames, noReplace = 0, 0

func renameWith(from, to string, flags uint32) error { return errors.ErrUnsupported }

func canWrite(string, int64) error { return nil }
