package treereader

import (
	"fmt"
	"os"
	"syscall"
)

// Command is the hidden command of the binary that makes one reading: the request is on stdin, the answer on stdout.
// The tests' binaries have it too.
const Command = "workspace-read"

// WriteCommand is that which changes named files: the changes are on stdin, the answer on stdout.
const WriteCommand = "workspace-write"

// TreeCommand is that which answers the questions of a Tree: they are on stdin, the answers on stdout.
const TreeCommand = "workspace-look"

// Environment returns the environment of such a process: its collector works from 256 MiB on, before which most readings end.
// Settings in the program itself would need a package that Go initializes late.
func Environment() []string { return []string{"GOGC=off", "GOMEMLIMIT=256MiB"} }

// init does its work if this process was started for that.
func init() {
	if len(os.Args) != 2 {
		return
	}
	var err error
	switch os.Args[1] {
	case Command:
		if err = limitProcess(0); err == nil {
			err = Serve(os.Stdin, os.Stdout)
		}
	case WriteCommand:
		if err = limitProcess(maxWritten); err == nil {
			err = ServeChanges(os.Stdin, os.Stdout)
		}
	case TreeCommand:
		if err = limitProcess(0); err == nil {
			err = ServeTree(os.Stdin, os.Stdout)
		}
	default:
		return
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "bellhop:", err)
		syscall.Exit(1)
	}
	syscall.Exit(0)
}
