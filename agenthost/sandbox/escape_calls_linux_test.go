package sandbox

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ofCalls try each system call that the filter knows. Those without a target have arguments with which the kernel would
// do nothing, and it would look at them if the filter let them through.
var ofCalls = slices.Concat(refusedCalls(), []escape{
	{"call `clone` for a user namespace", func(target) error {
		return call(unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_FS, 0, 0) // no two of them together
	}},
	{"call `unshare` for a user namespace", func(target) error { return call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER, 0, 0) }},
	{"call `ioctl` with TIOCSTI", func(target) error { return call(unix.SYS_IOCTL, 0, unix.TIOCSTI, 0) }},
	{"call `ioctl` with TIOCLINUX", func(target) error { return call(unix.SYS_IOCTL, 0, unix.TIOCLINUX, 0) }},
	{"call `socket` for a raw socket", func(target) error { return call(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_RAW, 1) }},
	{"call `socket` for the kernel's cryptography", func(target) error {
		return call(unix.SYS_SOCKET, unix.AF_ALG, unix.SOCK_SEQPACKET, 0)
	}},
	{"call `socket` for the kernel's keys", func(target) error { return call(unix.SYS_SOCKET, unix.AF_KEY, unix.SOCK_DGRAM, 2) }},
	{"call `prlimit64` to read the host's limits", func(b target) error {
		return reach(unix.SYS_PRLIMIT64, uintptr(b.Pid), unix.RLIMIT_NOFILE, 0, address(&oldLimit))
	}},
	{"call `setpriority` for the host", func(b target) error { return setPriority(b.Pid) }},
	{"call `setpriority` for a user", func(target) error { return call(unix.SYS_SETPRIORITY, unix.PRIO_USER, noUser, 0) }},
	{"call `ioprio_set` for the host", func(b target) error {
		return reach(unix.SYS_IOPRIO_SET, ofProcess, uintptr(b.Pid), bestEffort)
	}},
	{"call `ioprio_set` for a user", func(target) error { return call(unix.SYS_IOPRIO_SET, ofUser, noUser, bestEffort) }},
	{"call `sched_setaffinity` for the host", func(b target) error {
		return reach(unix.SYS_SCHED_SETAFFINITY, uintptr(b.Pid), uintptr(len(processors)), address(&processors))
	}},
	{"call `sched_setattr` for the host", func(b target) error {
		return reach(unix.SYS_SCHED_SETATTR, uintptr(b.Pid), address(&attributes), 0)
	}},
	{"call `sched_setparam` for the host", func(b target) error {
		return reach(unix.SYS_SCHED_SETPARAM, uintptr(b.Pid), address(&parameters))
	}},
	{"call `sched_setscheduler` for the host", func(b target) error {
		return reach(unix.SYS_SCHED_SETSCHEDULER, uintptr(b.Pid), 0, address(&parameters))
	}},
	{"call `migrate_pages` for the host", func(b target) error { return reach(unix.SYS_MIGRATE_PAGES, uintptr(b.Pid)) }},
	{"call `move_pages` for the host", func(b target) error { return reach(unix.SYS_MOVE_PAGES, uintptr(b.Pid)) }},
	{"call `kcmp` for the host", func(b target) error { return reach(unix.SYS_KCMP, uintptr(b.Pid), uintptr(b.Pid), 1) }},
	{"call `process_madvise`", func(target) error { return call(unix.SYS_PROCESS_MADVISE, 0, 0, 0) }},
	{"call `pidfd_open` for the host", func(b target) error { return reach(unix.SYS_PIDFD_OPEN, uintptr(b.Pid)) }},
})

