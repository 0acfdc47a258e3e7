package system

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// A diskImage is the content of a disk: its pages that are not zero.
type diskImage map[int64]string

const pageSize = 4096

// readImage returns the content of a file.
func readImage(path string) (diskImage, int64, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	i := make(diskImage)
	for off := 0; off < len(b); off += pageSize {
		if page := b[off:min(off+pageSize, len(b))]; len(bytes.Trim(page, "\x00")) > 0 {
			i.write(page, int64(off))
		}
	}
	return i, int64(len(b)), nil
}

// save writes the content to a new file.
func (i diskImage) save(path string, size int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		return err
	}
	for n, page := range i {
		if _, err := f.WriteAt([]byte(page), n*pageSize); err != nil {
			return err
		}
	}
	return nil
}

func (i diskImage) write(b []byte, off int64) {
	for len(b) > 0 {
		var page [pageSize]byte
		copy(page[:], i[off/pageSize])
		n := copy(page[off%pageSize:], b)
		i[off/pageSize] = string(page[:])
		b, off = b[n:], off+int64(n)
	}
}

// A disk is a loop device on a file of a FUSE file system, which logs writes
// and flushes. It models a disk with a volatile cache.
type disk struct {
	path  string // of its content; the log is at path + ".log"
	start diskImage
	notes []knowledge
}

// An access is an entry of a disk's log: a write, a flush, or a note of what was
// known at that moment.
type access struct {
	kind byte // 'w', 'f', 'n'
	off  int64
	data []byte
	knowledge
}

// accessHead is the length of what precedes the data of an access in a log: its
// kind, its offset, or the number of the note, and the length of the data.
const accessHead = 1 + 8 + 8

// logAccess appends an entry in one call, so that two programs may do it.
func logAccess(f *os.File, kind byte, off int64, data []byte) error {
	b := append(make([]byte, 0, accessHead+len(data)), kind)
	b = binary.LittleEndian.AppendUint64(b, uint64(off))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(data)))
	_, err := f.Write(append(b, data...))
	return err
}

// note logs what is known now.
func (d *disk) note(k knowledge) error {
	f, err := os.OpenFile(d.path+".log", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	d.notes = append(d.notes, k)
	return errors.Join(logAccess(f, 'n', int64(len(d.notes)-1), nil), f.Close())
}

// since returns what the disk held when the first note was made, and the log
// since then.
func (d *disk) since() (before diskImage, log []access, err error) {
	b, err := os.ReadFile(d.path + ".log")
	before = maps.Clone(d.start)
	for len(b) >= accessHead {
		n := accessHead + int(binary.LittleEndian.Uint64(b[9:]))
		if n > len(b) {
			break // it is being written
		}
		a := access{kind: b[0], off: int64(binary.LittleEndian.Uint64(b[1:])), data: b[accessHead:n]}
		b = b[n:]
		switch {
		case a.kind == 'n':
			a.knowledge = d.notes[a.off]
		case log == nil && a.kind == 'w':
			before.write(a.data, a.off)
		}
		if log != nil || a.kind == 'n' {
			log = append(log, a)
		}
	}
	return before, log, err
}

func init() { programs["disks"] = serveDisks }

// serveDisks is the program that has the FUSE file system. It is a process of its
// own and makes no use of the disks: when it is killed, all who wait for one get
// an error, and end.
func serveDisks() {
	server, err := fs.Mount(os.Args[1], &diskFolder{dir: os.Args[2]}, &fs.Options{
		MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "disks", MaxWrite: 1 << 20},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "disks:", err)
		os.Exit(1)
	}
	fmt.Println("mounted")
	server.Wait()
}

// A diskFolder shows the files of dir as disks.
type diskFolder struct {
	fs.Inode
	dir string
}

