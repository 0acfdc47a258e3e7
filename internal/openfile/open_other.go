//go:build !unix && !windows

package openfile

import "os"

// NonBlock is zero: opening does not wait on this system.
const NonBlock = 0

var open = os.OpenFile
