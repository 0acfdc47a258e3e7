//go:build unix

package filestore

import (
	"errors"
	"os"

	"pickup/filestore/internal/disk"
)

// simulated are the rules of systems that are simulated on this one.
var simulated = []way{
	{name: "Windows", both: onWindows, pace: 5},
	{name: "in place, Windows", both: inPlaceOnWindows, pace: 9},
	{name: "macOS", both: onMac, pace: 40},
	{name: "share", both: onShare, pace: 40},
}

// onMac swaps two names, and knows no leases.
func onMac() (Options, disk.Calls) {
	o := Options{sys: disk.Real()}
	o.sys.Lease = func(*os.File, disk.LeaseKind) error { return errors.ErrUnsupported }
	return o, others()
}

// onShare has the rules of shares of Docker Desktop: they swap no names, and their leases
// do not cover the programs on the other machine.
func onShare() (Options, disk.Calls) {
	o := Options{sys: withoutExchange()}
	o.sys.Lease = func(*os.File, disk.LeaseKind) error { return nil }
	o.sys.IsShare = func(string) bool { return true }
	return o, others()
}
