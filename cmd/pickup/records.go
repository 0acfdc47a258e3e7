package main

import (
	"fmt"
	"slices"
	"strconv"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// Records tell by its place in the file which record a fault is about: nobody
// counts to the number in a pointer.
type records struct {
	snap  *database.Snapshot
	lists map[string][]*database.Record // of each collection that was asked for
}

func recordsOf(snap *database.Snapshot) records {
	return records{snap, make(map[string][]*database.Record)}
}

// text returns a fault as a sentence: its pointer, the id of its record where
// it has one, what is wrong.
func (r records) text(f schema.Fault) string {
	id, ok := r.id(f.Pointer)
	if !ok {
		return f.String()
	}
	return fmt.Sprintf("%s (id %q): %s", f.Pointer, id, f.Detail)
}

// faults returns what breaks a rule, but for ids that are missing: the file's
// oddities tell what becomes of their records, and an example of an id would be
// one that is taken.
func (r records) faults() []schema.Fault {
	return slices.DeleteFunc(r.snap.Check(), func(f schema.Fault) bool {
		tokens := rawjson.SplitPointer(f.Pointer)
		if len(tokens) != 3 || tokens[2] != r.snap.IDMember(tokens[0]) {
			return false
		}
		record, ok := r.at(tokens[0], tokens[1])
		if !ok {
			return false
		}
		_, has := storage.ID(record.Value, tokens[2])
		return !has
	})
}

// id returns the id of the record that a pointer leads to or into.
func (r records) id(pointer string) (string, bool) {
	tokens := rawjson.SplitPointer(pointer)
	if len(tokens) < 2 {
		return "", false
	}
	record, ok := r.at(tokens[0], tokens[1])
	if !ok || storage.IsPositionKey(record.ID) {
		return "", false
	}
	return record.ID, true
}

// at returns the element of a collection whose number is given.
func (r records) at(collection, number string) (*database.Record, bool) {
	n, err := strconv.Atoi(number)
	if err != nil {
		return nil, false
	}
	list, ok := r.lists[collection]
	if !ok {
		list = slices.Collect(r.snap.All(collection))
		r.lists[collection] = list
	}
	if n >= len(list) {
		return nil, false
	}
	return list[n], true
}
