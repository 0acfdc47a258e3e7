package storage

import (
	"context"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// A Rev counts the states of one Store. It grows with each batch, whoever
// wrote it, and means nothing to another Store or after a restart.
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
	// states between two of them are never visible on their own.
	//
	// If the store is no longer at base, Commit changes nothing and returns an
	// error wrapping ErrConflict; Load then returns the newer contents.
	Commit(ctx context.Context, base Rev, updates ...[]Change) (Rev, error)

	// Watch yields every batch after rev, in order, whoever wrote it, until
	// ctx is done. A store that cannot tell what changed yields a batch with
	// Reset set, which may stand for several.
	//
	// An error says that the store cannot be read at present (a hand edit that
	// does not parse: ErrBroken) and does not end the sequence; the next batch
	// says that it can be read again. That batch has no changes and repeats
	// the last revision where the contents are what they were before.
	Watch(ctx context.Context, after Rev) iter.Seq2[Batch, error]

	// KeyBy sets which member carries the ids of a collection's elements;
	// before the first call it is "id". The elements get new keys, in a new
	// revision. member may be called until the next KeyBy and always returns
	// the same. An error wraps ErrShape: the store cannot use these members.
	KeyBy(member func(collection string) string) error
}

// A Batch is one step of a database from one state to the next.
type Batch struct {
	Rev Rev

	// Reset says that Contents is the whole of the new state. Otherwise
	// Changes leads to it from the state before.
	Reset    bool
	Contents []Collection
	Changes  []Change
}

// A Kind says what a top-level member of the database is.
type Kind uint8

const (
	Array  Kind = iota // a collection of records
	Object             // a singular resource
	Other              // a scalar, or "$schema": kept, not served
)

// A Collection is a top-level member of the database, in the order of the
// file.
type Collection struct {
	Name     string
	Kind     Kind
	Elements []Element      // of an Array, in their order
	Value    jsontext.Value // of an Object or Other
}

// An Element is what stands in an array: as a rule an object with an id.
type Element struct {
	// Key is the element's id as text (see Keys), or a position key where the
	// element has no usable id or an earlier element has the same.
	Key   string
	Value jsontext.Value // valid JSON, white space allowed

	// Compact says that there is none between the tokens of Value. It spares a
	// look; a Store that does not know leaves it out.
	Compact bool
}

// A Change sets or deletes one element of a collection.
//
// An ID that the collection has replaces that element and keeps its place; one
// that it does not have is appended. An empty ID stands for the whole
// top-level member: set, it is replaced, or added at the end of the database;
// deleted, it is removed.
type Change struct {
	Collection string
	ID         string
	Value      jsontext.Value // valid JSON; nil: deleted
}
