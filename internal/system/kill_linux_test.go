package system

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() { programs["without-exchange"] = withoutExchange }

// withoutExchange executes the program in its arguments, with renameat2 failing for
// every flag, as on NFS: there is no RENAME_EXCHANGE and no RENAME_NOREPLACE.
func withoutExchange() {
	if err := refuseFlags(); err != nil {
		fmt.Fprintln(os.Stderr, "without-exchange:", err)
		os.Exit(1)
	}
	err := syscall.Exec(os.Args[1], os.Args[1:], os.Environ())
	fmt.Fprintln(os.Stderr, "without-exchange:", os.Args[1], err)
	os.Exit(1)
}

// refuseFlags installs a seccomp(2) filter, which stays in force across execve.
func refuseFlags() error {
	arch, ok := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("the architecture %s has no filter", runtime.GOARCH)
	}
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		leave = unix.BPF_RET | unix.BPF_K
		// Offsets in struct seccomp_data. The flags are the fifth argument; the
		// machine is little-endian.
		atNumber, atArch, atFlags = 0, 4, 16 + 4*8
	)
	filter := []unix.SockFilter{
		{Code: load, K: atArch},
		{Code: equal, K: arch, Jf: 5},
		{Code: load, K: atNumber},
		{Code: equal, K: unix.SYS_RENAMEAT2, Jf: 3},
		{Code: load, K: atFlags},
		{Code: equal, K: 0, Jt: 1},
		{Code: leave, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EINVAL)},
		{Code: leave, K: unix.SECCOMP_RET_ALLOW},
	}
	runtime.LockOSThread() // the filter applies to this thread, which calls execve
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}
