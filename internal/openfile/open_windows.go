package openfile

import (
	"io/fs"
	"os"
	"runtime"

	"golang.org/x/sys/windows"
)

// ShareAll lets other programs read, write, rename and remove an open file. Package os does
// not allow renaming and removing.
const ShareAll = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE

func open(path string, flag int, _ fs.FileMode) (*os.File, error) {
	access := uint32(windows.GENERIC_READ)
	switch flag & (os.O_RDONLY | os.O_WRONLY | os.O_RDWR) {
	case os.O_WRONLY:
		access = windows.GENERIC_WRITE | windows.FILE_READ_ATTRIBUTES
	case os.O_RDWR:
		access = windows.GENERIC_READ | windows.GENERIC_WRITE
	}
	how := uint32(windows.OPEN_EXISTING)
	if flag&os.O_CREATE != 0 {
		how = windows.OPEN_ALWAYS
	}
	if flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0 {
		how = windows.CREATE_NEW
	}
	return Create(path, access, ShareAll, how)
}

var lastStatus = windows.NewLazySystemDLL("ntdll.dll").NewProc("RtlGetLastNtStatus")

// Create calls CreateFile of Windows. For a removed file that a program still has open, the
// error is ERROR_DELETE_PENDING instead of ERROR_ACCESS_DENIED.
func Create(path string, access, share, how uint32) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	knowsStatus := lastStatus.Find() == nil
	runtime.LockOSThread() // each thread has another status
	defer runtime.UnlockOSThread()
	flags := uint32(windows.FILE_ATTRIBUTE_NORMAL | windows.FILE_FLAG_BACKUP_SEMANTICS)
	h, err := windows.CreateFile(name, access, share, nil, how, flags, 0)
	if err == nil {
		return os.NewFile(uintptr(h), path), nil
	}
	if err == windows.ERROR_ACCESS_DENIED && knowsStatus {
		if status, _, _ := lastStatus.Call(); windows.NTStatus(status) == windows.STATUS_DELETE_PENDING {
			err = windows.ERROR_DELETE_PENDING
		}
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: err}
}
