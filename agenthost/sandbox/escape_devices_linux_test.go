package sandbox

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

func readDisk(target) error {
	disks, _ := filepath.Glob("/sys/class/block/*")
	names, _ := filepath.Glob("/dev/[svn][dv]*")
	for _, name := range append(names, disks...) {
		if reads(filepath.Join("/dev", filepath.Base(name))) == nil {
			return nil
		}
	}
	return unix.EACCES
}

func makeDevice(b target) error {
	path := filepath.Join(b.Workspace, "device")
	return unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 1)))
}

func enterNamespaces(b target) error {
	pidfd, err := unix.PidfdOpen(b.Pid, 0)
	if err != nil {
		return err
	}
	return unix.Setns(pidfd, unix.CLONE_NEWNS|unix.CLONE_NEWUTS)
}

// gainPrivileges reports success if a program with the setuid bit would run with
// another user's privileges.
func gainPrivileges(target) error {
	set, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err == nil && set == 1 {
		return unix.EPERM
	}
	return err
}

func keyring() error {
	_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true)
	return err
}

func connects(network, address string) error {
	conn, err := net.Dial(network, address)
	if err != nil {
		return err
	}
	return conn.Close()
}

func opens(family, kind int) error {
	fd, err := unix.Socket(family, kind, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// typeInto puts a character into the terminal that the program got as its input.
func typeInto(b target) error {
	terminal, err := os.OpenFile(b.Terminal, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer terminal.Close()
	character := byte('x')
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, terminal.Fd(), unix.TIOCSTI, uintptr(unsafe.Pointer(&character)))
	if errno != 0 {
		return errno
	}
	return nil
}

func attachShared(b target) error {
	memory, err := unix.SysvShmAttach(b.Shared, 0, 0)
	if err != nil {
		return err
	}
	return unix.SysvShmDetach(memory)
}

// sendUDP succeeds if the other side is there: the kernel of a machine reports at the second
// datagram that the first one was refused.
func sendUDP(b target) error {
	conn, err := net.Dial("udp", loopback(b.UDP))
	if err != nil {
		return err
	}
	defer conn.Close()
	for range 2 {
		if _, err = conn.Write([]byte("escaped")); err != nil {
			return err
		}
	}
	return nil
}

// forkBomb forks a shell until the system refuses. It is bounded, so that a system without a limit is not harmed.
// The copies run no program of their own, because starts of programs would be most of what these tests cost.
func forkBomb(target) error {
	held, release, err := os.Pipe() // the copies read from it
	if err != nil {
		return err
	}
	bomb := exec.Command("/bin/sh", "-c", `i=0; while [ $i -lt 600 ]; do read -r x <&3 & i=$((i+1)); done`)
	bomb.ExtraFiles = []*os.File{held}
	refused := bomb.Run() // the shell ends when it cannot fork
	_ = held.Close()
	_ = release.Close()
	return errors.Join(refused, reapOrphans())
}

// reapOrphans waits for the processes that ended ones have left to this program. The limit counts each of them until
// it is reaped, so the next program of the session could not start while another reaper is still at it.
func reapOrphans() error {
	for {
		_, err := unix.Wait4(-1, nil, 0, nil)
		switch {
		case errors.Is(err, unix.ECHILD):
			return nil
		case err != nil && !errors.Is(err, unix.EINTR):
			return err
		}
	}
}

func leaveCore(target) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil {
		return err
	}
	if limit.Max == 0 {
		return unix.EPERM
	}
	return nil
}
