package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"bellhop/agenthost/sandbox/launch"
)

// target is what the hostile program tries to reach: a host's process, its data,
// another session and another user.
type target struct {
	Pid       int    // of the host
	Host      string // directory of the host's data
	Other     string // another session's workspace
	OtherHome string // and its state
	User      string // home of another user
	Workspace string // the program's own
	Home      string
	Mark      string // name of files in directories that all users share
	Abstract  string
	Socket    string
	Port      int
	UDP       int
	Terminal  string // of the host
	Shared    int    // id of shared memory
	Groups    string // the host's control group; "" = none
	HostUser  int
	Setuid    string // copy of id with the setuid bit of root

	OtherGroup string // control group of another session; "" = the host has none
}

// escape is one attempt. try returns nil if it succeeded.
type escape struct {
	name string
	try  func(b target) error
}

var escapes = slices.Concat([]escape{
	// The host's process.
	{"read the host's environment", func(b target) error { return reads(procOf(b, "environ")) }},
	{"read the host's memory", func(b target) error { return reads(procOf(b, "mem")) }},
	{"read the host's memory map", func(b target) error { return reads(procOf(b, "maps")) }},
	{"read memory by process_vm_readv", readMemory},
	{"write memory by process_vm_writev", writeMemory},
	{"trace the host", func(b target) error { return unix.PtraceAttach(b.Pid) }},
	{"seize the host", func(b target) error { return unix.PtraceSeize(b.Pid) }},
	{"list the host's open files", func(b target) error { return lists(procOf(b, "fd")) }},
	{"follow the host's root", func(b target) error { return reads(procOf(b, "root") + b.Host + "/journal.db") }},
	{"follow the host's directory", func(b target) error { return lists(procOf(b, "cwd")) }},
	{"take a file of the host", takeFile},
	{"terminate the host", func(b target) error { return unix.Kill(b.Pid, 0) }},
	{"signal the host's group", signalGroup},
	{"signal any other process", signalAll},
	{"signal through a descriptor", signalByDescriptor},
	{"change the host's priority", func(b target) error { return setPriority(b.Pid) }},
	{"change the host's limits", changeLimits},
	{"choose the host for the end of memory", func(b target) error { return writes(procOf(b, "oom_score_adj"), "1000") }},

	// Files.
	{"read the journal", func(b target) error { return reads(b.Host + "/journal.db") }},
	{"read the keyset", func(b target) error { return reads(b.Host + "/keyset") }},
	{"list the host's data", func(b target) error { return lists(b.Host) }},
	{"write the journal", func(b target) error { return writes(b.Host+"/journal.db", "x") }},
	{"truncate the journal", func(b target) error { return os.Truncate(b.Host+"/journal.db", 0) }},
	{"remove the journal", func(b target) error { return os.Remove(b.Host + "/removable") }},
	{"rename over the journal", func(b target) error { return renameOver(b, b.Host+"/journal.db") }},
	{"make a file in the host's data", func(b target) error { return writes(b.Host+"/new", "x") }},
	{"make a directory in the host's data", func(b target) error { return os.Mkdir(b.Host+"/new-directory", 0o700) }},
	{"read another workspace", func(b target) error { return reads(b.Other + "/secret") }},
	{"write another workspace", func(b target) error { return writes(b.Other+"/new", "x") }},
	{"read another session's home", func(b target) error { return reads(b.OtherHome + "/login") }},
	{"leave the workspace by ..", func(b target) error { return reads(b.Workspace + "/../other/secret") }},
	{"leave by a symbolic link", func(b target) error { return throughLink(b, b.Other+"/secret") }},
	{"leave by a link to the root", func(b target) error { return throughLink(b, "/root/.bashrc") }},
	{"leave by a hard link", func(b target) error { return os.Link(b.Other+"/secret", b.Workspace+"/hard") }},
	{"leave by a directory that was open", func(b target) error { return openAt(b) }},
	{"leave by a file handle", openByHandle},
	{"read another user's home", func(b target) error { return reads(b.User + "/.ssh/id_ed25519") }},
	{"list all homes", func(target) error { return lists("/home") }},
	{"read root's home", func(target) error { return reads("/root/.bashrc") }},
	{"read the system's passwords", func(target) error { return reads("/etc/shadow") }},
	{"write into /etc", func(target) error { return writes("/etc/bellhop-escape", "x") }},
	{"write into /usr", func(target) error { return writes("/usr/bellhop-escape", "x") }},
	{"write into the host's /tmp", func(b target) error { return writes("/tmp/"+b.Mark, "x") }},
	{"write into the host's /dev/shm", func(b target) error { return writes("/dev/shm/"+b.Mark, "x") }},
	{"read the kernel's log", func(target) error { return reads("/dev/kmsg") }},
	{"read the disk", readDisk},
	{"make a device file", makeDevice},
	{"set the core pattern", func(target) error { return writes("/proc/sys/kernel/core_pattern", "|/bin/false") }},
	{
		"set the program that loads modules",
		func(target) error { return writes("/proc/sys/kernel/modprobe", "/bin/false") },
	},
	{"trigger a SysRq", func(target) error { return writes("/proc/sysrq-trigger", "h") }},
	{"add a control group", func(b target) error { return os.Mkdir(groupMountOr(b.Groups, "bellhop-escape"), 0o700) }},
	{"leave its control group", leaveGroup},
	{"change the limits of its control group", changeGroup},
	{"freeze the host by its control group", func(b target) error { return writes(b.Groups+"/cgroup.freeze", "0") }},

	// The kernel.
	{"mount over the host's data", func(b target) error { return unix.Mount(b.Workspace, b.Host, "", unix.MS_BIND, "") }},
	{"mount a file system", func(b target) error { return unix.Mount("tmpfs", b.Workspace, "tmpfs", 0, "") }},
	{"make a user namespace", func(target) error { return call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER, 0, 0) }},
	{"make a mount namespace", func(target) error { return unix.Unshare(unix.CLONE_NEWNS) }},
	{"enter the host's namespaces", enterNamespaces},
	{"change the root", func(b target) error { return unix.Chroot(b.Workspace) }},
	{"become another user", func(target) error { return unix.Setuid(12345) }},
	{"become a member of root's group", func(target) error { return unix.Setgroups([]int{0}) }},
	{"gain privileges by a setuid program", gainPrivileges},
	{"run a setuid program of root", runSetuid},
	{"make a setuid program of the host's user", makeSetuid},
	{"give a file to the host's user", func(b target) error { return os.Chown(newFile(b), b.HostUser, -1) }},
	{"read what only the host's user may read", func(b target) error { return reads(b.Host + "/private") }},
	{"load a module", func(target) error { return unix.FinitModule(0, "", 0) }},
	{"load a BPF program", func(target) error { return call(unix.SYS_BPF, 0, 0, 0) }},
	{"watch the system's performance", func(target) error { return call(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0) }},
	{"read the kernel's keys", func(target) error { return keyring() }},
	{"set the host's name", func(target) error { return unix.Sethostname([]byte("escaped")) }},
	{"set the clock", func(target) error { return unix.ClockSettime(unix.CLOCK_REALTIME, &unix.Timespec{}) }},
	{"restart the machine", func(target) error { return call(unix.SYS_REBOOT, 0, 0, 0) }},
	{"use io_uring around the filter", func(target) error { return call(unix.SYS_IO_URING_SETUP, 0, 0, 0) }},

	// Sockets, shared memory and terminals.
	{"connect to an abstract socket", func(b target) error { return connects("unix", b.Abstract) }},
	{"connect to a socket file", func(b target) error { return connects("unix", b.Socket) }},
	{"open a raw socket", func(target) error { return opens(unix.AF_INET, unix.SOCK_RAW) }},
	{"open a packet socket", func(target) error { return opens(unix.AF_PACKET, unix.SOCK_DGRAM) }},
	{"open a socket of the hypervisor", func(target) error { return opens(unix.AF_VSOCK, unix.SOCK_STREAM) }},
	{"type into the host's terminal", typeInto},
	{"attach shared memory of the host", attachShared},
	{"see the host's processes", func(b target) error { return reads(procOf(b, "cmdline")) }},
	{"change the mode of the host's files", func(b target) error { return os.Chmod(b.Host+"/keyset", 0o644) }},
	{
		"change the owner of the host's files",
		func(b target) error { return os.Chown(b.Host+"/keyset", os.Getuid(), os.Getgid()) },
	},
	{"change the time of the host's files", func(b target) error { return unix.Utimes(b.Host+"/keyset", nil) }},
	{"see that a file of the host exists", func(b target) error { _, err := os.Stat(b.Host + "/keyset"); return err }},
	{"connect to a port of the host", func(b target) error { return connects("tcp", loopback(b.Port)) }},
	{
		"connect to a port by IPv6",
		func(b target) error { return connects("tcp", "[::ffff:127.0.0.1]:"+strconv.Itoa(b.Port)) },
	},
	{"send to a UDP port of the host", sendUDP},
	{"start more processes than allowed", forkBomb},
	{"write a file above the limit", func(b target) error { return os.Truncate(newFile(b), launch.MaxFileSize+1) }},
	{"leave a core", leaveCore},
	{"find the host's paths in the arguments of process 1", readFirstCommandLine},
	{"find the control group of another session", listGroups},
	{"list the processes of another session's group", func(b target) error { return reads(b.OtherGroup + "/cgroup.procs") }},
}, ofCalls)

