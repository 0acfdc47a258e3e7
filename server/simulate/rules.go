package simulate

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"pickup/internal/rawjson"
)

// Rules are rules in use. The zero value has none. Its methods may be called by
// several goroutines at once.
type Rules struct {
	filled atomic.Bool // there are rules

	mu   sync.Mutex
	list []*Rule // guarded by mu
	last int     // guarded by mu; the id that was given out last
}

// IsEmpty reports whether there are no rules. A nil list is empty.
func (l *Rules) IsEmpty() bool { return l == nil || !l.filled.Load() }

// Set replaces the rules. They get new ids.
func (l *Rules) Set(rules []*Rule) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = nil
	l.addLocked(rules...)
}

// Add adds a rule at the end.
func (l *Rules) Add(r *Rule) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addLocked(r)
}

func (l *Rules) addLocked(rules ...*Rule) {
	for _, r := range rules {
		l.last++
		r.ID = strconv.Itoa(l.last)
		l.list = append(l.list, r)
	}
	l.filled.Store(len(l.list) > 0)
}

// Remove removes the rule with the id, and reports whether there was one.
func (l *Rules) Remove(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.list)
	l.list = slices.DeleteFunc(l.list, func(r *Rule) bool { return r.ID == id })
	l.filled.Store(len(l.list) > 0)
	return len(l.list) < n
}

// Find returns the effect of the first rule that applies to the request, and counts
// the request in all rules up to this one that match it. A rule that matches but
// does not apply, by its percent, after or times, is passed over.
func (l *Rules) Find(q Request, dice Dice) Effect {
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

// WantsBody reports whether it depends on the body of the request which rule applies.
func (l *Rules) WantsBody(q Request) bool {
	if l.IsEmpty() {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.list, func(r *Rule) bool { return r.where != nil && r.matchesHead(q) })
}

// Size returns the number of rules and of the bytes of their text.
func (l *Rules) Size() (rules, bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Size(l.list)
}

// Size returns the number of rules and of the bytes of their text.
func Size(list []*Rule) (rules, bytes int) {
	for _, r := range list {
		bytes += len(r.text)
	}
	return len(list), bytes
}

// AppendJSON appends the rules, each with its id and its hits, as an array.
func (l *Rules) AppendJSON(b []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	b = append(b, '[')
	for _, r := range l.list {
		b = r.appendLocked(rawjson.AppendComma(b))
	}
	return append(b, ']')
}

// AppendRule appends a rule of the list as an object.
func (l *Rules) AppendRule(b []byte, r *Rule) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return r.appendLocked(b)
}

// appendLocked appends the rule as it was written, with its id and its hits. The
// caller has Rules.mu.
func (r *Rule) appendLocked(b []byte) []byte {
	b = fmt.Appendf(b, `{"id":%q,"hits":%d`, r.ID, r.hits)
	for quoted, value := range rawjson.Members(r.text) {
		if name := rawjson.Unquote(quoted); name != "id" && name != "hits" {
			b = rawjson.AppendQuotedMember(b, quoted, value)
		}
	}
	return append(b, '}')
}
