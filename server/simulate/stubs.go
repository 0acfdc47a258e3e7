package simulate

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"pickup/internal/rawjson"
)

// Stubs is a list of stubs in use. The zero value is an empty list. Several goroutines may call
// the methods at once.
type Stubs struct {
	filled atomic.Bool // list is not empty

	mu   sync.Mutex
	list []*Stub // guarded by mu
	last int     // guarded by mu; the latest id
}

// IsEmpty reports whether there are no stubs. A nil list is empty.
func (l *Stubs) IsEmpty() bool { return l == nil || !l.filled.Load() }

// Set replaces all stubs, and gives each new stub an id.
func (l *Stubs) Set(stubs []*Stub) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = nil
	l.addLocked(stubs...)
}

// Add adds a stub at the end, and gives it an id.
func (l *Stubs) Add(r *Stub) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addLocked(r)
}

func (l *Stubs) addLocked(stubs ...*Stub) {
	for _, r := range stubs {
		l.last++
		r.ID = strconv.Itoa(l.last)
		l.list = append(l.list, r)
	}
	l.filled.Store(len(l.list) > 0)
}

// Remove removes the stub with the id, and reports whether the stub existed.
func (l *Stubs) Remove(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.list)
	l.list = slices.DeleteFunc(l.list, func(r *Stub) bool { return r.ID == id })
	l.filled.Store(len(l.list) > 0)
	return len(l.list) < n
}

// Find returns the effect of the first stub that matches the request and applies. A matching stub
// may not apply because of its percent, after or times. Find counts the request in the matching
// stubs, up to and including this one.
func (l *Stubs) Find(q Request, dice Dice) Effect {
	if l.IsEmpty() {
		return Effect{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.list {
		if r.matches(q) && r.applies(dice) {
			return r.Effect
		}
	}
	return Effect{}
}

// WantsBody reports whether Find needs the body of the request.
func (l *Stubs) WantsBody(q Request) bool {
	if l.IsEmpty() {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.list, func(r *Stub) bool { return r.where != nil && r.matchesHead(q) })
}

// Size returns the number of stubs, and the size of the text of all stubs.
func (l *Stubs) Size() (stubs, bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Size(l.list)
}

// Size returns the number of stubs, and the size of the text of all stubs.
func Size(list []*Stub) (stubs, bytes int) {
	for _, r := range list {
		bytes += len(r.text)
	}
	return len(list), bytes
}

// AppendJSON appends the stubs as an array. Each stub has its id and the number of hits.
func (l *Stubs) AppendJSON(b []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	b = append(b, '[')
	for _, r := range l.list {
		b = r.appendLocked(rawjson.AppendComma(b))
	}
	return append(b, ']')
}

// AppendStub appends a stub of the list as an object.
func (l *Stubs) AppendStub(b []byte, r *Stub) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return r.appendLocked(b)
}

// appendLocked appends the stub as the client wrote it, with the id and the number of hits. The
// caller has Stubs.mu.
func (r *Stub) appendLocked(b []byte) []byte {
	b = fmt.Appendf(b, `{"id":%q,"hits":%d`, r.ID, r.hits)
	for quoted, value := range rawjson.Members(r.text) {
		if name := rawjson.Unquote(quoted); name != "id" && name != "hits" {
			b = rawjson.AppendQuotedMember(b, quoted, value)
		}
	}
	return append(b, '}')
}
