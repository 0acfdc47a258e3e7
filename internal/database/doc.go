// Package database holds the contents of a store in memory, answers queries
// about them, and changes them one transaction after another.
//
// # Nouns
//
// A [storage.Store] keeps the database durably: a file, a cluster, or memory in
// tests. It knows batches of changes and nothing else.
//
// A [DB] is the current contents of a store and the only way to change them. Its
// [Snapshot] is immutable and read without a lock. A [query.Query] selects records
// of a snapshot. A [Tx] prepares the next snapshot.
//
// A [schema.Schema] has the rules that writes must keep. External edits are served
// even if they break them.
//
// A [Revision] is one step from a snapshot to the next. The history keeps the
// latest of them in memory, and [DB.Since] returns them to followers.
//
// # Where to begin
//
//   - record.go, index.go, indexes.go, collection.go and snapshot.go have the state, which knows
//     nothing of its origin; conventions.go the rules and settings of a state,
//     ids.go new ids, and clock.go the time and random ids;
//   - revision.go has one change and the only comparison of two states; batch.go leads from
//     one state to the next by what a store yields;
//   - tx.go, references.go, patch.go and transaction.go have the writes; merge.go applies and
//     validates the changes between two states, for an undo, a reset, a commit of a session and a
//     patch of the database; undo.go has the ways back; errors.go what a write is refused
//     with;
//   - find.go has the reads, selection.go finds records by index, and embed.go has results;
//     unknown.go decides that a name in a query is unknown; relate.go has the relations between
//     collections;
//   - history.go keeps the latest revisions, and named.go other states under names; edits.go
//     notices the writes that an edit by hand undoes, and keeps the states before the latest
//     edits;
//   - db.go has Open, and update.go commits the functions that are given to Update; follow.go
//     has what comes from the store and what followers see, and shared.go what only stores with
//     several users need;
//   - fork.go has copies in memory, as sessions use them;
//   - check.go finds what breaks the schema.
//
// # Order of events
//
// A read uses the current snapshot and never touches the store.
//
// A write is a function that [DB.Update] runs on a [Tx]. Calls that arrive during a
// commit wait for it and then share one [storage.Store.Commit], led by one of
// them. Each has a revision of its own. Then, always in this order:
//
//  1. the store makes the changes durable;
//  2. the snapshot is swapped, so readers see them;
//  3. the revisions enter the history, and followers are woken;
//  4. the callers return.
//
// So a reader never sees what a power cut could undo, and a caller that returns
// finds its revision in the history.
//
// After an external edit the store refuses with [storage.ErrConflict], and the
// functions run again on the new contents. They are operations on records, not
// documents, so both changes survive.
//
// An external edit arrives through [storage.Store.Watch] as the whole new
// contents. Loading it compares each value once: equal values keep their memory,
// and the others become the changes of a revision.
//
// The package starts no goroutine that outlives a call. A large load is split
// among all processors.
//
// # Shared stores
//
// If the store is a [storage.SharedStore], others change the database too. What they
// write arrives in the same way, as changes. A write that loses the race against
// another takes over the batches that it has missed and runs again. Updates that
// change nothing, refusals among them, are answered only if the state that they have
// seen is confirmed to be the latest: they are statements about the data, as reads
// are. DB.write is not held while a commit waits for the network.
//
// [DB.Snapshot] may have been overtaken by others. [DB.Fresh] has not been, and
// [DB.Reach] waits for a revision.
//
// # Invariants
//
// A [Snapshot], a [Record], a [Revision] and every value in them never change once
// they are handed out. A revision number is never used for two states. The changes of
// a revision, made on the records of its Before, lead to the records of its After. A
// number that was given out as an id is not given out again while the process lives.
//
// The methods of [DB] and [Snapshot] may be called from several goroutines at
// once. A [Tx] belongs to the function that it was given to.
package database
