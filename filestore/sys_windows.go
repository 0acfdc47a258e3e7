package filestore

import "os"

func links(info os.FileInfo) uint64 { return 1 }

func owner(info os.FileInfo) (uid, gid int, ok bool) { return 0, 0, false }

func blockSize(info os.FileInfo) int64 { return 4 << 10 }

func dress(f *os.File, like string) {}
