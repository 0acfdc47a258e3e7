package server

import (
	"slices"
	"sync"
)

// Copies are the files that the store put beside its own because what somebody
// saved could not be merged with a write. The answers to the writes that were
// under way name them. The zero value has none, and a nil one is never told.
type Copies struct {
	mu    sync.Mutex
	names []string // guarded by mu; the last mostCopies
	count int      // guarded by mu; all there were
}

const mostCopies = 16 // that an answer names

// Add is told the name of a copy, without its folder.
func (c *Copies) Add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	c.names = append(c.names, name)
	c.names = c.names[max(0, len(c.names)-mostCopies):]
}

// made returns how many copies there were by now.
func (c *Copies) made() int {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// since returns the names of the copies after the first n.
func (c *Copies) since(n int) []string {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.names[max(0, len(c.names)-(c.count-n)):])
}
