// Package filestore keeps a pickup database in one JSON file that remains its user's: people edit
// it by hand, keep it in git and mount it into containers while a Store serves it.
//
// A Store promises:
//
//   - A Commit that returns no error is on stable storage.
//   - The file is at every moment the complete old or the complete new document; see
//     internal/durable for the exceptions.
//   - A finished edit is never lost: it is loaded, merged with the changes made at the same moment,
//     or kept as db.json.conflict-TIME.
//   - A file that does not parse is never written to. It is the user's text.
//   - A disk that fails makes the Store read-only, not wrong.
//
// A [Store] implements storage.Store. It starts no goroutine that outlives a call: Commit works in
// its caller's goroutine, and the goroutine that iterates over Watch follows the file.
//
// # Map
//
// Start at Store.Commit (store.go) and Store.commit (transaction.go). Store.mu guards everything:
//
//	open.go         Open, with options.go
//	start.go        the first load of a file
//	store.go        the methods of a Store
//	state.go        what a Store and its files share
//	datafile.go     a file and the contents from it
//	refresh.go      compares the file with what was last seen, and loads edits
//	lateedits.go    merges edits of displaced files
//	watch.go        when to look at the file
//	folder.go       a directory of files, one for a member; names.go has their names
//	transaction.go  a commit, also to several files of a folder
//	intent.go       the commit intent, which makes that safe across a crash
//	undo.go         takes back a commit of which a file cannot be written
//	writefile.go    writes a file that is not the file of a Store
//
// The package document edits the text, internal/durable replaces the content of a file, and
// internal/disk has the system calls.
//
// # A write
//
//	collect edits that were finished in displaced files                     lateedits.go
//	load an edit of the file itself; an edit is ErrConflict                 refresh.go
//	write the document in the mode of the file, durably                     internal/durable
//	let readers and watchers see it                                         transaction.go
//	remove displaced files that nobody can write to any more                internal/durable
//
// A commit to several files of a folder first writes a commit intent, .pickup.redo. When the intent
// is durable the commit is decided: the next start completes it after a crash.
package filestore
