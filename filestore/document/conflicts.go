package document

import (
	"bytes"
	"fmt"
	"strings"

	"pickup/internal/rawjson"
	"pickup/internal/spell"
)

// maxConflicts is the number of differences that explainConflicts names.
const maxConflicts = 20

// explainConflicts describes the merge conflicts in a text with git's markers: by record
// and field, with both values, if both sides of the text parse. It returns "" if the text
// has no markers.
func explainConflicts(data []byte, idMember func(collection string) string) string {
	c := splitConflicts(data)
	if len(c.lines) == 0 {
		return ""
	}
	reason := spell.Count(len(c.lines), "merge conflict")
	ours, err := Parse("", c.texts[0], idMember)
	theirs, other := Parse("", c.texts[1], idMember)
	var found []string
	if err == nil && other == nil {
		m := &merger{docs: [3]*Document{ours, ours, theirs}}
		m.compare(nil, ours.list(), theirs.list(), func(path []string, a, b *item) {
			found = append(found, fmt.Sprintf("%s is %s (%s) or %s (%s)", strings.Join(path, "/"), show(a), c.labels[0], show(b), c.labels[1]))
		})
	}
	if len(found) == 0 {
		for _, n := range c.lines {
			found = append(found, fmt.Sprintf("on line %d", n))
		}
	}
	if more := len(found) - maxConflicts; more > 0 {
		found = append(found[:maxConflicts], fmt.Sprintf("and %d more", more))
	}
	return reason + ": " + strings.Join(found, "; ") + "; choose a side of each and remove the markers"
}

// A conflictedText is a text with git's markers, as its two sides.
type conflictedText struct {
	texts  [2][]byte
	labels [2]string // after the first markers
	lines  []int     // of the conflicts
}

func splitConflicts(data []byte) (c conflictedText) {
	inOurs, inTheirs, n := true, true, 0
	for line := range bytes.Lines(data) {
		n++
		label := strings.TrimSpace(strings.TrimLeft(string(line), "<|=>"))
		switch marker := func(b string) bool { return bytes.HasPrefix(line, []byte(strings.Repeat(b, 7))) }; {
		case marker("<"):
			inOurs, inTheirs = true, false
			c.lines = append(c.lines, n)
			c.labels[0] = label
		case marker("|"): // the base, with merge.conflictStyle diff3
			inOurs = false
		case marker("=") && !inTheirs:
			inOurs, inTheirs = false, true
		case marker(">"):
			inOurs = true
			c.labels[1] = label
		default:
			for i, in := range []bool{inOurs, inTheirs} {
				if in {
					c.texts[i] = append(c.texts[i], line...)
				}
			}
		}
	}
	return c
}

// compare calls differ for the fields in which two lists differ, and for the items that only
// one of them has; the other one is nil.
func (m *merger) compare(path []string, a, b *list, differ func(path []string, a, b *item)) {
	for i := range a.items {
		it, other := &a.items[i], b.item(a.items[i].key)
		at := append(path, it.key)
		if other == nil {
			differ(at, it, nil)
			continue
		}
		if sameValue(it.value, other.value) {
			continue
		}
		if la, lb := m.cut(at, it), m.cut(at, other); la.open != 0 && la.open == lb.open && la.keyed && lb.keyed {
			m.compare(at, la, lb, differ)
		} else {
			differ(at, it, other)
		}
	}
	for i := range b.items {
		if a.item(b.items[i].key) == nil {
			differ(append(path, b.items[i].key), nil, &b.items[i])
		}
	}
}

// show returns the value of an item for a message.
func show(it *item) string {
	if it == nil {
		return "absent"
	}
	return rawjson.Show(rawjson.Compact(plain(it.value)))
}
