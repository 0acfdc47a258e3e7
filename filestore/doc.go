// Package filestore keeps a pickup database in one JSON file that stays its
// user's: people edit it by hand, keep it in git and mount it into containers
// while a Store serves it.
//
// What a Store promises:
//
//   - A Commit that returns no error is on stable storage.
//   - The file is at every moment the complete old or the complete new
//     document, also after kill -9 or a power cut. Where the file cannot be
//     replaced and has to be written in place (it is a mount point, its folder
//     is closed to us, or a new file could not keep its owner) this holds after
//     the next start. So it does where the system cannot swap two names: there
//     the old file moves aside, and for microseconds there is none.
//   - A finished hand edit is never thrown away: it is loaded, merged with the
//     changes made at the same moment, or kept beside the file as
//     db.json.conflict-TIME.
//   - A file that does not parse is never written to. It is the user's text.
//   - A disk that fails makes the Store read-only, not wrong.
//
// Not promised: disks that lie about a flush, several servers that write one
// file, edits through mmap while we write, network file systems, and shares
// of another machine's files where the file has to be written in place.
//
// A [Store] implements storage.Store. It starts no goroutine that outlives a
// call: Commit works in its caller's, and what has to happen while nobody
// commits (following the file) happens in the goroutine that iterates over
// Watch.
//
// # Steps
//
// Comments in the code call the steps of a start and of a write by these names.
//
// A start (open.go):
//
//	S0  find the real file behind symlinks
//	S1  take it: a lock on a file beside it, and one on its inode (lock.go)
//	S2  find out by trying which mode the place allows (probe.go)
//	S3  put right what a crash left (recover.go), then load
//
// A write of a document that replaces the file, mode R (write.go, exchange.go):
//
//	R0  take in edits that were finished in displaced files (displaced.go)
//	R1  take in an edit of the file itself (look.go); an edit is ErrConflict
//	R2  write the whole new document to a draft beside the file, and sync it
//	R3  let draft and file swap names
//	R4  look at what was displaced: is it what we knew?
//	R5  if so it is kept under a name of its own, for somebody may have it open;
//	    else it is an edit, which is put back, and the write begins again at R0
//	R6  sync the folder
//	R7  the document is durable, and may be seen
//	R8  remove displaced files that nobody can write into any more
//
// Mode L, where names cannot be swapped (aside.go), has another R3 and R4: the
// file moves aside and is looked at there, then the draft takes its name. A
// crash between the two is put right by S3.
//
// A write into the file, mode F, where it cannot be replaced (inplace.go):
//
//	F0  the inode is the one that is locked, and still has a name
//	F1  a lease keeps everybody else from opening it
//	F2  it is as we know it; else the write begins again at R0
//	F3  reserve the space for all that follows
//	F4  make a redo record durable: behind the text, or in the folder of records
//	F5  write the text, cut off what is too much, sync
//	F6  drop the record
//
// The files of ours beside db.json are, by the letters that comments use:
//
//	T  .db.json.tmp-OLD-NEW      a draft, named for the sums of both documents
//	P  .db.json.prev-SUM-N       a displaced file
//	A  .db.json.aside-SUM-N      in mode L: the file between R3 and R5
//	L  .db.json.lock
//	C  db.json.conflict-TIME     an edit that could be neither loaded nor merged; the user's
package filestore
