//go:build !linux && !windows

package disk

import (
	"bytes"
	"os"
)

func writeAt(f *os.File, runs [][]byte, off int64) (int, error) {
	return f.WriteAt(bytes.Join(runs, nil), off)
}
