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
//	F4  make a redo record durable: in the file, or in the folder of records
//	F5  write the text, cut off what is too much, sync
//	F6  drop the record
//
// # The record in the file
//
// Where there is no folder of records, F5 cuts the record off with the file's
// end. A file system may do that in two steps: it writes zeros from the new end
// to the end of that block, and makes the new size durable later. ext4 does. If
// the power fails between the two, the file has its old size, and any sector of
// that block may be zero. A record that began in that block would be torn.
//
// So the record begins in the first block after both documents, where no zeros
// are written. After a power cut it is whole, or gone with the size. That is
// simpler than a mark that says "done": a mark would have to be durable before
// the file is cut off, in a block of its own for the same reason, and a start
// would have to deal with a mark whose record or text is missing. No order of
// steps needs a sync more than before: one for the record, one for the text
// and one for the size.
//
// F5 also writes zeros from the end of the new document to the record, in the
// same sync as the document. So in every state in which the document is whole,
// a NUL or the end of the file follows it. That lets a start deal with records
// that are damaged all the same: a file system with larger blocks than it says,
// a file written by an earlier version, a write of the record that was cut off.
// A start goes by the first rule that applies:
//
//  1. The record is whole. Where each sector of the text is the old one, the
//     new one or zero, the write is completed. Otherwise somebody edited the
//     file, and the edit wins if it parses.
//  2. The first or the last line of the record can be read, and the file begins
//     with the old or the new document by its checksum, and only the record
//     follows. The record is cut off. While there is a record the change is not
//     acknowledged, so either document is right.
//  3. The text up to the first NUL parses, and what follows can be the rest of
//     a record: zeros, then the beginning of a record, or whole sectors. The
//     file is cut off there. Unless it is all zeros, what followed is kept as C.
//     Where C cannot be made the log has its length and its SHA-256.
//
// Any other file is left alone, and the start fails. A record in the file that
// fits into one sector, and documents of the same length, need no rule of their
// own. A start that is cut off leaves a state to which a rule applies, for it
// writes the text and cuts off the record in the same order as F5.
//
// # Files
//
// The files of ours beside db.json are, by the letters that comments use:
//
//	T  .db.json.tmp-OLD-NEW      a draft, named for the sums of both documents
//	P  .db.json.prev-SUM-N       a displaced file
//	A  .db.json.aside-SUM-N      in mode L: the file between R3 and R5
//	L  .db.json.lock
//	C  db.json.conflict-TIME     an edit that could be neither loaded nor merged; the user's
package filestore
