package process

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// markVariable is the environment variable with a child's mark, after the marks of its
// ancestors.
const markVariable = "BELLHOP_PROCESS_MARK"

// newMark returns a name for a child that is unique even after a reboot.
func newMark() string { return rand.Text() }

// isMark reports whether s has the form of a mark.
func isMark(s string) bool {
	return len(s) == len("ABCDEFGHIJKLMNOPQRSTUVWXYZ") && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// marks appends a child's mark to our own marks. If we are such a child ourselves, our parent
// must find our children when we are killed.
func marks(own string) string {
	if ours := os.Getenv(markVariable); ours != "" {
		return ours + "," + own
	}
	return own
}

// record is the file of a running child. Pid and Start are zero until the child runs. After a
// crash in between, the child is found by its mark.
type record struct {
	Mark  string `json:"mark"`
	Boot  string `json:"boot"`            // pids of an earlier boot are meaningless
	Pid   int    `json:"pid,omitempty"`   // of the child and its group
	Start uint64 `json:"start,omitempty"` // distinguishes the child from a later process with its pid
	Group string `json:"group,omitempty"` // control group of the child

	// Directory is the identity of the directory that the record was written to. A copy of the directory has another
	// one, and must not end the children of the original's owner.
	Directory string `json:"directory"`

	path string
}

// newRecord writes the record of a child that is about to start; without a directory it returns
// nil.
func newRecord(dir, mark, group string) (*record, error) {
	if dir == "" {
		return nil, nil
	}
	directory, err := directoryID(dir)
	if err != nil {
		return nil, fmt.Errorf("record process: %w", err)
	}
	r := &record{Mark: mark, Boot: bootID(), Group: group, Directory: directory, path: filepath.Join(dir, mark+".json")}
	return r, r.write()
}

// started completes the record. If the child has ended already, the record stays incomplete:
// its descendants are found by the mark.
func (r *record) started(pid int) error {
	if r == nil {
		return nil
	}
	start, err := startTime(pid)
	if err != nil {
		return nil //nolint:nilerr // an unreaped child has no start time only if it has ended
	}
	r.Pid, r.Start = pid, start
	return r.write()
}

// write replaces the file atomically: Sweep must never read an incomplete one.
func (r *record) write() error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("record process: %w", err)
	}
	if err := os.WriteFile(r.path+".new", body, 0o600); err != nil {
		return fmt.Errorf("record process: %w", err)
	}
	if err := os.Rename(r.path+".new", r.path); err != nil {
		return fmt.Errorf("record process: %w", err)
	}
	return nil
}

func (r *record) remove() {
	if r == nil {
		return
	}
	_ = os.Remove(r.path + ".new")
	_ = os.Remove(r.path)
}

// sweepTime bounds the wait for killed processes to disappear.
const sweepTime = 5 * time.Second

// Sweep kills the descendants of children recorded in dir and removes the records. It returns
// how many records had running processes. Call it only at the start of the directory's owner:
// it would kill children of a running owner too. A missing directory counts as empty. Records that were
// copied here with their directory are removed, and their processes go on: they belong to the original's owner.
func Sweep(dir string) (int, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("sweep processes: %w", err)
	}
	directory, err := directoryID(dir)
	if err != nil {
		return 0, fmt.Errorf("sweep processes: %w", err)
	}
	swept := 0
	var failed []error
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		switch filepath.Ext(path) {
		case ".new":
			failed = append(failed, os.Remove(path))
		case ".json":
			killed, err := sweep(path, directory)
			if killed {
				swept++
			}
			failed = append(failed, err)
		}
	}
	if err := errors.Join(failed...); err != nil {
		return swept, fmt.Errorf("sweep processes: %w", err)
	}
	return swept, nil
}

// sweep kills all processes of one record of a directory. An unreadable record is removed, because nothing
// safe can be done with it.
func sweep(path, directory string) (killed bool, err error) {
	r := &record{path: path}
	body, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	if json.Unmarshal(body, r) != nil || !isMark(r.Mark) || r.Boot != bootID() || r.Directory != directory {
		return false, os.Remove(path)
	}
	for deadline := time.Now().Add(sweepTime); r.kill(); killed = true {
		if time.Now().After(deadline) {
			return true, fmt.Errorf("process group %d survives SIGKILL", r.Pid)
		}
		time.Sleep(10 * time.Millisecond)
	}
	RemoveGroup(r.Group)
	return killed, os.Remove(path)
}

// kill reports whether it found a process to kill.
func (r *record) kill() bool {
	found := killMarked(r.Mark) > 0
	found = killGroup(r.Group) || found
	if r.Pid <= 1 {
		return found
	}
	if start, err := startTime(r.Pid); err == nil && start == r.Start {
		found = signalGroup(r.Pid, syscall.SIGKILL) == nil || found
	}
	return found
}
