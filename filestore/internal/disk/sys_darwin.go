package disk

import "golang.org/x/sys/unix"

const (
	swapNames = unix.RENAME_SWAP // on APFS
	noReplace = unix.RENAME_EXCL
)

func renameWith(from, to string, flags uint32) error { return unix.RenamexNp(from, to, flags) }
