package main

import "os"

// sendSignal ends p: another process gets signals through a console only, which tests do not
// have.
func sendSignal(p *os.Process, s os.Signal) error { return p.Kill() }

// ended returns what p is to be seen as: see sendSignal.
func ended(error) error { return nil }
