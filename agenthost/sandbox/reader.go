package sandbox

import (
	"bellhop/agenthost/sandbox/launch"
	"bellhop/internal/owner"
	"bellhop/internal/process"
)

// readerProcesses bounds the processes and threads of a reader.
const readerProcesses = 256

// ConfineReader returns a command of this binary that reads the directories in read, and can change those in write,
// with the rights of a session's programs at most. It has no home, tools and sockets. user is the session's, nil for
// the host's. Where no sandbox is, the command stays as it is.
func (s *Sandbox) ConfineReader(user *owner.ID, read, write []string, c process.Command) (process.Command, error) {
	if !s.isActive() {
		return c, nil
	}
	spec := launch.Spec{
		Read: append([]string{s.options.Self}, read...), Write: write, User: user,
		Namespaces: s.namespaces, Network: s.network, NoSockets: true, NoChanges: len(write) == 0,
		Processes: readerProcesses,
	}
	var err error
	c.Args, err = spec.CommandLine(s.options.Self, c.Args)
	return c, err
}
