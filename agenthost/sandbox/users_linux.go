package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// powers are the capabilities of root that a host needs to run programs of other users: to become them,
// to give them files, to use their files and to stop their processes.
var powers = []struct {
	bit  uint
	name string
}{
	{unix.CAP_CHOWN, "CHOWN"},
	{unix.CAP_DAC_OVERRIDE, "DAC_OVERRIDE"},
	{unix.CAP_FOWNER, "FOWNER"},
	{unix.CAP_KILL, "KILL"},
	{unix.CAP_SETGID, "SETGID"},
	{unix.CAP_SETUID, "SETUID"},
	{unix.CAP_SETPCAP, "SETPCAP"},
}

// checkPowers returns an error if this process lacks one of them, such as in a container that drops them.
func checkPowers() error {
	header := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(header, &data[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	for _, power := range powers {
		if data[0].Effective&(1<<power.bit) == 0 {
			return fmt.Errorf("root lacks the capability %s here", power.name)
		}
	}
	return nil
}
