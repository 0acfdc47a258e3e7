//go:build unix

package main

import "os"

func sendSignal(p *os.Process, s os.Signal) error { return p.Signal(s) }

// ended returns the error of a process that was to stop by itself.
func ended(err error) error { return err }
