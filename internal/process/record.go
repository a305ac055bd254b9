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

// markVariable is the environment variable that carries a child's mark, behind
// those of its ancestors.
const markVariable = "BELLHOP_PROCESS_MARK"

// newMark names a child uniquely, over restarts of the machine too.
func newMark() string { return rand.Text() }

// isMark tells a mark from any other text.
func isMark(s string) bool {
	return len(s) == len("ABCDEFGHIJKLMNOPQRSTUVWXYZ") && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// marks adds our own marks to a child's: if we are a child of such a parent
// ourselves, it has to find our children when we are killed.
func marks(own string) string {
	if ours := os.Getenv(markVariable); ours != "" {
		return ours + "," + own
	}
	return own
}

// record is the file of a running child. Pid and Start are zero until the
// child runs; a crash in between leaves a record by whose mark it is found.
type record struct {
	Mark  string `json:"mark"`
	Boot  string `json:"boot"`            // numbers of an earlier boot mean nothing
	Pid   int    `json:"pid,omitempty"`   // of the child and of its group
	Start uint64 `json:"start,omitempty"` // tells the child from a later owner of its pid

	path string
}

// newRecord writes the record of a child about to be started; nil without a
// directory.
func newRecord(dir, mark string) (*record, error) {
	if dir == "" {
		return nil, nil
	}
	r := &record{Mark: mark, Boot: bootID(), path: filepath.Join(dir, mark+".json")}
	return r, r.write()
}

// started completes the record. A child that has ended already keeps it as it
// is: what it may have left is found by the mark.
func (r *record) started(pid int) error {
	if r == nil {
		return nil
	}
	start, err := startTime(pid)
	if err != nil {
		return nil //nolint:nilerr // an unreaped child has a start time, unless it has ended
	}
	r.Pid, r.Start = pid, start
	return r.write()
}

// write replaces the file whole: Sweep must never read half of one.
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

// sweepTime bounds the wait for killed processes to vanish.
const sweepTime = 5 * time.Second

// Sweep kills what the children recorded in dir have left running and removes
// their records; it returns how many records named living processes. It is for
// the start of the directory's one owner: children of a running owner are
// killed as well. A missing directory is empty.
func Sweep(dir string) (int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
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
			killed, err := sweep(path)
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

// sweep kills until nothing of one record is left. A record that cannot be
// read is removed: nothing safe can be done with it.
func sweep(path string) (killed bool, err error) {
	r := &record{path: path}
	body, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	if json.Unmarshal(body, r) != nil || !isMark(r.Mark) || r.Boot != bootID() {
		return false, os.Remove(path)
	}
	for deadline := time.Now().Add(sweepTime); r.kill(); killed = true {
		if time.Now().After(deadline) {
			return true, fmt.Errorf("process group %d survives SIGKILL", r.Pid)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return killed, os.Remove(path)
}

// kill reports whether anything was there to be killed.
func (r *record) kill() bool {
	found := killMarked(r.Mark) > 0
	if r.Pid <= 1 {
		return found
	}
	if start, err := startTime(r.Pid); err == nil && start == r.Start {
		found = syscall.Kill(-r.Pid, syscall.SIGKILL) == nil || found
	}
	return found
}
