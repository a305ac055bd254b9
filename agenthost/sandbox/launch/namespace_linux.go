package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// runInNamespaces starts the program's init in new namespaces, waits until it exits, and
// exits with its code.
func runInNamespaces(spec Spec, program []string) error {
	maps, err := openMaps(&spec)
	if err != nil {
		return fmt.Errorf("the sandbox cannot be set up: %w", err)
	}
	// The program sees the command line of its init, so the spec and its paths come through a pipe.
	specReader, specWriter, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("the sandbox cannot be set up: %w", err)
	}
	files := []*os.File{os.Stdin, os.Stdout, os.Stderr, specReader}
	attr := &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC, Pdeathsig: syscall.SIGKILL,
	}
	switch uid, gid := os.Geteuid(), os.Getegid(); {
	case spec.User != nil && spec.User.UID != uid:
		// The init has the program's user id from its start. It enters the directories of others to build
		// the view, and gives these powers up.
		attr.Credential = &syscall.Credential{Uid: uint32(spec.User.UID), Gid: uint32(spec.User.GID)} //nolint:gosec // were parsed as such
		attr.AmbientCaps = append(slices.Clone(initPowers), unix.CAP_DAC_OVERRIDE)
	case uid != 0:
		// The init needs privileges in a user namespace, and keeps the user's id.
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		attr.AmbientCaps = initPowers
	}
	var sockets *control
	if spec.Network {
		if sockets, err = newControl(spec); err != nil {
			return fmt.Errorf("the sandbox cannot be set up: %w", err)
		}
		files = append(files, sockets.init)
		attr.Cloneflags |= unix.CLONE_NEWNET
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	process, err := os.StartProcess("/proc/self/exe", []string{"bellhop", initCommand},
		&os.ProcAttr{Files: append(files, maps...), Sys: attr})
	if err != nil {
		return fmt.Errorf("the sandbox cannot be set up: namespaces: %w", err)
	}
	go passSignals(signals, process.Pid)
	for _, file := range append(maps, specReader) {
		_ = file.Close()
	}
	if err := spec.writeTo(specWriter, program); err != nil {
		return fmt.Errorf("the sandbox cannot be set up: %w", err)
	}
	if sockets != nil {
		sockets.run(spec)
	}
	if err := releaseStreams(); err != nil {
		return err
	}
	state, err := process.Wait()
	if err != nil {
		return err
	}
	if state.ExitCode() < 0 {
		ExitNow(128 + int(syscall.SIGKILL))
	}
	ExitNow(state.ExitCode())
	return nil
}

// writeTo writes the spec and the arguments of a program, each of which ends with a zero byte, and closes the file.
func (s Spec) writeTo(file *os.File, program []string) error {
	encoded, err := json.Marshal(s)
	if err == nil {
		_, err = file.WriteString(string(encoded) + "\x00" + strings.Join(program, "\x00") + "\x00")
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("%s: %w", initCommand, err)
	}
	return nil
}

// readSpec is the reverse of writeTo.
func readSpec(file *os.File) (spec Spec, program []string, err error) {
	content, err := io.ReadAll(file)
	_ = file.Close()
	if err != nil {
		return spec, nil, fmt.Errorf("%s: %w", initCommand, err)
	}
	parts := strings.Split(string(content), "\x00")
	if len(parts) < 3 || parts[len(parts)-1] != "" {
		return spec, nil, fmt.Errorf("%s is started by %s only", initCommand, Command)
	}
	spec, err = parseSpec(parts[0])
	return spec, parts[1 : len(parts)-1], err
}

// initPowers are the capabilities of an init that is not root.
var initPowers = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_NET_ADMIN}

// passSignals forwards SIGTERM, which a caller may send to this process alone. The
// others reach the whole process group; handling them keeps this process alive.
func passSignals(signals <-chan os.Signal, pid int) {
	for s := range signals {
		if s == syscall.SIGTERM {
			_ = syscall.Kill(pid, syscall.SIGTERM)
		}
	}
}

// releaseStreams closes this process's copies of the streams, so that their reader gets
// EOF as soon as the program closes its own.
func releaseStreams() error {
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	for fd := range 3 {
		if err := unix.Dup2(null, fd); err != nil {
			return err
		}
	}
	return unix.Close(null)
}

// runInit is the first process of the namespaces: it makes the view of the file
// system, confines itself, runs the program and reaps orphaned processes.
func runInit() error {
	runtime.LockOSThread()
	spec, program, err := readSpec(os.NewFile(initSpec, "spec"))
	if err != nil {
		return err
	}
	// The program must not trace its init, which started outside the view.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	if spec.Network {
		if err := makeNetwork(spec); err != nil {
			return fmt.Errorf("the sandbox cannot be set up: %w", err)
		}
	}
	if err := errors.Join(makeView(spec), limitProcesses(spec.Processes)); err != nil {
		return fmt.Errorf("the sandbox cannot be set up: %w", err)
	}
	if err := os.Chdir(dir); err != nil {
		return fmt.Errorf("the sandbox cannot be set up: %w", err)
	}
	spec.Write = append(spec.Write, "/tmp", "/dev/shm")
	if err := confine(spec); err != nil {
		return fmt.Errorf("the sandbox cannot be set up: %w", err)
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	pid, err := syscall.ForkExec(program[0], program, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		return fmt.Errorf("start %s in the sandbox: %w", program[0], err)
	}
	go passSignals(signals, pid)
	if spec.Network {
		go answerLauncher()
	}
	if err := releaseStreams(); err != nil {
		return err
	}
	ExitNow(reap(pid))
	return nil
}

// reap waits for the program and for orphaned processes, and returns the program's exit
// code. When the init exits, the kernel kills the remaining processes.
func reap(pid int) int {
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return Failed
		case ended == pid && status.Exited():
			return status.ExitStatus()
		case ended == pid && status.Signaled():
			return 128 + int(status.Signal())
		}
	}
}

// The kernel gives out the first 300 process ids of a namespace once, and those above them again and again. It takes
// no limit of ids below the first 301, nor above the last one.
const (
	reservedIDs = 300
	maxIDs      = 4 << 20
)

// limitProcesses limits the process ids of the namespace, and so its processes and threads. Until the reserved ids are
// used up there may be as many more. Before Linux 6.14 the setting applies to the whole machine, so it is not changed.
func limitProcesses(limit int) error {
	if limit <= 0 || !isAtLeast(6, 14) {
		return nil
	}
	err := os.WriteFile("/proc/sys/kernel/pid_max", []byte(strconv.Itoa(min(limit, maxIDs-reservedIDs)+reservedIDs)), 0)
	if errors.Is(err, os.ErrPermission) {
		return nil // in a user namespace the limit of the user's processes holds
	}
	return err
}

// isAtLeast compares the version of the kernel.
func isAtLeast(major, minor int) bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	parts := strings.SplitN(unix.ByteSliceToString(name.Release[:]), ".", 3)
	if len(parts) < 2 {
		return false
	}
	first, err1 := strconv.Atoi(parts[0])
	second, err2 := strconv.Atoi(strings.TrimRightFunc(parts[1], func(r rune) bool { return r < '0' || r > '9' }))
	return err1 == nil && err2 == nil && (first > major || first == major && second >= minor)
}
