// Package database is a small database whose only file is a JSON file that
// people also edit by hand.
//
// # Nouns
//
// A [storage.Store] keeps the database durably: a file, an etcd prefix, or memory
// ([MemStore]). It moves batches of changes and knows nothing else.
//
// A [DB] is a store's current contents and the one way to change them. What it
// shows is a [Snapshot]: immutable, read without a lock by as many as like. A
// [query.Query] picks records of a snapshot. A [Tx] prepares the next snapshot.
//
// A [schema.Schema] holds the rules that writes must keep. What people have put into
// the file by hand is served as it is, rules or no rules.
//
// A [storage.Feed] tells followers what has changed.
//
// # Data paths
//
// A read takes the current snapshot and never touches the store.
//
// A write is a function that [DB.Update] runs on a [Tx]. Whoever calls while
// another write is on its way to the store waits, and all that wait go
// together in one [storage.Store.Commit]; the first of them leads, so that needs
// no goroutine. Then, always in this order: the store has it; the
// snapshot is swapped; the followers are woken; the callers get their answer.
// A reader therefore never sees what a power cut could take back.
//
// If somebody else has written meanwhile the store refuses with [storage.ErrConflict],
// and the functions are run again on what it holds now: they are operations on
// records, not documents, so both changes survive.
//
// A hand edit arrives through [storage.Store.Watch] as the whole new contents. It is
// compared with what was there, and only the difference is told.
//
// The package starts no goroutine that outlives a call. A large load is shared
// out among all processors.
//
// # Invariants
//
// A [Snapshot], a [Record], a [storage.Batch] and every value in them never change
// once they are handed out. A revision is never used twice. The changes that
// [DB.Changes] yields, made on the snapshot they begin from, lead to the
// current one. A number that was given out as an id is not given out again
// while the process lives.
//
// All methods of [DB], [Snapshot], [schema.Schema], [storage.Feed] and [MemStore] may be
// called from several goroutines at once. A [Tx] belongs to the function that
// it was given to.
package database
