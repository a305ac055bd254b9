package sandbox

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// What the level says of this system.
const (
	hasSandbox    = true
	hasNamespaces = false
	isUnverified  = true
)

// seatbeltProgram applies a profile and becomes the program.
const seatbeltProgram = "/usr/bin/sandbox-exec"

// launch becomes macOS's own sandbox-exec with the profile of the spec. It returns only errors.
func launch(args []string) error {
	spec, program, err := parseCommandLine(args)
	if err != nil {
		return err
	}
	for _, paths := range []*[]string{&spec.Read, &spec.Write} {
		for _, path := range *paths { // rules hold for the path that the kernel sees
			if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
				*paths = append(*paths, real)
			}
		}
	}
	command := append([]string{seatbeltProgram, "-p", seatbelt(spec)}, program...)
	if err := unix.Exec(command[0], command, os.Environ()); err != nil {
		return fmt.Errorf("the sandbox cannot be set up: %w", err)
	}
	return nil
}

// probe tries to escape and prints which attempts succeeded.
func probe(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: %s TARGETS", probeCommand)
	}
	var t probeTargets
	if err := json.Unmarshal([]byte(args[0]), &t); err != nil {
		return err
	}
	_, argumentsErr := unix.SysctlRaw("kern.procargs2", t.Pid)
	return json.NewEncoder(os.Stdout).Encode(map[string]bool{
		escapeRead:     canRead(t.File),
		escapeWrite:    canWrite(t.File) || canWrite(t.File+"-new"),
		escapeMemory:   argumentsErr == nil,
		escapeSignal:   unix.Kill(t.Pid, 0) == nil,
		escapeSocket:   canConnect("unix", t.Socket),
		escapeMode:     unix.Chmod(t.File, 0o644) == nil,
		escapeLoopback: canConnect("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(t.Port))),
	})
}
