// Package storage is the seam between the database and what keeps it durably.
//
// A [Store] loads the whole contents as a [Batch], commits [Change] values made for the
// current revision, and reports the changes of other programs. Several processes use a
// [SharedStore] at the same time. The database imports this package and no store; a store
// imports this package and not the database.
//
// storage.go has the interface and the types of the interface; keys.go the keys of the
// elements of an array; place.go the lines and columns of values; errors.go the errors that
// callers act on; feed.go the latest batches, for followers. The test suite storetest is the
// contract.
package storage
