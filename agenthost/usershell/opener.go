package usershell

import (
	"context"
	"errors"

	"bellhop/protocol"
)

// Opener opens shells in the workspaces of a host's sessions. The zero value opens none.
type Opener struct {
	shells *Shells
	place  func(ctx context.Context, sessionID string) (Place, error)
}

// NewOpener opens shells at the places of sessions. Without options it opens none.
func NewOpener(options *Options, place func(ctx context.Context, sessionID string) (Place, error)) (Opener, error) {
	if options == nil {
		return Opener{}, nil
	}
	shells, err := New(*options)
	return Opener{shells, place}, err
}

// HasShells reports whether users can open shells on this host.
func (o *Opener) HasShells() bool { return o.shells != nil }

// OpenShell shows a shell in a session's workspace on a screen: the one with an id, or a new one for "". It
// runs in the sandbox of the session's agent. CodeMethodNotAllowed: this host opens none. CodeNoWorkspace: the session
// has no workspace yet. CodeGone: the shell has ended. CodeTooManyRequests: the session has as many as it may.
func (o *Opener) OpenShell(
	ctx context.Context, sessionID, shellID string, size protocol.TerminalSize, screen func(*Shell) Screen,
) error {
	if o.shells == nil {
		return ErrNone()
	}
	dimensions := Size(size)
	if err := dimensions.Check(); err != nil {
		return err
	}
	var shell *Shell
	var err error
	if shellID == "" {
		shell, err = o.open(ctx, sessionID, dimensions)
	} else if shell, err = o.shells.Find(sessionID, shellID); err == nil {
		err = shell.Redraw(dimensions)
	}
	if err != nil {
		return err
	}
	if err = shell.Show(screen(shell)); errors.Is(err, ErrExited) {
		return errGone()
	}
	return err
}

func (o *Opener) open(ctx context.Context, sessionID string, size Size) (*Shell, error) {
	place, err := o.place(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	shell, err := o.shells.Open(place, size)
	if err != nil {
		return nil, err
	}
	if _, err := o.place(ctx, sessionID); err != nil { // the session was deleted meanwhile
		o.shells.EndSession(sessionID)
		return nil, err
	}
	return shell, nil
}

// ErrNone is the error of a host that opens no terminals.
func ErrNone() error {
	return &protocol.Error{
		Code: protocol.CodeMethodNotAllowed, Message: "The host opens no terminals",
		Hint: "The operator enables them with terminal: in the host's configuration",
	}
}

// EndShell ends a shell with all of its programs.
func (o *Opener) EndShell(shell *Shell) {
	o.shells.End(ErrExited, func(one *Shell) bool { return one == shell })
}

// EndShells ends the shells of a session.
func (o *Opener) EndShells(sessionID string) {
	if o.shells != nil {
		o.shells.EndSession(sessionID)
	}
}

// RunShells ends idle shells until ctx ends, and then all. ended is closed after that.
func (o *Opener) RunShells(ctx context.Context) (ended <-chan struct{}) {
	done := make(chan struct{})
	if o.shells == nil {
		close(done)
		return done
	}
	go func() {
		defer close(done)
		_ = o.shells.Run(ctx)
	}()
	return done
}
