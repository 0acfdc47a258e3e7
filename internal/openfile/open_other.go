//go:build !unix && !windows

package openfile

import "os"

var open = os.OpenFile
