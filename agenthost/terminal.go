package agenthost

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bellhop/agenthost/core"
	"bellhop/agenthost/terminal"
	"bellhop/agenthost/usershell"
	"bellhop/internal/masking"
	"bellhop/internal/process"
	"bellhop/protocol"
)

const (
	// MaxTerminalWait limits the wait of WatchTerminal.
	MaxTerminalWait = 25 * time.Second
	// terminalGrace is how long a terminal client counts as open after its last report.
	terminalGrace = 15 * time.Second
	// maxTerminalTurns bounds the turns of a session that wait to be journaled.
	maxTerminalTurns = 32
)

// TerminalTurn is a turn that a user made in the agent's own terminal client.
type TerminalTurn = terminal.Turn

// TurnReport is the part of a HookReport about the turn of a terminal client.
type TurnReport = terminal.Report

// Terminals is what a Host does for the agents' own terminal clients: it starts them on its sessions,
// closes them when a prompt comes, and journals the turns that were made in them.
type Terminals struct {
	h     *Host
	turns *terminal.Collector
}

// Terminal prepares a session for its agent's own terminal client and returns the command
// that starts the client on this machine. CodeNotFound: no such session; CodeInvalid: the
// agent has no such client; CodeConflict: a turn is open. Other errors are the agent's, such
// as a missing program.
func (t Terminals) Terminal(ctx context.Context, sessionID string) (*Terminal, error) {
	s, err := t.h.session(sessionID)
	if err != nil {
		return nil, err
	}
	if t.h.in(draining, stopped) {
		return nil, core.ErrStopping()
	}
	s.mu.Lock()
	name := s.state.Record.Agent
	_, err = s.apply(core.TerminalAttached{Opening: true})
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	defer terminalSession{s}.used()
	// A turn begins before or after, and the agent is not closed meanwhile.
	if err := s.agent.gate.lockUntil(ctx); err != nil {
		return nil, err
	}
	defer s.agent.gate.unlock()
	agent, err := s.agent.openLocked(ctx)
	if err != nil {
		return nil, err
	}
	client, ok := agent.(TerminalAgent)
	if !ok {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("The agent %s has no terminal client", name),
			Hint: "Talk with it by bellhop chat",
		}
	}
	command, err := client.Terminal(ctx)
	if err != nil {
		return nil, fmt.Errorf("terminal client of %s: %w", name, err)
	}
	return s.agent.confineTerminal(command)
}

// confineTerminal returns the terminal client as it runs in the sandbox.
func (a *agentSlot) confineTerminal(t *Terminal) (*Terminal, error) {
	confine := a.s.host.opts.confine(Confined{
		Session: a.s.id, Agent: a.openedFor.Agent, Project: a.openedFor.Project, Dir: a.dir, StateDir: a.stateDir,
	})
	if confine == nil {
		return t, nil
	}
	c, err := confine(process.Command{Args: t.Command, Dir: t.Dir, Env: t.Env, Dials: t.Dials})
	if err != nil {
		return nil, fmt.Errorf("terminal client: %w", err)
	}
	return &Terminal{Command: c.Args, Dir: c.Dir, Env: c.Env}, nil
}

// TerminalOpen records that a terminal client is open on the session, so that its program
// does not count as idle. Clients call it every few minutes; without that the program stops.
func (t Terminals) TerminalOpen(sessionID string) error {
	s, err := t.h.session(sessionID)
	if err == nil {
		terminalSession{s}.used()
	}
	return err
}

// WatchTerminal records that a terminal client is open, as TerminalOpen does. It returns true when a
// prompt takes the session over: then the client has to end. Without that it returns after wait.
// From its first call until TerminalClosed, or soon after its last one, other prompts are refused
// with CodeAttached.
func (t Terminals) WatchTerminal(
	ctx context.Context, sessionID string, wait time.Duration,
) (takenOver bool, err error) {
	s, err := t.h.session(sessionID)
	if err != nil {
		return false, err
	}
	a, err := terminalSession{s}.attach(wait + terminalGrace)
	if err != nil {
		return false, err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-a.wanted:
		return true, nil
	case <-timer.C:
	case <-ctx.Done():
	case <-t.h.work.Done():
	}
	return false, nil
}

// TerminalClosed records that the terminal client has ended.
func (t Terminals) TerminalClosed(sessionID string) error {
	s, err := t.h.session(sessionID)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	terminalSession{s}.detach()
	return nil
}

// collect adds a report to the turn of its program. A turn that is over is journaled. The host knows
// the turns that it began itself.
func (t Terminals) collect(g LocalGrant, program string, r *HookReport) {
	s, err := t.h.session(g.SessionID)
	if err != nil || r.Turn.IsEmpty() && r.Status != protocol.StatusNone {
		return
	}
	s.mu.Lock()
	ours := s.state.Turn != nil
	s.mu.Unlock()
	key := terminal.Key{Session: g.SessionID, Program: program}
	if ours {
		t.turns.Drop(key)
		return
	}
	for _, turn := range t.turns.Add(key, &r.Turn) {
		t.JournalTerminalTurn(g.SessionID, turn)
	}
}

// JournalTerminalTurn journals a turn that is over, unless it is known. It returns at once, and journals
// the turn later if a turn of the host is open.
func (t Terminals) JournalTerminalTurn(sessionID string, turn TerminalTurn) {
	if s, err := t.h.session(sessionID); err == nil {
		terminalSession{s}.journal(turn)
	}
}

