//go:build unix

package servertest

import "os"

// SendSignal sends s to p.
func SendSignal(p *os.Process, s os.Signal) error { return p.Signal(s) }

// ended returns the error of a process that was to stop by itself.
func ended(err error) error { return err }
