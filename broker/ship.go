package broker

import (
	"cmp"
	"context"
	"net/url"
	"strconv"
	"strings"

	"bellhop/protocol"
)

// Ships has agent hosts ship the work of tasks.
type Ships struct {
	Sessions *Sessions
	Users    ShipStore
	Link     ShipLink
	Tokens   *ForgeTokens // nil: users have no tokens of their own

	steps userSlots
}

// ShipStore reads the user whose name a commit gets, and stores acts and entries of the audit log.
type ShipStore interface {
	AuditStore
	ActStore
	User(ctx context.Context, id string) (*User, error)
}

// ShipLink asks hosts; broker/hosts implements it. CodeMethodNotAllowed: the host does not ship, such as a
// basic one. CodeNotFound: it has no such session. Every call ends within 150 s.
type ShipLink interface {
	Commit(ctx context.Context, t Target, sessionID string, req *protocol.CommitRequest) (*protocol.CommitResponse, error)
	Discard(
		ctx context.Context, t Target, sessionID string, req *protocol.DiscardRequest,
	) (*protocol.DiscardResponse, error)
	// Fetch may be called while a turn is open. own is the user's own token for the forge, nil for the host's.
	Fetch(ctx context.Context, t Target, sessionID string, own *ForgeToken) (*protocol.FetchResponse, error)
	PullRequest(
		ctx context.Context, t Target, sessionID string, req *protocol.PullRequestRequest, own *ForgeToken,
	) (*protocol.PullRequestResponse, error)
	Push(
		ctx context.Context, t Target, sessionID string, req *protocol.PushRequest, own *ForgeToken,
	) (*protocol.PushResponse, error)
}

// stepsOfUser is how many steps one user's requests take at a time.
const stepsOfUser = 2

// Commit has the task's host commit the changes of the session's workspace in the name of the user, and adds
// an entry to the audit log. CodeBusy: a turn is open. CodeNothingToCommit, CodeUnmerged, CodeNoBranch: as
// the host says.
func (s *Ships) Commit(
	ctx context.Context, userID, taskID string, req *protocol.CommitTaskRequest,
) (*protocol.CommitResponse, error) {
	message, err := protocol.CheckCommitMessage(req.Message)
	if err != nil {
		return nil, err
	}
	author, err := s.author(ctx, userID)
	if err != nil {
		return nil, err
	}
	request := &protocol.CommitRequest{Message: message, Author: author, Snapshot: req.Snapshot, Head: req.Head}
	return run(ctx, s, userID, taskID, step[protocol.CommitResponse]{
		kind: protocol.ShipCommit, request: request,
		do: func(ctx context.Context, at *session) (*protocol.CommitResponse, *Act, error) {
			done, err := s.Link.Commit(ctx, at.target, taskID, request)
			if err != nil {
				return nil, nil, err
			}
			done.Commit, done.Branch = cleanText(done.Commit), cleanText(done.Branch)
			done.InnerRepositories, done.InnerRepositoryCount = cleanInner(done.InnerRepositories, done.InnerRepositoryCount)
			return done, taskAct(protocol.AuditTaskCommitted, at.task, map[string]string{
				"commit": done.Commit, "branch": done.Branch, "files": strconv.Itoa(done.Files),
			}), nil
		},
	})
}

// Discard has the task's host give files, or a part of one, the content that they had when the task began, and adds an
// entry to the audit log. CodeBusy: a turn is open. CodeConflict: as the host says.
func (s *Ships) Discard(
	ctx context.Context, userID, taskID string, req *protocol.DiscardRequest,
) (*protocol.DiscardResponse, error) {
	if err := req.Check(); err != nil {
		return nil, err
	}
	return run(ctx, s, userID, taskID, step[protocol.DiscardResponse]{
		kind: protocol.ShipDiscard, request: req,
		do: func(ctx context.Context, at *session) (*protocol.DiscardResponse, *Act, error) {
			done, err := s.Link.Discard(ctx, at.target, taskID, req)
			if err != nil {
				return nil, nil, err
			}
			facts := map[string]string{"files": strconv.Itoa(done.Files)}
			if req.Hunk != nil {
				facts["hunks"] = "1"
			}
			return done, taskAct(protocol.AuditTaskDiscarded, at.task, facts), nil
		},
	})
}

