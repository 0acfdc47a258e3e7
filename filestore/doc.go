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
// It promises nothing for disks that lie about a flush, several servers that write
// one file, edits through mmap during a write, network file systems, and shares of
// another machine's files that have to be written in place.
//
// A [Store] implements storage.Store. It starts no goroutine that outlives a
// call: Commit works in its caller's goroutine, and the goroutine that iterates
// over Watch follows the file.
//
// # Map
//
// Start at Store.Commit (store.go), Store.commit (transaction.go, also for several files of a
// folder, with undo.go) and target.write (write.go). Store.mu guards the parts, each with a type of its own:
//
//	folder          a directory of files, one for a member   folder.go
//	dataFile        a file and the contents from it          datafile.go
//	file            the path, and the files next to it       file.go
//	lock            keeps other servers away                 lock.go
//	target          the file as writes find and leave it     write.go
//	mode            how it is written: swap, move aside      replacement.go
//	                or in place                              inplace.go
//	displacedFiles  old files that an editor may have open   displaced.go
//	readState       why the file cannot be read              look.go
//	watcher         when to look at the file                 watch.go
//
// A call that the system refuses, as with a full disk, becomes an error of storage in
// errors.go; writable.go reports it until the file can be written again.
//
// The package document edits the text, and internal/disk has the system calls.
//
// # A start
//
//	find the real file behind symlinks                                      start.go
//	lock a file next to it, and its inode                                   lock.go
//	find out by trying which mode the file and its directory allow          writable.go
//	complete or undo what a crash interrupted                               recover.go
//	load the file                                                           look.go
//
// # A write
//
//	collect edits that were finished in displaced files                     lateedits.go
//	load an edit of the file itself; an edit is ErrConflict                 look.go
//	write the document in the mode of the file, durably                     write.go
//	let readers and watchers see it                                         transaction.go
//	remove displaced files that nobody can write to any more                displaced.go
//
// The write of each mode has its steps as comments: a replacement (replacement.go) swaps
// the names of the file and a draft, and checks what that displaced; where a system cannot
// swap names, the file moves aside and the draft takes its name; in place (inplace.go) is
// for files that cannot be replaced.
//
// On Windows an open file blocks other programs, and other programs block the store
// (disk.Calls.OpenBlocks). So nothing but the lock file is open between two operations, and
// guards keep others from preventing the second rename of a write after the first
// (draft.guard). A write that another program prevents has changed nothing. Commit tries it
// again, from the look at the file on, with the store unlocked meanwhile.
//
// # The redo record
//
// A write in place first writes a redo record, from which the next start completes
// or undoes it after a crash (redo.go). This record is at the end of the file, and is
// cut off after the write. A file system may do that in two steps: write zeros from the new
// end to the end of that block, then make the new size durable. If the power fails between the
// two, any sector of that block may be zero. So the record begins in the first block after both
// documents, where no zeros are written: after a power cut it is whole, or gone with the size.
// And the write of the document also writes zeros up to the record, so that a complete document
// is always followed by a NUL or the end of the file.
//
// A record may be damaged all the same: by a file system with larger blocks than it
// reports, or when the write of the record is interrupted. Open applies the first
// rule that fits:
//
//  1. The record is whole. If each sector of the text is the old one, the new one
//     or zero, the write is completed. Otherwise another program edited the file,
//     and the edit wins if it parses.
//  2. The text up to the first NUL, which no JSON has, parses. The file is cut off there: the
//     change was not acknowledged, so the old and the new document are both right. The rest
//     becomes a conflict copy, or the log has its length and SHA-256, unless it is all zeros
//     or begins with the first line of a record of this document.
//
// Any other file is left alone, and Open fails. A start that is interrupted leaves a
// state to which a rule applies, because it works in the order of a write.
//
// # Files
//
// The store has these files next to db.json:
//
//	.db.json.tmp-OLD-NEW     a draft, named for the sums of both documents; with -N
//	                         after it if a displaced file still has that name
//	.db.json.prev-SUM-N      a displaced file
//	.db.json.aside-SUM-N     the old file during a write in the mode move aside
//	.db.json.lock            the lock file
//	.pickup.redo             in a folder: a commit to several files
//	db.json.conflict-TIME    a conflict copy: an edit that could be neither loaded
//	                         nor merged, or what was served when the file had lost
//	                         its content; it is the user's
package filestore
