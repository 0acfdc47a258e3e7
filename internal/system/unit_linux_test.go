package system

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"pickup/internal/tools/servertest"
)

// Calls of the system that the unit in packaging takes away (@privileged
// and @resources of systemd.exec(5)) and that a program of this kind may make.
var denied = []uint32{
	unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_CHROOT, unix.SYS_PIVOT_ROOT, unix.SYS_SETUID, unix.SYS_SETGID, unix.SYS_SETGROUPS,
	unix.SYS_SETREUID, unix.SYS_SETRESUID, unix.SYS_CAPSET, unix.SYS_BPF, unix.SYS_CLOCK_SETTIME, unix.SYS_SCHED_SETAFFINITY,
	unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET, unix.SYS_MBIND, unix.SYS_SETRLIMIT,
}

func init() { programs["denied"] = serveDenied }

// serveDenied is the program denied OUTCOME COMMAND. It executes the command, with the
// system calls denied that the unit denies: they fail with EPERM, or kill the process.
func serveDenied() {
	action := uint32(unix.SECCOMP_RET_KILL_PROCESS)
	if os.Args[1] == "EPERM" {
		action = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	}
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}} // the number of the call
	for _, call := range denied {
		filter = append(filter,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action})
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program))); errno != 0 {
		panic(errno)
	}
	panic(syscall.Exec(os.Args[2], os.Args[2:], os.Environ()))
}

// TestUnit starts, writes and stops under the system call filter of the unit in
// packaging. Without SystemCallErrorNumber, systemd would kill the process at
// the first denied call, which the first write makes.
func TestUnit(t *testing.T) {
	t.Parallel()
	unit := string(servertest.Read(t, "../../packaging/pickup.service"))
	outcome := "killed"
	for line := range strings.Lines(unit) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "SystemCallErrorNumber="); ok {
			outcome = rest
		}
	}
	if !strings.Contains(unit, "\nSystemCallFilter=~@privileged @resources\n") {
		t.Error("the unit and this test deny different system calls")
	}
	if strings.Contains(unit, "\nLoadCredential=") && strings.Contains(unit, "\nExecReload=") {
		t.Error("the unit has ExecReload, but systemd does not reload credentials")
	}
	dir := servertest.SampleDir(t)
	pickup, err := exec.LookPath("pickup")
	if err != nil {
		t.Fatal(err)
	}
	p, err := servertest.LaunchUnder("denied", []string{outcome, pickup}, dir, []string{"PICKUP_NO_AUTH=1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	req, err := http.NewRequest("PATCH", p.URL+"/schedules/1", strings.NewReader(`{"title":"Under systemd"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 || !strings.Contains(string(servertest.Read(t, dir+"/db.json")), "Under systemd") {
		t.Errorf("%s", resp.Status)
	}
	if err := p.Stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}
