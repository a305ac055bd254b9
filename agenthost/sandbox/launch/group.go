package launch

import (
	"fmt"
	"os"
	"path"
)

// JoinGroup moves this process into a group.
func JoinGroup(dir string) error {
	if err := WriteGroup(dir, "cgroup.procs", "0"); err != nil {
		return fmt.Errorf("join the control group: %w", err)
	}
	return nil
}

// WriteGroup writes one of the files with which the kernel controls a group.
func WriteGroup(dir, file, value string) error {
	return os.WriteFile(path.Join(dir, file), []byte(value), 0o600)
}