// terminalSession is a session as its agent's terminal client uses it.
type terminalSession struct{ *session }

// attachment is the open terminal client of a session.
type attachment struct {
	wanted chan struct{} // closed when a prompt takes the session over
	gone   chan struct{} // closed when the client has ended
}

// attach refuses other prompts for a while, because a terminal client is open.
func (s terminalSession) attach(lasting time.Duration) (*attachment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.apply(core.TerminalAttached{For: lasting}) // it writes nothing
	if s.attached == nil {
		s.attached = &attachment{make(chan struct{}), make(chan struct{})}
	}
	return s.attached, err
}

// detach forgets the terminal client. The session's lock is held.
func (s terminalSession) detach() {
	_, _ = s.apply(core.TerminalAttached{Closed: true}) // it writes nothing
	if s.attached != nil {
		close(s.attached.gone)
		s.attached = nil
	}
}

// used restarts the time after which the idle program is stopped.
func (s terminalSession) used() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.apply(core.TerminalAttached{}) // it writes nothing
}

// takeOver notifies the terminal client that a prompt wants the session, and waits until it has ended
// or its last report is too old. Without a client it does nothing.
func (s terminalSession) takeOver(ctx context.Context) {
	s.mu.Lock()
	left := s.state.AttachedUntil.Sub(s.host.opts.Now())
	a := s.attached
	if left <= 0 || a == nil {
		s.mu.Unlock()
		return
	}
	select {
	case <-a.wanted:
	default:
		close(a.wanted)
	}
	s.mu.Unlock()
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-a.gone:
	case <-ctx.Done():
	case <-s.host.work.Done():
	case <-timer.C:
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.attached == a {
			s.detach()
		}
	}
}

// journal adds a turn to those that wait to be journaled.
func (s terminalSession) journal(turn TerminalTurn) {
	if turn.ID == "" {
		turn.ID = protocol.NewID()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.terminalTurns) >= maxTerminalTurns {
		s.host.opts.Log.Warn("a turn of a terminal client is not kept: too many wait", "session", s.id)
		return
	}
	s.terminalTurns = append(s.terminalTurns, turn.Input(masking.New(s.secrets())))
	if len(s.terminalTurns) == 1 {
		s.host.spawn(s.journalAll)
	}
}

// journalAll journals the turns that wait, one after the other. While the journal cannot be read or
// written (a full disk), it tries again.
func (s terminalSession) journalAll() {
	wait := firstWait
	for {
		s.mu.Lock()
		if len(s.terminalTurns) == 0 || s.state.Deleted {
			s.terminalTurns = nil
			s.mu.Unlock()
			return
		}
		if s.turn != nil {
			done := s.turn.done
			s.mu.Unlock()
			select {
			case <-done:
				continue
			case <-s.host.work.Done():
				return
			}
		}
		isDone := s.journalFirst()
		s.mu.Unlock()
		switch {
		case isDone:
			wait = firstWait
		case !s.host.waitToWrite(&wait):
			return
		}
	}
}

// journalFirst journals the first turn that waits, unless it is known, and removes it from those that
// wait. It returns false if the turn has to be tried again. The session's lock is held.
func (s terminalSession) journalFirst() (isDone bool) {
	in := s.terminalTurns[0]
	_, err := s.host.opts.Journal.Turn(s.host.work, s.id, in.TurnID)
	again := err != nil
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		_, err = s.apply(in)
		again = errors.As(err, new(unwritten))
	}
	if err != nil {
		s.host.opts.Log.Error("a turn of a terminal client could not be written",
			"session", s.id, "turn", in.TurnID, "error", err)
	}
	if again {
		return false
	}
	s.terminalTurns = s.terminalTurns[1:]
	return true
}

// ShellOptions configure the shells that users open in workspaces.
type ShellOptions = usershell.Options

// Shells are the shells that users open in workspaces.
type Shells = usershell.Opener

// Shell is a shell that a user has opened.
type Shell = usershell.Shell

// ShellSize is the size of a terminal.
type ShellSize = usershell.Size

// ShellScreen shows a shell.
type ShellScreen = usershell.Screen

// ErrShellExited is why a screen is left whose shell has exited by itself.
var ErrShellExited = usershell.ErrExited

// ErrNoShells is the error of a host that opens no shells.
func ErrNoShells() error { return usershell.ErrNone() }

// shellPlaces returns where users' shells run: where the session's agent does, confined as it is.
func shellPlaces(h *Host) func(ctx context.Context, sessionID string) (usershell.Place, error) {
	return func(ctx context.Context, sessionID string) (usershell.Place, error) {
		s, err := h.session(sessionID)
		if err != nil {
			return usershell.Place{}, err
		}
		s.mu.Lock()
		rec := s.state.Record
		s.mu.Unlock()
		if rec.Dir == "" {
			return usershell.Place{}, &protocol.Error{
				Code: protocol.CodeNoWorkspace, Message: "The session has no workspace yet", Hint: "Its first turn makes one",
			}
		}
		dir, home, err := h.opts.Workspaces.Dir(ctx, s.id, rec.Project)
		to := Confined{Session: s.id, Agent: rec.Agent, Project: rec.Project, Dir: dir, StateDir: home}
		return usershell.Place{Session: s.id, Dir: dir, Home: home, Confine: h.opts.confine(to)}, err
	}
}
