package main

import (
	"fmt"
	"strconv"
	"strings"

	"pickup"
)

// Records tell by its place in the file which record a fault is about: nobody
// counts to the number in a pointer.
type records struct {
	snap *pickup.Snapshot
	ids  map[string][]string // of each collection that was asked for
}

func recordsOf(snap *pickup.Snapshot) records {
	return records{snap, make(map[string][]string)}
}

// text returns a fault as a sentence: its pointer, the id of its record where
// it has one, what is wrong.
func (r records) text(f pickup.Fault) string {
	id, ok := r.id(f.Pointer)
	if !ok {
		return f.String()
	}
	return fmt.Sprintf("%s (id %q): %s", f.Pointer, id, f.Detail)
}

// id returns the id of the record that a pointer leads to or into.
func (r records) id(pointer string) (string, bool) {
	parts := strings.SplitN(pointer, "/", 4)
	if len(parts) < 3 {
		return "", false
	}
	name := strings.NewReplacer("~1", "/", "~0", "~").Replace(parts[1])
	n, err := strconv.Atoi(parts[2])
	if err != nil {
		return "", false
	}
	ids, ok := r.ids[name]
	if !ok {
		for record := range r.snap.All(name) {
			ids = append(ids, record.ID)
		}
		r.ids[name] = ids
	}
	if n >= len(ids) || pickup.IsPositionKey(ids[n]) {
		return "", false
	}
	return ids[n], true
}
