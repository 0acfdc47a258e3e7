// Package etcdstore keeps a pickup database in an etcd cluster that several servers, called
// replicas, share.
//
// A [Store] implements storage.SharedStore. Each record has its own key, and every commit
// writes one more key, the head. The revision of the database is the revision at which etcd
// last wrote the head: it is the same for every replica and after every restart. There is
// no leader, lease or lock. Any replica may commit at any time.
//
// # Map
//
//	Open, Close, the state of a Store          store.go
//	the URL of a database                      url.go
//	calls to etcd, and their errors            cluster.go, errors.go
//	the keys and their values                  keys.go, head.go
//	from changes to operations on keys         plan.go
//	one transaction, and its outcome           commit.go, resolve.go
//	from keys to changes                       decode.go
//	load everything at one revision            load.go
//	follow other replicas                      watch.go
//	create a database                          import.go
//
// # Keys
//
// All keys begin with the path of the URL and a slash. In names and ids, %XX replaces "/",
// "%" and control characters.
//
//	head                       a JSON object, see type head
//	rules                      the JSON Schema; absent: there are no rules
//	c/000002/drivers           a top-level field, by rank: the value of an object or a
//	                           scalar; of a collection [], or ["slug"] if the ids are in
//	                           the field slug
//	r/drivers/000000000007/42  a record, by place and id
//
// Keys sort as the fields and records do in the file. A record keeps its place when its
// value is replaced, a new record gets the next place, and a deleted record leaves a gap.
// The ids in keys are stored, not computed: replicas that load at different times must
// agree on them.
//
// # Commits
//
// A commit is one transaction. On the condition that the head has not changed since the
// base, it writes the new head and the keys of the changes. Nested transactions hold up to
// 4,032 operations. A larger commit is refused, and so is one of more than about a
// mebibyte. Only an import, which creates a database, uses several transactions. The last
// transaction writes the head.
//
// If etcd does not report the outcome of a transaction, resolve.go finds it out. It writes
// an empty head, after which the transaction can no longer succeed, or it follows the chain
// of heads back to the commit that came first. A transaction can be sent again safely,
// because the condition on the head holds only once.
//
// # Invariants
//
//   - I1: The contents change only in a transaction that writes the head, on the condition
//     that the base is still the head, with the same revision and value. All heads differ.
//     So a commit cannot go to another or restored database whose head happens to have the
//     same revision.
//   - I2: head.Prev is the revision of the previous head. Followers check each link of
//     this chain, and load everything if a link is missing.
//   - I3: The contents at a revision depend only on the keys at that revision.
//   - I4: Each operation of a transaction has a different key. Deletions of ranges end
//     before the places of new records.
//   - I5: The revision of a collection is the last revision of its key under c/.
//   - I6: A commit is acknowledged after the response of etcd, when most nodes have written
//     it to disk.
//   - I7: Latest is a linearizable read of the head.
//   - I8: A follower only moves forward, along the chain of heads or by a load.
//   - I9: head.Keys is the number of keys, without the head, that the transaction wrote or
//     deleted. A follower that receives another number loads everything: etcd before 3.5.16
//     loses the deletions of a revision that is compacted.
//
// # Other writers
//
// A hand edit with etcdctl changes a key without the head. Each replica that receives the
// edit tries to commit a head with Reload, which makes every replica load everything. A
// read-only replica loads everything with the next head. A value that is not JSON stops
// writes until somebody corrects it; reads continue with the last valid state.
package etcdstore