func procOf(b target, name string) string { return "/proc/" + strconv.Itoa(b.Pid) + "/" + name }

func loopback(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

func reads(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return file.Close()
}

func lists(path string) error {
	_, err := os.ReadDir(path)
	return err
}

func writes(path, content string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	_ = file.Close()
	return err
}

func call(number, a, b, c uintptr) error {
	_, _, errno := unix.Syscall(number, a, b, c)
	switch errno {
	case unix.EPERM, unix.EACCES, unix.ENOSYS:
		return errno
	default: // the kernel looked at the arguments
		return nil
	}
}

func vectors() ([]unix.Iovec, []unix.RemoteIovec) {
	buffer := make([]byte, 8)
	return []unix.Iovec{{Base: &buffer[0], Len: 8}}, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}
}

func readMemory(b target) error {
	local, remote := vectors()
	_, err := unix.ProcessVMReadv(b.Pid, local, remote, 0)
	return unlessFault(err)
}

func writeMemory(b target) error {
	local, remote := vectors()
	_, err := unix.ProcessVMWritev(b.Pid, local, remote, 0)
	return unlessFault(err)
}

// unlessFault returns nil for an address that is not mapped: the access was allowed.
func unlessFault(err error) error {
	if errors.Is(err, unix.EFAULT) {
		return nil
	}
	return err
}

