//go:build !unix

package openfile

import "os"

// OpenIn opens a file or a directory in root for reading. The caller must check the type.
func OpenIn(root *os.Root, name string) (*os.File, error) { return root.Open(name) }
