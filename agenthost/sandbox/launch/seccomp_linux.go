package launch

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// filterCalls refuses system calls that reach beyond files and processes: the
// kernel itself, its keys, other namespaces, raw sockets. A library would let
// programs of a foreign architecture pass unfiltered; here they cannot run.
func filterCalls(spec Spec) error {
	if auditArchitecture[runtime.GOARCH] == 0 {
		return nil // the probe reports it
	}
	program, err := bpf.Assemble(filterProgram(spec))
	if err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	filter := make([]unix.SockFilter, len(program))
	for i, in := range program {
		filter[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]} //nolint:gosec // some hundred
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	if thread != 0 {
		return fmt.Errorf("seccomp: thread %d has another filter", thread)
	}
	return nil
}

// Offsets in struct seccomp_data. Of an argument the low half is enough for flags
// and small numbers.
const (
	offsetNumber       = 0
	offsetArchitecture = 4
	offsetArguments    = 16
)

// refused are calls that no agent needs. Capabilities stop most of them already;
// the filter also holds where a kernel or a container is more generous.
var refused = []uint32{
	unix.SYS_ACCT, unix.SYS_ADD_KEY, unix.SYS_BPF, unix.SYS_CLOCK_SETTIME, unix.SYS_DELETE_MODULE, unix.SYS_FANOTIFY_INIT,
	unix.SYS_FINIT_MODULE, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSOPEN, unix.SYS_FSPICK, unix.SYS_INIT_MODULE,
	unix.SYS_KCMP, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_KEXEC_LOAD, unix.SYS_KEYCTL, unix.SYS_MOUNT,
	unix.SYS_MOUNT_SETATTR, unix.SYS_MOVE_MOUNT,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_OPEN_TREE, unix.SYS_PERF_EVENT_OPEN, unix.SYS_PIVOT_ROOT,
	unix.SYS_PROCESS_MADVISE, unix.SYS_QUOTACTL, unix.SYS_REBOOT,
	unix.SYS_REQUEST_KEY, unix.SYS_SETDOMAINNAME, unix.SYS_SETHOSTNAME, unix.SYS_SETNS,
	unix.SYS_SETTIMEOFDAY, unix.SYS_SWAPOFF,
	unix.SYS_SWAPON, unix.SYS_SYSLOG, unix.SYS_UMOUNT2, unix.SYS_USERFAULTFD, unix.SYS_VHANGUP,
}

// unfilterable are calls whose arguments a filter cannot read. They fail with ENOSYS, as on
// an older kernel, so programs fall back to others.
var unfilterable = []uint32{
	unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
}

// ofMemory are calls for the memory of a process, which their first argument names. 0 is the calling process, and no
// agent needs another one's.
var ofMemory = []uint32{unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES}

// ofProcesses are calls that change the limits or the scheduling of a process, which their first argument names. The
// kernel only asks whether it has the caller's user, and no other rule guards it. A filter cannot distinguish an id of
// the program from one of the host, so without namespaces only 0 passes: the calling thread. With namespaces the host
// has no id, and programs may name their own threads, as pthread_setaffinity_np, taskset -p and renice do.
var ofProcesses = []uint32{
	unix.SYS_PRLIMIT64, unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_SETPARAM,
	unix.SYS_SCHED_SETSCHEDULER,
}

// ofKinds are such calls whose first argument is what the second one names, and the kind that is all processes of a
// user: there 0 is the caller's user, and so the host's.
var ofKinds = []struct{ number, user uint32 }{
	{unix.SYS_SETPRIORITY, unix.PRIO_USER}, {unix.SYS_IOPRIO_SET, ioprioWhoUser},
}

const ioprioWhoUser = 3

// namespaceFlags are the flags of clone and unshare that make namespaces.
const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

const (
	socketTypeMask = 0xf
	tiocsti        = 0x5412 // types into a terminal
	tioclinux      = 0x541c // the same, on a console
)

