package claude

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
	"bellhop/protocol"
)

// lostSession is the program's error text for an unknown session.
const lostSession = "No conversation found"

// connection implements stdio.Connection.
type connection struct {
	program *program
	child   *stdio.Child
	deliver func(message) bool
	ready   chan struct{} // closed when the program has answered the handshake
	once    sync.Once

	commands []command // of the handshake; written before ready is closed
}

// reportCommands notifies the host of the commands of the handshake. The names of a turn's beginning are
// reported instead of them, if there are any: they have the commands of MCP servers too.
func (c *connection) reportCommands(names []string) {
	report := c.program.spec.ReportCommands
	if report == nil {
		return
	}
	var list []protocol.Command
	for _, known := range c.commands {
		isInternal := strings.HasPrefix(known.Name, "__")
		if !isInternal && (len(names) == 0 || slices.Contains(names, known.Name)) {
			list = append(list, protocol.Command{
				Name: known.Name, Description: known.Description, Arguments: known.ArgumentHint,
			})
		}
	}
	for _, name := range names {
		isKnown := slices.ContainsFunc(c.commands, func(known command) bool { return known.Name == name })
		if !isKnown {
			list = append(list, protocol.Command{Name: name})
		}
	}
	report(list)
}

// Decode implements stdio.Connection.
func (c *connection) Decode(line []byte) (message, error) {
	m, err := parse(line)
	if err == nil && m.request != nil && m.request.Request.Subtype == "hook_callback" {
		c.child.Offer(controlResponse(m.request.RequestID, askFirst))
		return m, stdio.ErrConsumed
	}
	if err == nil && m.reply != nil && m.reply.RequestID == handshake {
		c.once.Do(func() {
			c.commands = m.reply.Response.Commands
			c.reportCommands(nil)
			close(c.ready)
		})
		return m, stdio.ErrConsumed
	}
	return m, err
}

// Open waits until the program answers the handshake. The id of a new session is
// reported later, when the program has stored the session.
func (c *connection) Open(ctx context.Context, _ string, _ agenthost.Output) (id string, memoryLost bool, err error) {
	p := c.program
	late := time.NewTimer(p.options.Start)
	defer late.Stop()
	select {
	case <-c.ready:
		memoryLost = p.session == ""
		p.session = p.starting
		return "", memoryLost, nil
	case <-c.child.Ended():
		return "", false, c.startFailed()
	case <-ctx.Done():
		return "", false, ctx.Err()
	case <-late.C:
		return "", false, protocol.Errorf(protocol.CodeUnavailable, "The agent %s does not answer after %s",
			p.options.Name, p.options.Start)
	}
}

// startFailed returns the error of a program that exited before it accepted a
// prompt.
func (c *connection) startFailed() error {
	p := c.program
	summary := c.child.ExitSummary("The agent " + p.options.Name + " ended before it could take a prompt")
	if p.session != "" && strings.Contains(summary, lostSession) {
		p.session = ""
		return stdio.ErrSessionLost
	}
	return protocol.Errorf(protocol.CodeUnavailable, "%s", summary)
}

// Reject denies a request, because no user can allow it between turns.
func (c *connection) Reject(m message) {
	if m.Type == "control_request" {
		c.child.Offer(controlResponse(m.request.RequestID, deny("No turn is running: the call cannot be confirmed.")))
	}
}

// Begin implements stdio.Connection.
func (c *connection) Begin(t *stdio.Turn) stdio.Exchange[message] {
	return &turn{Turn: t, connection: c, blocks: blocks{out: t.Out}}
}
