//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A disk rewrites one file in the steps of pickup: write and sync a new file,
// swap it with the old one, sync the directory. Changes that arrive during a
// write are grouped into the next one.
type disk struct {
	path    string
	cluster *cluster // where the records are instead; nil: in the file

	mu      sync.Mutex
	waiting []*change // guarded by mu
	busy    bool      // guarded by mu

	text []byte // owned by the leader of the group
}

// A change appends a record, removes the last one, or rewrites the file as it
// is.
type change struct {
	record []byte
	remove bool
	turn   chan bool // true: lead; false: done
	err    error
}

// separator precedes each record that is appended, as in the files of the bench.
const separator = ",\n    "

// commit makes a change and returns when it is durable. One of the waiting
// callers leads: it writes for the group.
func (d *disk) commit(record []byte, remove bool) error {
	c := &change{record: record, remove: remove, turn: make(chan bool, 1)}
	d.mu.Lock()
	d.waiting = append(d.waiting, c)
	if !d.busy {
		d.busy = true
		c.turn <- true
	}
	d.mu.Unlock()
	if !<-c.turn {
		return c.err
	}
	d.mu.Lock()
	group := d.waiting
	d.waiting = nil
	d.mu.Unlock()
	err := d.write(group)
	d.mu.Lock()
	if len(d.waiting) > 0 {
		d.waiting[0].turn <- true
	} else {
		d.busy = false
	}
	d.mu.Unlock()
	for _, o := range group {
		o.err = err
		if o != c {
			o.turn <- false
		}
	}
	return err
}

// write applies a group of changes and replaces the file.
func (d *disk) write(group []*change) error {
	if d.cluster != nil {
		return d.cluster.write(group)
	}
	end := bytes.LastIndexByte(d.text, ']')
	foot := string(d.text[end:])
	d.text = d.text[:end]
	for _, c := range group {
		if c.record != nil {
			d.text = append(append(d.text, separator...), c.record...)
		} else if at := bytes.LastIndex(d.text, []byte(separator)); c.remove && at > 0 {
			d.text = d.text[:at]
		}
	}
	d.text = append(d.text, foot...)

	next := filepath.Join(filepath.Dir(d.path), "."+filepath.Base(d.path)+".next")
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(d.text); err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	if err := unix.Renameat2(unix.AT_FDCWD, next, unix.AT_FDCWD, d.path, unix.RENAME_EXCHANGE); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(d.path))
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil {
		return err
	}
	return os.Remove(next)
}

// measure writes from concurrent goroutines and prints the changes per second.
func (d *disk) measure(writers int, duration time.Duration) error {
	var (
		running sync.WaitGroup
		n       atomic.Int64
		failed  atomic.Pointer[error]
	)
	begin := time.Now()
	for range writers {
		running.Go(func() {
			for time.Since(begin) < duration {
				if err := d.commit(nil, false); err != nil {
					failed.Store(&err)
					return
				}
				n.Add(1)
			}
		})
	}
	running.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	fmt.Printf("%.3f\n", float64(n.Load())/time.Since(begin).Seconds())
	return nil
}