func filterProgram(spec Spec) []bpf.Instruction {
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArchitecture, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArchitecture[runtime.GOARCH], SkipTrue: 1},
		fail(unix.ENOSYS),
		bpf.LoadAbsolute{Off: offsetNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: 0x40000000, SkipTrue: 1}, // above are the calls of x32
		fail(unix.ENOSYS),
	}
	for _, number := range refused {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: 1}, fail(unix.EPERM))
	}
	if spec.NoChanges {
		for _, number := range slices.Concat(changes, oldChanges) {
			program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: 1}, fail(unix.EPERM))
		}
	}
	for _, number := range unfilterable {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: 1}, fail(unix.ENOSYS))
	}
	program = append(program, processes(spec)...)
	program = append(program, onCall(unix.SYS_CLONE, 0, anyBit(namespaceFlags, unix.EPERM))...)
	program = append(program, onCall(unix.SYS_UNSHARE, 0, anyBit(namespaceFlags, unix.EPERM))...)
	program = append(program, onCall(unix.SYS_IOCTL, 1, []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: tiocsti, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: tioclinux, SkipTrue: 1},
		fail(unix.EPERM),
	})...)
	program = append(program, onCall(unix.SYS_SOCKET, 0, families(spec))...)
	program = append(program, onCall(unix.SYS_SOCKET, 1, []bpf.Instruction{
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: socketTypeMask},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SOCK_RAW, SkipTrue: 1},
		fail(unix.EPERM),
	})...)
	return append(program, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
}

// processes refuses calls that reach other processes by their ids.
func processes(spec Spec) []bpf.Instruction {
	var program []bpf.Instruction
	for _, number := range ofMemory {
		program = append(program, onCall(number, 0, unlessZero(unix.EPERM))...)
	}
	for _, call := range ofKinds {
		program = append(program, onCall(call.number, 0, []bpf.Instruction{
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: call.user, SkipTrue: 1}, fail(unix.EPERM),
		})...)
	}
	if spec.Namespaces {
		return program
	}
	for _, number := range ofProcesses {
		program = append(program, onCall(number, 0, unlessZero(unix.EPERM))...)
	}
	for _, call := range ofKinds {
		program = append(program, onCall(call.number, 1, unlessZero(unix.EPERM))...)
	}
	// A descriptor of a process says nothing about whose it is, so there are none. Programs fall back to ids.
	return append(program,
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_PIDFD_OPEN, SkipTrue: 1}, fail(unix.ENOSYS))
}

// families refuses sockets of all families but a few, or of all. A filter cannot read the path of a
// Unix socket, so it refuses them all unless the spec says that something else checks paths.
func families(spec Spec) []bpf.Instruction {
	if spec.NoSockets {
		return []bpf.Instruction{fail(unix.EACCES)}
	}
	allowed := []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	if spec.UnixSockets {
		allowed = append(allowed, unix.AF_UNIX)
	}
	var program []bpf.Instruction
	for i, family := range allowed {
		skip := uint8(len(allowed) - i) //nolint:gosec // few
		program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: family, SkipTrue: skip})
	}
	return append(program, fail(unix.EACCES))
}

// onCall runs body with the accumulator holding the argument of one system call. The
// number of the call is in the accumulator before and afterwards.
func onCall(number, argument uint32, body []bpf.Instruction) []bpf.Instruction {
	program := []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: uint8(len(body) + 2)}, //nolint:gosec // few
		bpf.LoadAbsolute{Off: offsetArguments + 8*argument, Size: 4},
	}
	return append(append(program, body...), bpf.LoadAbsolute{Off: offsetNumber, Size: 4})
}

func anyBit(mask uint32, err unix.Errno) []bpf.Instruction {
	return []bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: mask, SkipTrue: 1}, fail(err)}
}

// unlessZero reads the low half of an id: the kernel ignores the other one.
func unlessZero(err unix.Errno) []bpf.Instruction {
	return []bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1}, fail(err)}
}

func fail(err unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(err)}
}

var auditArchitecture = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}