// Fetch has the task's host bring new commits of the project's remote into the clone of the session, and adds an entry
// to the audit log. It changes no branch and no file, so the agent may work meanwhile. CodeNoRemote, CodeNoBranch,
// CodeRemoteFailed: as the host says.
func (s *Ships) Fetch(ctx context.Context, userID, taskID string) (*protocol.FetchResponse, error) {
	return run(ctx, s, userID, taskID, step[protocol.FetchResponse]{
		kind: protocol.ShipFetch, busy: true,
		do: func(ctx context.Context, at *session) (*protocol.FetchResponse, *Act, error) {
			own, err := s.ownToken(ctx, userID, at, true)
			if err != nil {
				return nil, nil, err
			}
			done, err := s.Link.Fetch(ctx, at.target, taskID, own)
			if err != nil {
				return nil, nil, err
			}
			done.Branch, done.Base = cleanText(done.Branch), cleanText(done.Base)
			done.Diverged, done.BaseCommit = cleanText(done.Diverged), cleanText(done.BaseCommit)
			facts := map[string]string{"branch": done.Branch, "base": done.Base}
			for name, commit := range map[string]string{"diverged": done.Diverged, "baseCommit": done.BaseCommit} {
				if commit != "" {
					facts[name] = commit
				}
			}
			return done, taskAct(protocol.AuditTaskFetched, at.task, own.note(facts)), nil
		},
	})
}

// Push has the task's host push the branch of the session's workspace to the remote of its project, and adds an
// entry to the audit log. CodeBusy: a turn is open. CodeNoRemote, CodeDivergedBranch, CodePushRejected,
// CodeRemoteFailed: as the host says.
func (s *Ships) Push(
	ctx context.Context, userID, taskID string, req *protocol.PushRequest,
) (*protocol.PushResponse, error) {
	if err := req.Check(); err != nil {
		return nil, err
	}
	return run(ctx, s, userID, taskID, step[protocol.PushResponse]{
		kind: protocol.ShipPush, request: req,
		do: func(ctx context.Context, at *session) (*protocol.PushResponse, *Act, error) {
			own, err := s.ownToken(ctx, userID, at, true)
			if err != nil {
				return nil, nil, err
			}
			done, err := s.Link.Push(ctx, at.target, taskID, req, own)
			if err != nil {
				return nil, nil, err
			}
			done.Commit, done.Branch = cleanText(done.Commit), cleanText(done.Branch)
			done.Remote, done.Replaced = cleanText(done.Remote), cleanText(done.Replaced)
			facts := map[string]string{"commit": done.Commit, "branch": done.Branch, "remote": done.Remote}
			if done.Replaced != "" {
				facts["replaced"] = done.Replaced
			}
			return done, taskAct(protocol.AuditTaskPushed, at.task, own.note(facts)), nil
		},
	})
}

// PullRequest has the task's host open the pull request of the task's branch, or change the open one, and adds an
// entry to the audit log. CodeBusy: a turn is open. CodeNoRemote, CodeRemoteFailed, CodeTooManyRequests,
// CodeConflict: as the host says.
func (s *Ships) PullRequest(
	ctx context.Context, userID, taskID string, req *protocol.PullRequestRequest,
) (*protocol.PullRequestResponse, error) {
	if err := req.Check(); err != nil {
		return nil, err
	}
	return run(ctx, s, userID, taskID, step[protocol.PullRequestResponse]{
		kind: protocol.ShipRequest, request: req,
		do: func(ctx context.Context, at *session) (*protocol.PullRequestResponse, *Act, error) {
			own, err := s.ownToken(ctx, userID, at, false)
			if err != nil {
				return nil, nil, err
			}
			done, err := s.Link.PullRequest(ctx, at.target, taskID, req, own)
			if err != nil {
				return nil, nil, err
			}
			done.URL, done.Branch, done.Base = cleanLink(done.URL), cleanText(done.Branch), cleanText(done.Base)
			return done, taskAct(protocol.AuditTaskRequested, at.task, own.note(map[string]string{
				"url": done.URL, "branch": done.Branch, "base": done.Base, "created": strconv.FormatBool(done.Created),
			})), nil
		},
	})
}