func (f *diskFolder) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	info, err := os.Stat(filepath.Join(f.dir, name))
	if err != nil {
		return nil, fs.ToErrno(err)
	}
	n := &diskNode{path: filepath.Join(f.dir, name), size: info.Size()}
	n.attr(&out.Attr)
	return f.NewInode(ctx, n, fs.StableAttr{Mode: syscall.S_IFREG}), 0
}

type diskNode struct {
	fs.Inode
	path string
	size int64
}

func (n *diskNode) attr(out *fuse.Attr) {
	out.Mode, out.Size, out.Blksize = syscall.S_IFREG|0o600, uint64(n.size), pageSize
}

func (n *diskNode) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.attr(&out.Attr)
	return 0
}

func (n *diskNode) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	content, err := os.OpenFile(n.path, os.O_RDWR, 0)
	if err != nil {
		return nil, 0, fs.ToErrno(err)
	}
	log, err := os.OpenFile(n.path+".log", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		content.Close()
		return nil, 0, fs.ToErrno(err)
	}
	return &diskHandle{content, log, n.size}, fuse.FOPEN_DIRECT_IO, 0
}

type diskHandle struct {
	content, log *os.File
	size         int64
}

func (h *diskHandle) Read(_ context.Context, b []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	n, err := h.content.ReadAt(b, off)
	if err != nil && err != io.EOF {
		return nil, fs.ToErrno(err)
	}
	return fuse.ReadResultData(b[:n]), 0
}

func (h *diskHandle) Write(_ context.Context, b []byte, off int64) (uint32, syscall.Errno) {
	if off+int64(len(b)) > h.size {
		return 0, syscall.ENOSPC
	}
	_, err := h.content.WriteAt(b, off)
	return uint32(len(b)), fs.ToErrno(errors.Join(err, logAccess(h.log, 'w', off, b)))
}

func (h *diskHandle) Fsync(context.Context, uint32) syscall.Errno {
	return fs.ToErrno(logAccess(h.log, 'f', 0, nil))
}

func (h *diskHandle) Release(context.Context) syscall.Errno {
	return fs.ToErrno(errors.Join(h.content.Close(), h.log.Close()))
}

// A shelf is a folder with disks, and with what is needed to mount them.
type shelf struct {
	dir  string
	made atomic.Int64
}

// newShelf makes dir one. It ends with the process and its mount namespace.
func newShelf(dir string) (*shelf, error) {
	at, contents := filepath.Join(dir, "disks"), filepath.Join(dir, "contents")
	if err := errors.Join(os.Mkdir(at, 0o700), os.Mkdir(contents, 0o700)); err != nil {
		return nil, err
	}
	cmd := exec.Command("disks", at, contents)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the disks end with this thread
		started <- cmd.Start()
		select {}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return nil, fmt.Errorf("the disks did not start: %q, %w", line, err)
	}
	return &shelf{dir: dir}, nil
}

// mountFile mounts a file.
func (s *shelf) mountFile(file, at, kind, options string) error {
	device, loop, err := s.attach(file)
	if err != nil {
		return err
	}
	defer unix.Close(loop) // the device goes with the mount
	if err := unix.Mount(device, at, kind, 0, options); err != nil {
		return fmt.Errorf("mount %s: %w", kind, err)
	}
	return nil
}

// mount mounts a new disk with the content at a folder and returns it. done
// unmounts it and throws it away.
func (s *shelf) mount(content diskImage, size int64, at, kind, options string) (d *disk, done func() error, err error) {
	name := fmt.Sprint("disk-", s.made.Add(1))
	d = &disk{path: filepath.Join(s.dir, "contents", name), start: content}
	remove := func() error { return errors.Join(os.Remove(d.path), os.Remove(d.path+".log")) }
	if err := errors.Join(content.save(d.path, size), os.WriteFile(d.path+".log", nil, 0o600)); err != nil {
		return nil, nil, err
	}
	if err := s.mountFile(filepath.Join(s.dir, "disks", name), at, kind, options); err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	return d, func() error { return errors.Join(unix.Unmount(at, 0), remove()) }, nil
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
