// Package etcdstore keeps a pickup database in an etcd cluster, where several
// servers, called replicas, share it.
//
// A [Store] implements storage.SharedStore. Each record has a key of its own, and
// one key, the head, is written by every commit. The revision at which etcd wrote the
// head last is the revision of the database: it is the same for every replica and
// after every restart. There is no leader, lease or lock. Any replica may commit at
// any time.
//
// # Map
//
//	Open, Close, what a Store knows            store.go
//	the URL of a database                      url.go
//	calls to etcd, and their errors            cluster.go, errors.go
//	the keys and their values                  keys.go
//	from changes to keys                       plan.go
//	one transaction, and its outcome           commit.go, resolve.go
//	from keys to changes                       decode.go
//	load everything at one revision            load.go
//	follow other replicas                      watch.go
//	a new database                             import.go
//
// # Keys
//
// All keys begin with the path of the URL and a slash. In names and ids "/", "%" and
// control characters are %XX.
//
//	head                       a JSON object, see type head
//	rules                      the JSON Schema; absent: there are no rules
//	c/000002/drivers           a top-level member by its rank: the value of an object
//	                           or a scalar; of a collection [], or ["slug"] if its ids
//	                           are in the field slug
//	r/drivers/000000000007/42  a record by its place and its key
//
// The order of keys is the order of the file. A place never changes: a record that is
// replaced keeps it, a new one gets the next, and a deleted one leaves a gap. Keys of
// records are stored and not computed, because replicas that load at different times
// must agree on them.
//
// # A commit
//
// A commit is one transaction: if the head has not changed since the base, it writes the
// head and the keys of the changes. Nested transactions carry 4,032 operations. A commit
// with more, or with more than about a mebibyte, is refused. Only an import, which makes
// a database, needs several transactions: the last one writes the head.
//
// If etcd does not report the outcome of a transaction, resolve.go finds it out: it
// writes a head with nothing else, after which the transaction cannot succeed any more,
// or it reads from the chain of heads which one was first. Writes may be repeated,
// because each is conditional on the head.
//
// # Invariants
//
//   - I1: The contents change only in a transaction that writes the head, on the
//     condition that the head and its revision are the base. No two heads are equal, so
//     nothing is written to another database, or to a restored one, whose head happens
//     to have the same revision.
//   - I2: head.Prev is the revision of the previous head. Followers check each link of
//     this chain, and read everything if one is missing.
//   - I3: The contents at a revision are a function of the keys at that revision.
//   - I4: No two operations of a transaction are for the same key. Range deletes end
//     before the places that the transaction puts.
//   - I5: The revision of a collection is the one at which its key under c/ was
//     written last.
//   - I6: A commit is acknowledged after etcd answers, when most nodes have it on disk.
//   - I7: Latest is a linearizable read of the head.
//   - I8: A follower moves forward only, along the chain of heads or by a load of
//     everything.
//   - I9: head.Keys is the number of keys other than the head that its transaction wrote
//     or deleted. A follower that receives another number reads everything: before
//     3.5.16, etcd loses the deletes of a revision to which it was compacted.
//
// # Other writers
//
// A hand edit with etcdctl changes a key and not the head. Each replica that sees it tries
// to commit a head that makes every replica read everything (head.Reload). One that may
// not write reads everything with the next head. A value that is not JSON stops writes
// until it is corrected; reads continue with the last good state.
package etcdstore