// cleanLink returns an address that a browser may open, "" for another.
func cleanLink(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" || parsed.User != nil || parsed.Scheme != "https" && parsed.Scheme != "http" {
		return ""
	}
	return cleanText(parsed.String())
}

// author returns the author of a user's commits. Users have no name besides their e-mail address.
func (s *Ships) author(ctx context.Context, userID string) (protocol.CommitAuthor, error) {
	user, err := s.Users.User(ctx, userID)
	if err != nil {
		return protocol.CommitAuthor{}, err
	}
	clean := strings.Map(func(char rune) rune {
		if char < ' ' || char == '<' || char == '>' || char == 0x7f {
			return -1
		}
		return char
	}, user.Email)
	name, _, _ := strings.Cut(clean, "@")
	return protocol.CommitAuthor{Name: cmp.Or(strings.Trim(name, " .,:;\"'"), "user"), Email: clean}, nil
}

// step is what a host does to the work of a task, once. do asks the host; it returns the answer and what the audit log
// says of it.
type step[R any] struct {
	kind    protocol.ShipStep
	request any  // with kind: what is asked for
	busy    bool // it is also done while a turn is open
	do      func(ctx context.Context, at *session) (*R, *Act, error)
}

// run runs a step, and then adds its entry to the audit log. The host is asked outside of the transaction, because it
// may take minutes. A step that is done is not done again: its answer is returned.
func run[R any](ctx context.Context, s *Ships, userID, taskID string, step step[R]) (*R, error) {
	task, err := s.Sessions.agentTask(ctx, userID, taskID)
	if err != nil {
		return nil, err
	}
	var act *Act
	return once(ctx, s.Users, s.Sessions.Now, task.ID, string(step.kind), step.request,
		func(ctx context.Context) (done *R, err error) {
			if task.OpenTurn != "" && !step.busy {
				return nil, &protocol.Error{
					Code: protocol.CodeBusy, Message: "The agent works on a message", Hint: "Wait until it has finished, or stop it",
				}
			}
			at, err := s.Sessions.find(ctx, userID, task.ID)
			if err != nil {
				return nil, err
			}
			release, err := s.steps.acquire(ctx, userID, stepsOfUser)
			if err != nil {
				return nil, err
			}
			defer release()
			// A caller that goes away must not leave an act without its entry. The host's answer is awaited for a bounded time.
			if done, act, err = step.do(context.WithoutCancel(ctx), at); err != nil {
				return nil, notShipped(err)
			}
			return done, nil
		},
		func(ctx context.Context, row *ActRow) error {
			return Audited(ctx, s.Users, s.Sessions.Now, func(ctx context.Context) (*Act, error) {
				first, err := s.Users.FinishAct(ctx, row)
				if err != nil || !first {
					return nil, err
				}
				return act, nil
			})
		})
}

// notShipped explains the errors of hosts that have nothing to ship, or cannot.
func notShipped(err error) error {
	switch protocol.CodeOf(err) {
	case protocol.CodeMethodNotAllowed:
		return &protocol.Error{
			Code: protocol.CodeBadGateway, Message: "The agent host ships no work of tasks", Err: err,
			Hint: "It is a basic agent server: do it there",
		}
	case protocol.CodeNotFound:
		return &protocol.Error{
			Code: protocol.CodeConflict, Message: "The agent host has no session of this task", Err: err,
			Hint: "Send a message first: the agent works in a workspace from its first turn on",
		}
	}
	return err
}
