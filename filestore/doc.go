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
// A [Store] implements pickup.Store. It starts no goroutine: Commit works in
// its caller's, and what has to happen while nobody commits (following the
// file) happens in the goroutine that iterates over Watch.
package filestore