// refusedCalls are those without arguments that matter.
func refusedCalls() (rows []escape) {
	for _, c := range []struct {
		name   string
		number uintptr
	}{
		{"acct", unix.SYS_ACCT},
		{"add_key", unix.SYS_ADD_KEY},
		{"bpf", unix.SYS_BPF},
		{"clock_settime", unix.SYS_CLOCK_SETTIME},
		{"clone3", unix.SYS_CLONE3},
		{"delete_module", unix.SYS_DELETE_MODULE},
		{"fanotify_init", unix.SYS_FANOTIFY_INIT},
		{"finit_module", unix.SYS_FINIT_MODULE},
		{"fsconfig", unix.SYS_FSCONFIG},
		{"fsmount", unix.SYS_FSMOUNT},
		{"fsopen", unix.SYS_FSOPEN},
		{"fspick", unix.SYS_FSPICK},
		{"init_module", unix.SYS_INIT_MODULE},
		{"io_uring_enter", unix.SYS_IO_URING_ENTER},
		{"io_uring_register", unix.SYS_IO_URING_REGISTER},
		{"io_uring_setup", unix.SYS_IO_URING_SETUP},
		{"kexec_file_load", unix.SYS_KEXEC_FILE_LOAD},
		{"kexec_load", unix.SYS_KEXEC_LOAD},
		{"keyctl", unix.SYS_KEYCTL},
		{"mount", unix.SYS_MOUNT},
		{"mount_setattr", unix.SYS_MOUNT_SETATTR},
		{"move_mount", unix.SYS_MOVE_MOUNT},
		{"open_by_handle_at", unix.SYS_OPEN_BY_HANDLE_AT},
		{"open_tree", unix.SYS_OPEN_TREE},
		{"perf_event_open", unix.SYS_PERF_EVENT_OPEN},
		{"pivot_root", unix.SYS_PIVOT_ROOT},
		{"quotactl", unix.SYS_QUOTACTL},
		{"reboot", unix.SYS_REBOOT},
		{"request_key", unix.SYS_REQUEST_KEY},
		{"setdomainname", unix.SYS_SETDOMAINNAME},
		{"sethostname", unix.SYS_SETHOSTNAME},
		{"setns", unix.SYS_SETNS},
		{"settimeofday", unix.SYS_SETTIMEOFDAY},
		{"swapoff", unix.SYS_SWAPOFF},
		{"swapon", unix.SYS_SWAPON},
		{"syslog", unix.SYS_SYSLOG},
		{"umount2", unix.SYS_UMOUNT2},
		{"userfaultfd", unix.SYS_USERFAULTFD},
		{"vhangup", unix.SYS_VHANGUP},
	} {
		rows = append(rows, escape{"call `" + c.name + "`", func(target) error { return call(c.number, 0, 0, 0) }})
	}
	return rows
}

// Arguments of calls for the host that change nothing. The kernel writes into the first one.
var (
	oldLimit   [16]byte
	processors = [128]byte(bytes.Repeat([]byte{0xff}, 128))
	attributes = [48]byte{0: 48, 8: 0x18} // its size; keep policy and parameters
	parameters [4]byte
)

const (
	noUser     = 4_000_000_000
	ofProcess  = 1 // of ioprio_set
	ofUser     = 3
	bestEffort = 2<<13 | 4 // the default
)

// address returns the address of a variable of the package, which does not move.
func address[T any](variable *T) uintptr { return uintptr(unsafe.Pointer(variable)) }

// reach makes a call for a process: each error means that the caller does not reach it.
func reach(number uintptr, arguments ...uintptr) error {
	var a [6]uintptr
	copy(a[:], arguments)
	if _, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

// listGroups looks for the control group of another session.
func listGroups(b target) error {
	var refused error = unix.ENOENT
	found := false
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			refused = err
			return nil //nolint:nilerr // it looks elsewhere
		}
		found = found || entry.IsDir() && filepath.Base(path) == filepath.Base(b.OtherGroup)
		return nil
	})
	if found {
		return nil
	}
	return refused
}

// readFirstCommandLine looks for paths of the host in the arguments of process 1.
func readFirstCommandLine(b target) error {
	content, err := os.ReadFile("/proc/1/cmdline")
	if err != nil {
		return err
	}
	if bytes.Contains(content, []byte(b.Workspace)) || bytes.Contains(content, []byte(filepath.Dir(b.Host))) {
		return nil
	}
	return unix.ENODATA
}

// Each system call in the source of the filter has a row in the matrix.
func TestTheMatrixHasEachCallOfTheFilter(t *testing.T) {
	t.Parallel()
	source := readAll("launch/seccomp_linux.go")
	calls := regexp.MustCompile(`unix\.SYS_([A-Z0-9_]+)`).FindAllStringSubmatch(source, -1)
	if len(calls) < 50 {
		t.Fatalf("%d calls", len(calls))
	}
	for _, found := range calls {
		name := "`" + strings.ToLower(found[1]) + "`"
		if name != "`seccomp`" && // sets the filter
			!slices.ContainsFunc(ofCalls, func(e escape) bool { return strings.Contains(e.name, name) }) {
			t.Errorf("no row has %s", name)
		}
	}
}
