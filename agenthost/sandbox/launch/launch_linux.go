package launch

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	kernel "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"

	"bellhop/internal/owner"
)

// launch confines this process and becomes the program. It returns only errors.
func launch(args []string) error {
	// Each thread has its own rules. execve keeps those of the thread that calls it, so this
	// goroutine stays on its thread.
	runtime.LockOSThread()
	spec, program, err := parseCommandLine(args)
	if err != nil {
		return err
	}
	if spec.Group != "" {
		if err := JoinGroup(spec.Group); err != nil {
			return fmt.Errorf("the sandbox cannot be set up: %w", err)
		}
	}
	if spec.Namespaces {
		return runInNamespaces(spec, program)
	}
	if err := confine(spec); err != nil {
		return fmt.Errorf("the sandbox cannot be set up: %w", err)
	}
	if err := unix.Exec(program[0], program, os.Environ()); err != nil {
		return fmt.Errorf("start %s in the sandbox: %w", program[0], err)
	}
	return nil
}

// confine applies all rules to every thread of this process, and so to all that it
// executes.
func confine(spec Spec) error {
	if err := errors.Join(limitResources(), boundCapabilities()); err != nil {
		return err
	}
	if err := kernel.AllThreadsPrctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	// The rules name directories that only root may be able to enter, so the user comes after them.
	if err := restrictFiles(spec); err != nil {
		return err
	}
	if spec.User != nil && os.Geteuid() != spec.User.UID {
		if err := becomeUser(*spec.User); err != nil {
			return err
		}
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	return filterCalls(spec)
}

// MaxFileSize and maxProcesses limit every program in a sandbox. There is no limit on the address space: V8 and
// Go reserve far more than they use.
const (
	MaxFileSize  = 64 << 30
	maxProcesses = 8192 // of the user; the kernel does not count those of root
)

func limitResources() error {
	for resource, limit := range map[int]uint64{
		unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: MaxFileSize, unix.RLIMIT_NPROC: maxProcesses,
	} {
		var current unix.Rlimit
		if err := unix.Getrlimit(resource, &current); err != nil {
			return fmt.Errorf("limits: %w", err)
		}
		limit = min(limit, current.Max)
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("limits: %w", err)
		}
	}
	return nil
}

// becomeUser gives all threads of this process another user id, without further groups. The kernel
// then forgets the signal for the death of the parent, so it is set again.
func becomeUser(user owner.ID) error {
	parent := os.Getppid()
	var deathSignal int32
	if err := unix.Prctl(unix.PR_GET_PDEATHSIG, uintptr(unsafe.Pointer(&deathSignal)), 0, 0, 0); err != nil {
		return fmt.Errorf("user id: %w", err)
	}
	if err := syscall.Setgroups(nil); err != nil {
		return fmt.Errorf("give up groups: %w", err)
	}
	if err := syscall.Setresgid(user.GID, user.GID, user.GID); err != nil {
		return fmt.Errorf("become group %d: %w", user.GID, err)
	}
	if err := syscall.Setresuid(user.UID, user.UID, user.UID); err != nil {
		return fmt.Errorf("become user %d: %w", user.UID, err)
	}
	if deathSignal == 0 {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(deathSignal), 0, 0, 0); err != nil {
		return fmt.Errorf("user id: %w", err)
	}
	if os.Getppid() != parent {
		return errors.New("the host has ended")
	}
	return nil
}

// boundCapabilities keeps this process and all that it executes from gaining capabilities.
func boundCapabilities() error {
	for capability := 0; ; capability++ {
		set, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(capability), 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // there are no further capabilities
		}
		if err != nil || set == 0 {
			continue
		}
		// A process without CAP_SETPCAP has nothing to give up.
		err = kernel.AllThreadsPrctl(unix.PR_CAPBSET_DROP, uintptr(capability), 0, 0, 0)
		if err != nil && (!errors.Is(err, unix.EPERM) || os.Geteuid() == 0) {
			return fmt.Errorf("give up capability %d: %w", capability, err)
		}
	}
	return nil
}

// dropCapabilities gives up all privileges of root in every thread. Programs that keep root's user id
// do not have its powers.
func dropCapabilities() error {
	_ = kernel.AllThreadsPrctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) // kernels before 4.3 have none
	header := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	none := &[2]unix.CapUserData{}
	var pinner runtime.Pinner // psx passes the addresses to every thread
	pinner.Pin(header)
	pinner.Pin(none)
	defer pinner.Unpin()
	_, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(header)), uintptr(unsafe.Pointer(none)), 0)
	if errno != 0 {
		return fmt.Errorf("give up capabilities: %w", errno)
	}
	return nil
}
