package treereader

import (
	"fmt"
	"os"
	"runtime/debug"
	"syscall"
)

// Command is the hidden command of the binary that makes one reading: the request is on stdin, the answer on stdout.
// The tests' binaries have it too.
const Command = "workspace-read"

// heap is the memory from which on the collector works. Most readings end before that.
const heap = 256 << 20

// init makes the reading if this process was started for one.
func init() {
	if len(os.Args) != 2 || os.Args[1] != Command {
		return
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(heap)
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
