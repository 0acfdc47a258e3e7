// Package filestore keeps a pickup database in one JSON file that remains its
// user's: people edit it by hand, keep it in git and mount it into containers
// while a Store serves it.
//
// A Store promises:
//
//   - A Commit that returns no error is on stable storage.
//   - The file is at every moment the complete old or the complete new document,
//     also after kill -9 or a power cut. If the file has to be written in place
//     (it is a mount point, its directory is not writable, or a new file could
//     not keep its owner) this holds after the next start. If the system cannot
//     swap two names, the old file moves aside and is missing for microseconds.
//   - A finished edit is never lost: it is loaded, merged with the changes made
//     at the same moment, or kept as db.json.conflict-TIME.
//   - A file that does not parse is never written to. It is the user's text.
//   - A disk that fails makes the Store read-only, not wrong.
//
// It does not promise anything for disks that lie about a flush, several servers
// that write one file, edits through mmap during a write, network file systems,
// and shares of another machine's files that have to be written in place.
//
// A [Store] implements storage.Store. It starts no goroutine that outlives a
// call: Commit works in its caller's goroutine, and the goroutine that iterates
// over Watch follows the file.
//
// # Map
//
// Begin to read with Store.Commit (store.go) and target.write (write.go). Each
// part of a Store has a type of its own, and Store.mu guards them all:
//
//	file            the path, and the files beside it        file.go
//	lock            keeps other servers away                 lock.go
//	target          the file as writes find and leave it     write.go
//	mode            how it is written: swap, moveAside,
//	                inPlace or readOnly                      swap.go, moveaside.go, inplace.go
//	displacedFiles  old files that an editor may have open   displaced.go
//	readState       why the file cannot be read              look.go
//	ownWrites       what an edit may undo                    ownwrites.go
//
// The package document edits the text, and internal/disk has the system calls.
//
// # A start
//
//	find the real file behind symlinks                                      open.go
//	lock a file beside it, and its inode                                    lock.go
//	find out by trying which mode the file and its directory allow          probe.go
//	complete or undo what a crash interrupted                               recover.go
//	load the file                                                           look.go
//
// # A write
//
//	collect edits that were finished in displaced files                     displaced.go
//	load an edit of the file itself; an edit is ErrConflict                 look.go
//	write the document in the mode of the file, durably                     write.go
//	let readers and watchers see it                                         store.go
//	remove displaced files that nobody can write to any more                displaced.go
//
// The mode swap (swap.go):
//
//	write the document to a draft beside the file, and sync it
//	swap the names of draft and file
//	check what was displaced: the old file gets a name of its own, because a
//	program may have it open; an edit is put back, and the write begins again
//	sync the directory
//
// The mode move aside (moveaside.go) serves systems that cannot swap names. The
// file moves aside and is checked there, then the draft takes its name. Recovery
// puts right a crash between the two.
//
// The mode in place (inplace.go) serves files that cannot be replaced:
//
//	check that the inode is the one that is locked, and still has a name
//	keep other programs from opening it, with a lease
//	check that it is in the known state; else the write begins again
//	reserve the space for all that follows
//	make a redo record durable: in the file, or in Options.JournalDir
//	write the document over the old one, cut off the rest, and sync
//	drop the record
//
// # The record in the file
//
// Without a directory of records, the last step but one cuts the record off with the file's
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
// The write of the document also writes zeros from the end of the new document to the record, in the
// same sync as the document. So in every state in which the document is whole,
// a NUL or the end of the file follows it. That lets a start deal with records
// that are damaged all the same: a file system with larger blocks than it says,
// a file written by an earlier version, a write of the record that was cut off.
// A start goes by the first rule that applies:
//
//  1. The record is whole. Where each sector of the text is the old one, the
//     new one or zero, the write is completed. Otherwise another program edited the
//     file, and the edit wins if it parses.
//  2. The first or the last line of the record can be read, and the file begins
//     with the old or the new document by its checksum, and only the record
//     follows. The record is cut off. While there is a record the change is not
//     acknowledged, so either document is right.
//  3. The text up to the first NUL parses, and what follows can be the rest of
//     a record: zeros, then the beginning of a record, or whole sectors. The
//     file is cut off there. Unless it is all zeros, what followed is kept as a
//     conflict copy.
//     If that cannot be made the log has its length and its SHA-256.
//
// Any other file is left alone, and the start fails. A record in the file that
// fits into one sector, and documents of the same length, need no rule of their
// own. A start that is cut off leaves a state to which a rule applies, because
// it writes the text and cuts off the record in the same order as a write.
//
// # Files
//
// The store has these files beside db.json:
//
//	.db.json.tmp-OLD-NEW     a draft, named for the sums of both documents
//	.db.json.prev-SUM-N      a displaced file
//	.db.json.aside-SUM-N     the old file during a write in the mode move aside
//	.db.json.lock            the lock file
//	db.json.conflict-TIME    a conflict copy: an edit that could be neither loaded
//	                         nor merged; it is the user's
package filestore
