package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// What the level says of this system.
const (
	hasSandbox    = true
	hasNamespaces = true
	isUnverified  = false
)

// probe tries to escape and prints which attempts succeeded.
func probe(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: %s TARGETS", probeCommand)
	}
	var t probeTargets
	if err := json.Unmarshal([]byte(args[0]), &t); err != nil {
		return err
	}
	// Programs must reach the bridge: a network that blocks it too is broken rather than safe.
	if t.Bridge != 0 && !canConnect("tcp", localAddress(t.Bridge)) {
		return errors.New(errNoBridge)
	}
	if os.Geteuid() != t.User {
		return fmt.Errorf("programs run as user %d and not as %d", os.Geteuid(), t.User)
	}
	process := "/proc/" + strconv.Itoa(t.Pid) + "/"
	return json.NewEncoder(os.Stdout).Encode(map[string]bool{
		escapeRead:     canRead(t.File),
		escapeWrite:    canWrite(t.File) || canWrite(t.File+"-new"),
		escapeMemory:   canRead(process+"environ") || canRead(process+"mem"),
		escapeSignal:   unix.Kill(t.Pid, 0) == nil,
		escapeAbstract: canConnect("unix", t.Abstract),
		escapeSocket:   canConnect("unix", t.Socket),
		escapeCalls:    unix.Unshare(unix.CLONE_NEWUSER) == nil || canUseKeys(),
		escapeProcess:  canRead(process + "cmdline"),
		escapeMode:     unix.Chmod(t.File, 0o644) == nil,
		escapeLoopback: canConnect("tcp", localAddress(t.Port)),
		escapeNetwork:  canConnect("udp", otherMachine),
	})
}

// otherMachine is an address for documentation. A connection over UDP sends nothing: it
// succeeds if there is a way to other machines.
const otherMachine = "192.0.2.1:9"

func localAddress(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func canUseKeys() bool {
	_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, false)
	return err == nil
}

// Undumpable hides this process from others of its user: they cannot read its
// memory and environment, and it leaves no core.
func Undumpable() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
