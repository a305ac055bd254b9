package providertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// EndsAtOnce is a variable that makes a test binary with the race detector exit at
// once; otherwise it waits for a second.
const EndsAtOnce = "GORACE=atexit_sleep_ms=0"

// Mark returns a variable for the environment of programs, by which Running finds
// them.
func Mark(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("PROVIDER_TEST_MARK=%d %s", os.Getpid(), t.Name())
}

// Running returns a function that lists the running processes with the test's mark.
func Running(t *testing.T) func() []string {
	t.Helper()
	mark := []byte(Mark(t) + "\x00")
	return func() []string {
		var found []string
		environments, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range environments {
			if env, err := os.ReadFile(path); err == nil && bytes.Contains(env, mark) {
				found = append(found, filepath.Dir(path))
			}
		}
		return found
	}
}

// Signal sends a signal to the processes with the test's mark.
func Signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	for _, process := range Running(t)() {
		pid, err := strconv.Atoi(filepath.Base(process))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, signal); err != nil {
			t.Log(err) // the child of an already signalled process
		}
	}
}

// Recorded returns the names of the files in records, the directory in which
// process.Command keeps a file for each running program.
func Recorded(t *testing.T, records string) []string {
	t.Helper()
	entries, err := os.ReadDir(records)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// KillRecorded kills the recorded program and its group. There must be exactly one.
func KillRecorded(t *testing.T, records string) {
	t.Helper()
	names := Recorded(t, records)
	if len(names) != 1 {
		t.Fatalf("running: %q", names)
	}
	content, err := os.ReadFile(filepath.Join(records, names[0]))
	if err != nil {
		t.Fatal(err)
	}
	var record struct{ Pid int }
	if err := json.Unmarshal(content, &record); err != nil || record.Pid <= 1 {
		t.Fatalf("%s: %v", content, err)
	}
	if err := syscall.Kill(-record.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
