package access

import (
	"context"

	"bellhop/protocol"
)

// Shipper is a Workspaces that ships the work of sessions.
type Shipper interface {
	// Ships lists what can be done with a session's work.
	Ships(sessionID, project string) []protocol.ShipStep
	// Commit commits the changes of a session's workspace. CodeNotFound: the session has none.
	Commit(ctx context.Context, sessionID, project string, req *protocol.CommitRequest) (*protocol.CommitResponse, error)
	// Discard gives files the content that they had when the session began. CodeNotFound: as of Commit.
	Discard(
		ctx context.Context, sessionID, project string, req *protocol.DiscardRequest,
	) (*protocol.DiscardResponse, error)
	// DiscardHunk gives a part of a file the content that it had when the session began. shown returns a text of the
	// diff as the client got it. CodeNotFound: as of Commit.
	DiscardHunk(
		ctx context.Context, sessionID, project string, req *protocol.DiscardRequest, shown func(string) string,
	) (*protocol.DiscardResponse, error)
	// FetchRemote brings new commits of the project's remote into a session's clone; a turn may run meanwhile.
	// CodeNotFound: as of Commit.
	// own is the user's own token for the forge of the remote, nil for the host's.
	FetchRemote(
		ctx context.Context, sessionID, project string, own *protocol.ForgeCredential,
	) (*protocol.FetchResponse, error)
	// Push pushes the branch to the project's remote. CodeNotFound: as of Commit.
	Push(
		ctx context.Context, sessionID, project string, req *protocol.PushRequest, own *protocol.ForgeCredential,
	) (*protocol.PushResponse, error)
	// PullRequest opens or changes the pull request of the branch. CodeNotFound: as of Commit.
	PullRequest(
		ctx context.Context, sessionID, project string, req *protocol.PullRequestRequest, own *protocol.ForgeCredential,
	) (*protocol.PullRequestResponse, error)
	// Remote describes the remote to which a session's work goes; nil if there is none, or if it is not known.
	Remote(ctx context.Context, sessionID, project string) *protocol.RemoteState
}

// Shipping ships the work of a host's sessions.
type Shipping struct {
	workspaces Workspaces
	session    func(id string) (Session, error)
	whileIdle  func(ctx context.Context, id string, do func() error) error
}

// NewShipping ships from workspaces. session returns a session of the host; CodeNotFound: there is none.
// whileIdle calls do while no turn of a session runs; CodeBusy: a turn is open, or waits.
func NewShipping(
	workspaces Workspaces, session func(id string) (Session, error),
	whileIdle func(ctx context.Context, id string, do func() error) error,
) Shipping {
	return Shipping{workspaces, session, whileIdle}
}

// Ships lists what the host does with a session's work.
func (s Shipping) Ships(sessionID string) []protocol.ShipStep {
	shipper, ok := s.workspaces.(Shipper)
	found, err := s.session(sessionID)
	if !ok || err != nil {
		return nil
	}
	return shipper.Ships(sessionID, found.Project)
}

// Commit commits the changes of a session's workspace. CodeBusy: a turn is open, or waits. CodeNotFound: there
// is no such session. CodeMethodNotAllowed: this host does not commit.
func (s Shipping) Commit(
	ctx context.Context, sessionID string, req *protocol.CommitRequest,
) (done *protocol.CommitResponse, err error) {
	err = s.ship(ctx, sessionID, func(shipper Shipper, of Session) error {
		done, err = shipper.Commit(ctx, sessionID, of.Project, req)
		return err
	})
	return done, err
}

// Discard gives files of a session's workspace, or a part of one, the content that they had when the session began.
// Its errors are those of Commit.
func (s Shipping) Discard(
	ctx context.Context, sessionID string, req *protocol.DiscardRequest,
) (done *protocol.DiscardResponse, err error) {
	err = s.ship(ctx, sessionID, func(shipper Shipper, of Session) error {
		if req.Hunk == nil {
			done, err = shipper.Discard(ctx, sessionID, of.Project, req)
			return err
		}
		if err = req.Check(); err == nil {
			done, err = shipper.DiscardHunk(ctx, sessionID, of.Project, req, of.Mask)
		}
		return err
	})
	return done, err
}

// FetchRemote brings new commits of the remote of a session's project into the session's clone, also while a turn is
// open. Its other errors are those of Commit.
func (s Shipping) FetchRemote(
	ctx context.Context, sessionID string, own *protocol.ForgeCredential,
) (*protocol.FetchResponse, error) {
	shipper, of, err := s.find(sessionID)
	if err != nil {
		return nil, err
	}
	done, err := shipper.FetchRemote(ctx, sessionID, of.Project, own)
	return done, noWorkspace(err)
}

// Push pushes the branch of a session's workspace to the remote of its project. Its errors are those of Commit.
func (s Shipping) Push(
	ctx context.Context, sessionID string, req *protocol.PushRequest, own *protocol.ForgeCredential,
) (done *protocol.PushResponse, err error) {
	err = s.ship(ctx, sessionID, func(shipper Shipper, of Session) error {
		done, err = shipper.Push(ctx, sessionID, of.Project, req, own)
		return err
	})
	return done, err
}

// PullRequest opens or changes the pull request of the branch of a session's workspace. Its errors are those of
// Commit.
func (s Shipping) PullRequest(
	ctx context.Context, sessionID string, req *protocol.PullRequestRequest, own *protocol.ForgeCredential,
) (done *protocol.PullRequestResponse, err error) {
	err = s.ship(ctx, sessionID, func(shipper Shipper, of Session) error {
		done, err = shipper.PullRequest(ctx, sessionID, of.Project, req, own)
		return err
	})
	return done, err
}

// Remote describes the remote to which a session's work goes; nil if there is none, or if the host does not ship.
func (s Shipping) Remote(ctx context.Context, sessionID string) *protocol.RemoteState {
	shipper, ok := s.workspaces.(Shipper)
	found, err := s.session(sessionID)
	if !ok || err != nil {
		return nil
	}
	return shipper.Remote(ctx, sessionID, found.Project)
}

func (s Shipping) ship(
	ctx context.Context, sessionID string, step func(shipper Shipper, of Session) error,
) error {
	return s.whileIdle(ctx, sessionID, func() error {
		shipper, found, err := s.find(sessionID)
		if err != nil {
			return err
		}
		return noWorkspace(step(shipper, found))
	})
}

// find returns a session with what ships its work. CodeMethodNotAllowed: this host ships nothing.
func (s Shipping) find(sessionID string) (Shipper, Session, error) {
	shipper, ok := s.workspaces.(Shipper)
	if !ok {
		return nil, Session{}, protocol.Errorf(protocol.CodeMethodNotAllowed, "The host does not ship the work of sessions")
	}
	found, err := s.session(sessionID)
	return shipper, found, err
}

// noWorkspace returns another error for a session without a workspace than for an unknown session.
func noWorkspace(err error) error {
	if protocol.CodeOf(err) != protocol.CodeNotFound {
		return err
	}
	return &protocol.Error{
		Code: protocol.CodeNoWorkspace, Message: "The session has no workspace", Err: err,
		Hint: "The session's next turn makes it, unless it was created by name",
	}
}
