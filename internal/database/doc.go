// Package database holds the contents of a store in memory, answers queries,
// and makes transactions one after another.
//
// # Nouns
//
// A [storage.Store] keeps the database durably: a file, a cluster, or memory in
// tests. It knows batches of changes and nothing else.
//
// A [DB] is the only way to change the contents of a store. The current contents are
// a [Snapshot], which is immutable and read without a lock. A [query.Query] selects
// records of a snapshot. A [Tx] prepares the next snapshot.
//
// A [schema.Schema] has the rules for writes. An external edit is served even if the
// edit breaks a rule.
//
// A [Revision] is one step from a snapshot to the next. The history retains the latest
// revisions in memory, and [DB.Since] returns revisions to followers.
//
// # Where to begin
//
//   - record.go, index.go, indexes.go, collection.go and snapshot.go have the state;
//     conventions.go has the rules and settings of a state, ids.go new ids, and clock.go the
//     time and random ids;
//   - revision.go has one change and the only comparison of two states; batch.go applies the
//     batches of a store to a state;
//   - tx.go, references.go, patch.go, operation.go, transaction.go and nested.go have the writes;
//     merge.go applies the changes between two states, for an undo, a reset and a commit of a
//     session; undo.go has undo and reset; errors.go has the errors of writes;
//   - find.go has the reads, selection.go finds records by index, and embed.go has results;
//     unknown.go finds unknown names in a query; relate.go has the relations between collections;
//   - history.go retains the latest revisions, and named.go has snapshots with names; edits.go
//     finds writes undone by an edit by hand, and retains the states before the latest edits;
//   - db.go has Open, and update.go has Update and commits; follow.go applies external edits and
//     informs followers, and shared.go is for stores with several users;
//   - fork.go has copies in memory, for sessions;
//   - check.go finds violations of the schema.
//
// # Order of events
//
// A read uses the current snapshot and never touches the store.
//
// A write is a function on a [Tx], run by [DB.Update]. Calls during a commit wait, and
// then share one [storage.Store.Commit], led by one of the callers. Each call has a
// separate revision. Then, always in this order:
//
//  1. the store makes the changes durable;
//  2. the DB swaps the snapshot, so readers see the changes;
//  3. the DB adds the revisions to the history and wakes followers;
//  4. the callers return.
//
// So a reader never sees a change that a power cut could undo, and the revision of a
// call is in the history when the call returns.
//
// After an external edit the store refuses with [storage.ErrConflict], and the
// functions run again on the new contents. The functions are operations on records,
// not documents, so both changes survive.
//
// An external edit arrives through [storage.Store.Watch] as the whole new contents.
// A load compares each value once: equal values share memory with the old state, and
// the others become the changes of a revision.
//
// All goroutines of a call end before the call returns. A large load is split among all
// processors.
//
// # Shared stores
//
// If the store is a [storage.SharedStore], others change the database, too. Their
// writes arrive as changes. A write may lose the race against another write; the DB
// then applies the missed batches, and the function runs again. An update without
// changes, or an error, is a statement about the data, like a read. The DB therefore
// returns such a result only after the store has confirmed that the state was the
// latest. DB.write is not held while a commit waits for the network.
//
// [DB.Snapshot] may be older than the latest writes of others. [DB.Fresh] is not, and
// [DB.Reach] waits for a revision.
//
// # Invariants
//
// A [Snapshot], a [Record], a [Revision] and all values inside are immutable for
// callers. A revision number is never used for two states. The changes of a revision
// turn the records of Before into the records of After. While the process lives, a
// number is not given out twice as a new id.
//
// The methods of [DB] and [Snapshot] may be called from several goroutines at
// once. A [Tx] is valid only in the function of the call of Update.
package database
