// Package durable replaces the content of a file as a whole, and keeps what that displaces. It
// knows bytes and not JSON.
//
// A [File] promises:
//
//   - A Write that returns no error is on stable storage.
//   - The file is at every moment the complete old or the complete new content, also after kill -9
//     or a power cut. If the file has to be written in place (it is a mount point, its directory is
//     not writable, or a new file could not keep its owner) this holds after the next Open and
//     CompleteWrite. If the system cannot swap two names, the old file moves aside and is missing for
//     microseconds.
//   - An edit that another program saves during a write keeps the name of the file, is a displaced
//     file, or becomes a conflict copy.
//
// It promises nothing for disks that lie about a flush, several servers that write one file, edits
// through mmap during a write, network file systems, and shares of another machine's files that
// have to be written in place.
//
// # Map
//
//	env.go           what the files of a store share
//	file.go          File: its path, its directory, what was last seen
//	content.go       what a file contains
//	open.go          opens a file
//	lock.go          keeps other servers away
//	writable.go      finds out by trying which mode the file and its directory allow
//	recover.go       completes or undoes what a crash interrupted
//	write.go         Write, in the mode of the file
//	replacement.go   the modes swap and move aside
//	inplace.go       the mode in place
//	redo.go          the redo record of that mode
//	displaced.go     old files that an editor may have open
//	conflictcopy.go  edits that could be neither loaded nor merged
//	errors.go        a call that the system refuses becomes an error of storage
//
// The write of each mode has its steps as comments. A replacement swaps the names of the file and a
// draft, and checks what that displaced. Where a system cannot swap names, the file moves aside and
// the draft takes its name.
//
// On Windows an open file blocks other programs, and other programs block the store
// (disk.Calls.OpenBlocks). So nothing but the lock file is open between two operations, and guards
// keep others from preventing the second rename of a write after the first (draft.guard). A write
// that another program prevents has changed nothing. The caller tries it again, from the look at
// the file on, with the store unlocked meanwhile.
//
// # The redo record
//
// A write in place first writes a redo record, from which the next start completes or undoes it
// after a crash. The record is at the end of the file, and is cut off after the write. A file system
// may do that in two steps: write zeros from the new end to the end of that block, then make the new
// size durable. If the power fails between the two, any sector of that block may be zero. So the
// record starts in the first block after both contents, where no zeros are written: after a power
// cut the record is whole, or gone with the size. And the write of the content also writes zeros up
// to the record, so that a complete content is always followed by a NUL or the end of the file.
//
// A record may be damaged all the same: by a file system with larger blocks than it reports, or when
// the write of the record is interrupted. CompleteWrite applies the first rule that fits:
//
//  1. The record is whole. If each sector of the text is the old one, the new one or zero, the write
//     is completed. Otherwise another program edited the file, and the edit wins if it is valid.
//  2. The text up to the first NUL, which no content has, is valid. The file is cut off there: the
//     change was not acknowledged, so the old and the new content are both right. The rest becomes a
//     conflict copy, or the log has its length and SHA-256, unless the rest is all zeros or starts
//     with the first line of a record of this content.
//
// Any other file is left alone. A start that is interrupted leaves a state to which a rule applies,
// because it works in the order of a write.
//
// # Files
//
// These files are next to db.json:
//
//	.db.json.tmp-OLD-NEW     a draft, named for the sums of both contents; with -N
//	                         after it if a displaced file still has that name
//	.db.json.prev-SUM-N      a displaced file
//	.db.json.aside-SUM-N     the old file during a write in the mode move aside
//	.db.json.lock            the lock file
//	db.json.conflict-TIME    a conflict copy: an edit that could be neither loaded
//	                         nor merged, or what was served when the file had lost
//	                         its content; it belongs to the user
package durable
