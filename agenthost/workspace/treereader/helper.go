package treereader

import (
	"fmt"
	"os"
	"syscall"
)

// Command is the hidden command of the binary that makes one reading: the request is on stdin, the answer on stdout.
// The tests' binaries have it too.
const Command = "workspace-read"

// Environment returns the environment of a reader: its collector works from 256 MiB on, before which most readings end.
// Settings in the program itself would need a package that Go initializes late.
func Environment() []string { return []string{"GOGC=off", "GOMEMLIMIT=256MiB"} }

// init makes the reading if this process was started for one.
func init() {
	if len(os.Args) != 2 || os.Args[1] != Command {
		return
	}
	err := limitProcess()
	if err == nil {
		err = Serve(os.Stdin, os.Stdout)
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "bellhop:", err)
		syscall.Exit(1)
	}
	syscall.Exit(0)
}
