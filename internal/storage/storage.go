package storage

import (
	"context"
	"iter"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// A Rev is the number of a state of one Store. It grows with each batch and means
// nothing to another Store or after a restart, unless the Store is a SharedStore.
type Rev uint64

// A Store keeps one database durably. It knows no query, no schema and no HTTP. The suite
// in internal/storage/storetest states the contract, and every Store passes it.
//
// A Store may be used by several goroutines at once. The Store and the caller share all
// values that they pass to each other, and never modify them.
type Store interface {
	// Load returns the whole contents, as a batch with Reset set.
	Load(ctx context.Context) (Batch, error)

	// Commit makes the changes of all updates durable, all or none and in
	// order, if the store is still at base. It returns the revision of the
	// last update. A store that is not shared counts each update; the states
	// between two updates are never visible. Without updates, Commit confirms that the
	// store is at base, and recreates the file of the store if the file is missing. A
	// SharedStore always gets updates.
	//
	// If the store is no longer at base, Commit changes nothing and returns an
	// error wrapping ErrConflict; Load then returns the newer contents.
	Commit(ctx context.Context, base Rev, updates ...[]Change) (Rev, error)

	// Watch yields every batch after the given revision, in order, until ctx is done, for
	// commits and for external edits. A store that does not know the changes yields a
	// batch with Reset set, which may replace several batches.
	//
	// An error reports that the store cannot be read at present (ErrBroken for a hand edit
	// that does not parse) and does not end the sequence; the next batch reports that the
	// store can be read again. If the contents are the same as before, that batch has no
	// changes and repeats the last revision. If only a part cannot be read, the batches of
	// the other parts come with the error.
	Watch(ctx context.Context, after Rev) iter.Seq2[Batch, error]

	// KeyBy sets the field with the ids of a collection's elements; before the first
	// call it is "id". The elements get new keys, in a new revision. The store may call
	// field until the next KeyBy; field must always return the same name. An error wraps
	// ErrShape: the store cannot use these fields.
	KeyBy(field func(collection string) string) error
}

// A SharedStore is a Store of a database that several processes use at the same
// time, each through another SharedStore. The suite RunShared states the additions to the
// contract of a Store:
//
//   - A revision is the same state for all processes, also after a restart. Revisions
//     are never reused and need not be consecutive.
//   - All updates of one Commit get the same revision. With ErrConflict, Commit and
//     CommitRules return a revision after base that was the latest at some moment
//     of the call, or 0 if unknown. Watch yields that revision soon.
//   - The store keeps the rules (the schema of the database) and the keys of elements
//     with the contents, and does not compute the keys again.
//   - Each batch without Reset has After. A batch without changes only moves
//     the revision.
//
// If the store cannot be reached, every method returns an error wrapping ErrAway (an
// *AwayError) within a few seconds, and nothing was changed. Commit and CommitRules
// return ErrUnsure instead if they cannot find out whether the change was stored.
// Watch yields the error if the last yielded state has not been confirmed as the latest
// for a few seconds, and a batch after the next confirmation.
//
// KeyBy changes nothing: an error reports that a collection has the ids in another
// field. The fields apply to later collections.
type SharedStore interface {
	Store

	// Latest returns the revision of a state that was the latest at some moment of
	// the call, however old the last news of other processes are (it is linearizable).
	Latest(ctx context.Context) (Rev, error)

	// CommitRules is Commit with new rules from that revision on; empty: none.
	// idMember returns the fields with the ids under these rules. If the field changes for
	// a collection, changes must contain the whole collection, and the elements get new
	// keys.
	CommitRules(ctx context.Context, base Rev, rules []byte,
		idMember func(collection string) string, changes []Change) (Rev, error)

	// Fresh returns the last time at which the state that Load or Watch last
	// yielded was certainly the latest.
	Fresh() time.Time
}

// A Batch is one step of a database from one state to the next.
type Batch struct {
	Rev Rev

	// Reset reports that Contents is the whole new state. Otherwise Changes lead
	// from the state before to the new one.
	Reset    bool
	Sorted   bool // the store sorts the fields by name and ignores Next; set if Reset is set
	Contents []Collection
	Changes  []Change

	// A SharedStore sets the following; other stores leave them empty.
	After  Rev    // the revision of the state before; meaningless if Reset is set
	Own    bool   // a Commit of this Store made the changes, and may not have returned yet
	Rules  []byte // the schema from here on; empty: none; nil: as before, never nil if Reset is set
	Origin string // the random name of the database, which never changes; set if Reset is set
	Edited Rev    // of the latest state after a hand edit, or 0; set if Reset is set
}

// A Kind is the kind of a top-level field of the database.
type Kind uint8

const (
	Array  Kind = iota // a collection of records
	Object             // a singular resource
	Other              // a scalar, or "$schema": kept, not served
)

// A Collection is a top-level field of the database, in the order of the file.
type Collection struct {
	Name     string
	Kind     Kind
	Elements []Element      // of an Array, in order
	Value    jsontext.Value // of an Object or Other

	// Rev is the revision of the latest change of the collection, or of the latest Reset.
	// Two states of a collection never have the same Rev. A Store that is not shared
	// leaves Rev 0.
	Rev Rev
}

// NewCollection returns the top-level field with that name and value. The
// elements have their ids in the field called idMember.
func NewCollection(name string, value jsontext.Value, idMember string) Collection {
	c := Collection{Name: name, Kind: KindOf(name, value), Value: value}
	if c.Kind == Array {
		c.Value = nil
		keys := NewKeys(idMember)
		for v := range rawjson.Elements(value) {
			c.Elements = append(c.Elements, Element{Key: keys.Next(v), Value: v})
		}
	}
	return c
}

// KindOf returns the kind of the top-level field with that name and value.
func KindOf(name string, value jsontext.Value) Kind {
	if name == "$schema" {
		return Other
	}
	switch value.Kind() {
	case '{':
		return Object
	case '[':
		return Array
	}
	return Other
}

// An Element is an element of an array, usually an object with an id.
type Element struct {
	// Key is the id as text (see Keys), or a position key if the element has no usable
	// id or the id of an earlier element.
	Key   string
	Value jsontext.Value // valid JSON, white space allowed

	// Compact reports that Value certainly has no white space between tokens.
	Compact bool
}

// A Change sets or deletes one element of a collection.
//
// If the collection has an element with that ID, the value replaces the element in
// place; otherwise the value is appended. With an empty ID the change replaces the whole
// top-level field, adds the field at the end of the database, or deletes the field.
type Change struct {
	Collection string
	ID         string
	Value      jsontext.Value // valid JSON; nil: deleted

	// Next is the name of the top-level field before which to insert a new field. If there
	// is no such field, the new field becomes the last. A SharedStore may ignore Next.
	Next string
}
