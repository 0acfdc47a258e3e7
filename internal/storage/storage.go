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

// A Store keeps one database durably. It moves batches: it knows no query, no
// schema and no HTTP. The suite in internal/storage/storetest states the contract and
// every Store passes it.
//
// A Store may be used by several goroutines at once. Values that it is given
// and values that it hands out belong to both sides and are never modified.
type Store interface {
	// Load returns the whole contents, as a batch with Reset set.
	Load(ctx context.Context) (Batch, error)

	// Commit makes the changes of all updates durable, all or none and in
	// order, if the store is still at base. It returns the revision of the
	// last update. A store that numbers its own states counts each update; the
	// states between two of them are never visible on their own. Without updates,
	// which a SharedStore never gets, Commit confirms that the store is at base, and
	// recreates the file of the store if it is missing.
	//
	// If the store is no longer at base, Commit changes nothing and returns an
	// error wrapping ErrConflict; Load then returns the newer contents.
	Commit(ctx context.Context, base Rev, updates ...[]Change) (Rev, error)

	// Watch yields every batch after rev, in order, until ctx is done, for commits
	// and for external edits. A store that does not know what changed yields a
	// batch with Reset set, which may replace several.
	//
	// An error reports that the store cannot be read at present (a hand edit that
	// does not parse: ErrBroken) and does not end the sequence; the next batch
	// reports that it can be read again. That batch has no changes and repeats
	// the last revision if the contents are the same as before. If only a part cannot
	// be read, the batches of the others come with the error.
	Watch(ctx context.Context, after Rev) iter.Seq2[Batch, error]

	// KeyBy sets which field carries the ids of a collection's elements;
	// before the first call it is "id". The elements get new keys, in a new
	// revision. The store may call field until the next KeyBy; it must always
	// return the same. An error wraps ErrShape: the store cannot use these fields.
	KeyBy(field func(collection string) string) error
}

// A SharedStore is a Store of a database that several processes use at the same
// time, each through a SharedStore of its own. The suite RunShared states what holds
// in addition to the contract of a Store:
//
//   - A revision is the same state for all of them, and stays so after a restart. It
//     is not used again. Revisions need not be consecutive.
//   - All updates of one Commit get the same revision. With ErrConflict, Commit and
//     CommitRules return a later revision than base that was the latest at some moment
//     of the call, or 0 if they do not know one. Watch yields it soon.
//   - The store keeps the rules, the schema of the database, with the contents, and
//     the keys of elements too: it does not compute them again.
//   - Each batch that is not a Reset has After. A batch without changes only moves
//     the revision.
//
// If the store cannot be reached, every method returns an error wrapping ErrAway (an
// *AwayError) within a few seconds, and nothing was changed. Commit and CommitRules
// return ErrUnsure instead if they cannot find out whether the change was stored.
// Watch yields the error when the state that it has yielded has not been
// confirmed as the latest for a few seconds, and a batch when it is again.
//
// KeyBy changes nothing: its error reports that a collection has its ids in another
// field. The fields apply to later collections.
type SharedStore interface {
	Store

	// Latest returns the revision of a state that was the latest at some moment of
	// the call, however long others have not been heard of (it is linearizable).
	Latest(ctx context.Context) (Rev, error)

	// CommitRules is Commit with other rules from that revision on; empty: none.
	// idMember returns the fields with the ids under these rules. A collection
	// whose ids are in another field than before is among changes as a whole, and
	// its elements get new keys.
	CommitRules(ctx context.Context, base Rev, rules []byte, idMember func(collection string) string, changes []Change) (Rev, error)

	// Fresh returns the latest time at which the state that Load or Watch last
	// yielded is known to have been the latest.
	Fresh() time.Time
}

// A Batch is one step of a database from one state to the next.
type Batch struct {
	Rev Rev

	// Reset reports that Contents is the whole new state. Otherwise Changes lead
	// to it from the state before.
	Reset    bool
	Sorted   bool // the store has the fields by name, wherever Next says; set if Reset is set
	Contents []Collection
	Changes  []Change

	// A SharedStore sets the following; other stores leave them empty.
	After  Rev    // the revision of the state before; of no meaning if Reset is set
	Own    bool   // a Commit of this Store made the changes; it may not have returned yet
	Rules  []byte // the schema from here on; empty: none; nil: as before, never nil if Reset is set
	Origin string // the name of the database, made at random with it; set if Reset is set
	Edited Rev    // of the latest state that a hand edit has led to, 0 if none has; set if Reset is set
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
	Elements []Element      // of an Array, in their order
	Value    jsontext.Value // of an Object or Other

	// Rev is the revision of the latest change of the collection: of a batch whose
	// Changes name it, or that replaced the contents. Two states of a collection
	// never have the same. A Store that is not shared leaves it 0.
	Rev Rev
}

// NewCollection returns the top-level field with that name and value. Its
// elements carry their ids in the field called idMember.
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
	switch {
	case name == "$schema":
	case value.Kind() == '{':
		return Object
	case value.Kind() == '[':
		return Array
	}
	return Other
}

// An Element is an element of an array, usually an object with an id.
type Element struct {
	// Key is the element's id as text (see Keys), or a position key if the
	// element has no usable id or an earlier element has the same.
	Key   string
	Value jsontext.Value // valid JSON, white space allowed

	// Compact reports that Value has no white space between tokens. A Store that
	// does not know leaves it false.
	Compact bool
}

// A Change sets or deletes one element of a collection.
//
// If the collection has an element with that ID, the value replaces it in its
// place; otherwise it is appended. With an empty ID the change is for the whole
// top-level field: it is replaced, added at the end of the database, or deleted.
type Change struct {
	Collection string
	ID         string
	Value      jsontext.Value // valid JSON; nil: deleted

	// Next is the name of the top-level field before which a new one is inserted. If
	// that field does not exist, the new one becomes the last. A SharedStore may ignore it.
	Next string
}