func takeFile(b target) error {
	pidfd, err := unix.PidfdOpen(b.Pid, 0)
	if err != nil {
		return err
	}
	_, err = unix.PidfdGetfd(pidfd, 0, 0)
	return err
}

func signalByDescriptor(b target) error {
	pidfd, err := unix.PidfdOpen(b.Pid, 0)
	if err != nil {
		return err
	}
	return unix.PidfdSendSignal(pidfd, 0, nil, 0)
}

func signalGroup(b target) error {
	group, err := unix.Getpgid(b.Pid)
	if err != nil {
		return err
	}
	return unix.Kill(-group, 0)
}

func changeLimits(b target) error {
	return unix.Prlimit(b.Pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
}

// signalAll succeeds if a signal would reach any process but the program itself and its init. The kernel
// reports success for the process id -1 even if it refused every signal.
func signalAll(target) error {
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return err
	}
	for _, process := range processes {
		pid, err := strconv.Atoi(filepath.Base(process))
		if err == nil && pid != 1 && pid != os.Getpid() && unix.Kill(pid, 0) == nil {
			return nil
		}
	}
	return unix.EPERM
}

func groupMountOr(dir, name string) string {
	if dir == "" {
		dir = "/sys/fs/cgroup"
	}
	return filepath.Join(dir, name)
}

