// Package storage is the seam between the database and what keeps it durably.
//
// A [Store] loads the whole contents as a [Batch], commits [Change] values if it
// is still at the revision they were made for, and reports what others write. A
// [SharedStore] is one that several processes use at the same time. The database
// imports this package and no store; a store imports this package and not the
// database.
//
// storage.go has the interface and its types; keys.go the keys of the elements of an array;
// place.go the lines and columns of values; errors.go what a caller can act on; feed.go the
// batches that a store keeps for its followers. The test suite storetest is the contract.
package storage
