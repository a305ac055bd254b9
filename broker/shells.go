package broker

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"time"

	"bellhop/protocol"
)

// Shells lets users open terminals in the workspaces of their tasks.
type Shells struct {
	Sessions *Sessions
	Store    AuditStore
	Link     ShellLink

	// Rights: who may open terminals; "" = no user.
	Rights ShellRights

	open userSlots
}

// ShellRights are the users who may open terminals in the workspaces of their tasks.
type ShellRights string

// The rights.
const (
	ShellsOff       ShellRights = "off"
	ShellsForAdmins ShellRights = "admins"
	ShellsForAll    ShellRights = "all"
)

// ShellLink connects to terminals of hosts; broker/hosts implements it. origin is the page's. CodeMethodNotAllowed: the
// host opens none.
type ShellLink interface {
	Shell(ctx context.Context, t Target, sessionID, origin string) (ShellConn, error)
}

// ShellConn is a connection to a terminal at a host. Read and Write may run at the same time.
type ShellConn interface {
	// Direct is the URL at which the page may connect to the host itself; "" = the host named none.
	Direct() string
	Read(ctx context.Context) (binary bool, message []byte, err error)
	Write(ctx context.Context, binary bool, message []byte) error
	Close()
}

// OpenShell is a connection to a terminal for a page.
type OpenShell struct {
	ShellConn

	// URL is where the page connects to the host itself, if it can; "" = only through the broker.
	URL string

	// End closes the connection and adds the entry of the end to the audit log. It must be called.
	End func()
}

// shellsOfUser is how many terminals one user has open at a time.
const shellsOfUser = 8

// closeTime limits how long the entry of a terminal's end may take.
const closeTime = 10 * time.Second

// May reports whether a caller may open terminals.
func (s *Shells) May(caller Caller) bool {
	return s.Rights == ShellsForAll || s.Rights == ShellsForAdmins && caller.Admin
}

// Check returns the task if the caller may have a terminal in its workspace. CodeForbidden: the caller may not.
// CodeConflict: the task is archived.
func (s *Shells) Check(ctx context.Context, caller Caller, taskID string) (*Task, error) {
	if !s.May(caller) {
		return nil, &protocol.Error{
			Code: protocol.CodeForbidden, Message: "You may not open terminals",
			Hint: "BELLHOP_TERMINALS decides who may: off, admins or all",
		}
	}
	task, err := s.Sessions.agentTask(ctx, caller.UserID, taskID)
	if err == nil && task.Archived {
		err = &protocol.Error{
			Code: protocol.CodeConflict, Message: "The task is archived", Hint: "Unarchive it to open a terminal",
		}
	}
	return task, err
}

// Open connects to a terminal in the workspace of a task for a page of that origin, and adds an entry to the audit log.
// Its errors are those of Check, and: CodeNoWorkspace: the task has had no turn yet. CodeTooManyRequests: the user has
// as many terminals as they may.
func (s *Shells) Open(ctx context.Context, caller Caller, taskID, origin string) (*OpenShell, error) {
	task, err := s.Check(ctx, caller, taskID)
	if err != nil {
		return nil, err
	}
	if task.OpenTurn == "" && task.LastTurn == nil || s.Sessions.Targets.missing(task) {
		return nil, errNoTurnYet()
	}
	at, err := s.Sessions.find(ctx, caller.UserID, taskID)
	if err != nil {
		return nil, err
	}
	release, err := openSlot(&s.open, caller.UserID, shellsOfUser, "terminals")
	if err != nil {
		return nil, err
	}
	conn, err := s.Link.Shell(ctx, at.target, taskID, origin)
	if err != nil {
		release()
		return nil, notOpened(err)
	}
	if err := s.record(ctx, protocol.AuditTerminalOpened, task); err != nil {
		conn.Close()
		release()
		return nil, err
	}
	end := sync.OnceFunc(func() {
		defer release()
		conn.Close()
		s.recordEnd(ctx, task)
	})
	return &OpenShell{ShellConn: conn, URL: s.directURL(ctx, at, conn.Direct()), End: end}, nil
}

// directURL returns the URL at which a page connects to the host itself, "" if it may not.
func (s *Shells) directURL(ctx context.Context, at *session, named string) string {
	u, err := url.Parse(named)
	if err != nil || at.target.Relay || !s.Sessions.allowOrigin(ctx, at.task, at.target, originOf(named)) {
		return ""
	}
	u.Scheme = strings.Replace(u.Scheme, "http", "ws", 1)
	return u.String()
}

func (s *Shells) recordEnd(ctx context.Context, task *Task) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	if err := s.record(ctx, protocol.AuditTerminalClosed, task); err != nil {
		s.Sessions.Log.ErrorContext(ctx, "the end of a terminal is not in the audit log", "task", task.ID, "error", err)
	}
}

func (s *Shells) record(ctx context.Context, action protocol.AuditAction, task *Task) error {
	return Audited(ctx, s.Store, s.Sessions.Now, func(context.Context) (*Act, error) {
		return taskAct(action, task, nil), nil
	})
}

func errNoTurnYet() error {
	return &protocol.Error{
		Code: protocol.CodeNoWorkspace, Message: "The task has no workspace yet",
		Hint: "Send a message first: the agent works in a workspace from its first turn on",
	}
}

func notOpened(err error) error {
	if protocol.CodeOf(err) != protocol.CodeMethodNotAllowed {
		return err
	}
	return &protocol.Error{
		Code: protocol.CodeBadGateway, Message: "The agent host opens no terminals", Err: err,
		Hint: "The operator of the host enables them with terminal: in its configuration",
	}
}