// leaveGroup moves the program into the host's control group.
func leaveGroup(b target) error { return writes(groupMountOr(b.Groups, "cgroup.procs"), "0") }

func changeGroup(b target) error {
	own := groupOf(readAll("/proc/self/cgroup"))
	mount, root := groupMount(readAll("/proc/self/mountinfo"))
	if mount == "" {
		mount = "/sys/fs/cgroup"
	}
	own = strings.TrimPrefix(own, strings.TrimSuffix(root, "/"))
	return writes(filepath.Join(mount, own, "cgroup.max.depth"), "max")
}

// runSetuid runs a program that would have root's user id for everyone.
func runSetuid(b target) error {
	out, err := exec.Command(b.Setuid, "-u").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	if id := strings.TrimSpace(string(out)); id != "0" || os.Getuid() == 0 {
		return fmt.Errorf("it has the user id %s", id)
	}
	return nil
}

// makeSetuid makes a program that would run as the host's user for everyone who starts it.
func makeSetuid(b target) error {
	path := newFile(b)
	if err := unix.Chmod(path, 0o4755); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if at := info.Sys().(*syscall.Stat_t); int(at.Uid) != b.HostUser || at.Mode&unix.S_ISUID == 0 {
		return unix.EPERM
	}
	return nil
}

func setPriority(pid int) error {
	_, _, errno := unix.Syscall(unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, uintptr(pid), 19)
	if errno != 0 {
		return errno
	}
	return nil
}

func renameOver(b target, target string) error {
	return os.Rename(newFile(b), target)
}

// newFile makes a file in the workspace.
func newFile(b target) string {
	file, err := os.CreateTemp(b.Workspace, "new-")
	if err != nil {
		return ""
	}
	_ = file.Close()
	return file.Name()
}

func throughLink(b target, target string) error {
	link := filepath.Join(b.Workspace, "link-"+filepath.Base(target))
	_ = os.Remove(link)
	if err := os.Symlink(target, link); err != nil {
		return err
	}
	return reads(link)
}

// openAt uses a descriptor of the parent directory.
func openAt(b target) error {
	dir, err := unix.Open(filepath.Dir(b.Workspace), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	fd, err := unix.Openat(dir, "other/secret", unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func openByHandle(b target) error {
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, b.Other+"/secret", 0)
	if err != nil {
		return err
	}
	root, err := unix.Open(b.Workspace, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	_, err = unix.OpenByHandleAt(root, handle, unix.O_RDONLY)
	return err
}

// runHostile is the hostile program: it tries the escapes and prints which ones
// succeeded, with the errors of the others.
func runHostile(encoded string) error {
	var b target
	if err := json.Unmarshal([]byte(encoded), &b); err != nil {
		return err
	}
	// Processes that an escape leaves behind come to this program.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become a reaper: %w", err)
	}
	results := map[string]string{}
	for _, e := range escapes {
		results[e.name] = "escaped"
		if err := e.try(b); err != nil {
			results[e.name] = strings.ToValidUTF8(fmt.Sprint(err), "")
			var errno unix.Errno
			if errors.As(err, &errno) {
				results[e.name] = unix.ErrnoName(errno)
			}
		}
		if _, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); !errors.Is(err, unix.ECHILD) {
			return fmt.Errorf("%s: it left processes behind", e.name)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(results)
}
