package filestore

import "os"

func links(info os.FileInfo) uint64 { return 1 }

func owner(info os.FileInfo) (uid, gid int, ok bool) { return 0, 0, false }

func dress(f *os.File, like string) {}
