package process

import (
	"errors"
	"os/exec"
	"syscall"
)

// Supported is false: Windows has no process groups with signals. The functions below are of records that
// another system wrote.
const Supported = false

func groupAttributes() *syscall.SysProcAttr { return nil }

func awaitExit(int) error { return errors.ErrUnsupported }

func startTime(int) (uint64, error) { return 0, errors.ErrUnsupported }

func bootID() string { return "" }

func killMarked(string) int { return 0 }

func directoryID(string) (string, error) { return "", nil }

func signalGroup(int, syscall.Signal) error { return errors.ErrUnsupported }

// KillsGroup leaves the command as it is: its context kills the program alone.
func KillsGroup(*exec.Cmd) {}
