package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// A diskImage is the content of a disk: its pages that are not zero. A page never
// changes, so a copy of the map is a copy of the disk.
type diskImage map[int64]*[pageSize]byte

const pageSize = 4096

// readImage returns the content of a file.
func readImage(path string) (diskImage, int64, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	i := make(diskImage)
	for off := 0; off < len(b); off += pageSize {
		if part := b[off:min(off+pageSize, len(b))]; len(bytes.Trim(part, "\x00")) > 0 {
			i.write(part, int64(off))
		}
	}
	return i, int64(len(b)), nil
}

func (i diskImage) read(b []byte, off int64) {
	for n := 0; n < len(b); {
		at := off + int64(n)
		to := b[n:min(len(b), n+int(pageSize-at%pageSize))]
		if page := i[at/pageSize]; page != nil {
			copy(to, page[at%pageSize:])
		} else {
			clear(to)
		}
		n += len(to)
	}
}

func (i diskImage) write(b []byte, off int64) {
	for len(b) > 0 {
		var page [pageSize]byte
		if old := i[off/pageSize]; old != nil {
			page = *old
		}
		n := copy(page[off%pageSize:], b)
		i[off/pageSize] = &page
		b, off = b[n:], off+int64(n)
	}
}

// An access is what a disk was asked to do: a write, or where there is no data
// a flush. Between those it notes what was known at the time.
type access struct {
	off   int64
	data  []byte
	known *knowledge // nil: a write or a flush
}

// A disk is the file of a FUSE file system that stands for a disk with a
// volatile cache: it logs writes and flushes.
type disk struct {
	fs.Inode
	size int64

	mu      sync.Mutex
	content diskImage
	before  diskImage // when the log began; nil: there is none
	log     []access
}

// record begins the log.
func (d *disk) record() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.before, d.log = maps.Clone(d.content), nil
}

// note logs what is known now.
func (d *disk) note(k knowledge) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, access{known: &k})
}

// stop ends the log and returns it.
func (d *disk) stop() (before diskImage, log []access) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before, log = d.before, d.log
	d.before, d.log = nil, nil
	return before, log
}

func (d *disk) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode, out.Size, out.Blksize = 0o600, uint64(d.size), pageSize
	return 0
}

func (d *disk) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_DIRECT_IO, 0
}

func (d *disk) Read(_ context.Context, _ fs.FileHandle, b []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	b = b[:max(0, min(int64(len(b)), d.size-off))]
	d.content.read(b, off)
	return fuse.ReadResultData(b), 0
}

func (d *disk) Write(_ context.Context, _ fs.FileHandle, b []byte, off int64) (uint32, syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if off+int64(len(b)) > d.size {
		return 0, syscall.ENOSPC
	}
	d.content.write(b, off)
	if d.before != nil {
		d.log = append(d.log, access{off: off, data: bytes.Clone(b)})
	}
	return uint32(len(b)), 0
}

func (d *disk) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.before != nil {
		d.log = append(d.log, access{})
	}
	return 0
}

// A shelf is the FUSE file system with the disks, and a folder for what is
// needed to mount them.
type shelf struct {
	fs.Inode
	dir  string
	mu   sync.Mutex
	made int
}

// newShelf mounts one in dir. It disappears with the mount namespace.
func newShelf(dir string) (*shelf, error) {
	s := &shelf{dir: dir}
	at := filepath.Join(dir, "disks")
	if err := os.Mkdir(at, 0o700); err != nil {
		return nil, err
	}
	_, err := fs.Mount(at, s, &fs.Options{MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "disks", MaxWrite: 1 << 20}})
	return s, err
}

// mount mounts a new disk with the content at a folder and returns it. done
// unmounts it and throws it away.
func (s *shelf) mount(content diskImage, size int64, at, kind, options string) (d *disk, done func() error, err error) {
	s.mu.Lock()
	s.made++
	name := fmt.Sprint("disk-", s.made)
	s.mu.Unlock()
	d = &disk{size: size, content: maps.Clone(content)}
	s.AddChild(name, s.NewPersistentInode(context.Background(), d, fs.StableAttr{Mode: syscall.S_IFREG}), false)
	forget := func() { s.RmChild(name) }
	device, loop, err := s.attach(filepath.Join(s.dir, "disks", name))
	if err != nil {
		forget()
		return nil, nil, err
	}
	err = unix.Mount(device, at, kind, 0, options)
	unix.Close(loop) // the device goes with the mount
	if err != nil {
		forget()
		return nil, nil, fmt.Errorf("mount %s: %w", kind, err)
	}
	return d, func() error {
		defer forget()
		return unix.Unmount(at, 0)
	}, nil
}

// attach makes a loop device of a file, which disappears when it is closed.
func (s *shelf) attach(file string) (device string, loop int, err error) {
	back, err := unix.Open(file, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", 0, fmt.Errorf("open %s: %w", file, err)
	}
	defer unix.Close(back)
	control, err := unix.Open(loopControl, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", 0, fmt.Errorf("open %s: %w", loopControl, err)
	}
	defer unix.Close(control)
	for range 100 { // others may be faster
		n, err := unix.IoctlRetInt(control, unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return "", 0, fmt.Errorf("find a loop device: %w", err)
		}
		device = filepath.Join(s.dir, fmt.Sprint("loop", n)) // a /dev may have a few only
		if err := unix.Mknod(device, unix.S_IFBLK|0o600, int(unix.Mkdev(7, uint32(n)))); err != nil && !errors.Is(err, unix.EEXIST) {
			return "", 0, fmt.Errorf("make %s: %w", device, err)
		}
		if loop, err = unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
			return "", 0, fmt.Errorf("open %s: %w", device, err)
		}
		err = unix.IoctlLoopConfigure(loop, &unix.LoopConfig{Fd: uint32(back), Size: 512, Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR}})
		if err == nil {
			err = unix.IoctlSetInt(loop, unix.BLKFLSBUF, 0) // it may have pages of the disk before
			if err == nil {
				return device, loop, nil
			}
		}
		unix.Close(loop)
		if err != unix.EBUSY {
			return "", 0, fmt.Errorf("configure %s: %w", device, err)
		}
	}
	return "", 0, errors.New("every loop device is taken by others")
}

const loopControl = "/dev/loop-control"
