package broker

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"sync"
	"time"

	"bellhop/crypto/seal"
	"bellhop/crypto/token"
	"bellhop/internal/observe"
	"bellhop/protocol"
)

// Sessions opens, attaches to, interrupts and relays a task's session on its
// host, and renews the host's webhook token.
type Sessions struct {
	Store      SessionStore
	Updater    *Updater
	Targets    *Targets
	Link       Link
	Ends       *SessionEnds
	Reconciler *Reconciler // woken when the host's open turn differs from the broker's; may be nil
	Offers     *Offers     // of hosts, for tasks without one; nil: every host suits
	Relayer    Relayer     // for streams that go through the broker
	BrokerID   string      // this installation

	Incarnation *Incarnation // of the database; may be nil

	Origins []string // that hosts may name to the console, besides those at the names of their URLs

	PublicURL  string // where hosts post to
	BrowserURL string // where browsers see the broker; "" = PublicURL
	Now        func() time.Time
	Log        *slog.Logger

	Observer observe.Observer // of check-ins; may be nil
	Quotas   *Quotas          // of users; may be nil

	diffs          userSlots
	refusedOrigins sync.Map // by owner: the last origin that the host had no right to name, so that it is logged once
}

// SessionStore is what Sessions stores besides the changes of a task.
type SessionStore interface {
	RelayStore
	ActStore
	// Task returns CodeNotFound for another user's or a deleted task.
	Task(ctx context.Context, userID, id string) (*Task, error)
	// OpenableTask returns CodeNotFound for another user's or a deleted task.
	OpenableTask(ctx context.Context, userID, id string, now time.Time) (*OpenableTask, error)
	WebhookSecret(ctx context.Context, taskID string) (seal.Secret, error)
	// Announces reports whether Announce is faster than LockTask followed by Apply.
	Announces() bool
	// Announce adds a message and its announced turn in one statement. It gives the message and its change the
	// task's next numbers, which it takes from the database, and returns the task's rev. It returns 0 and writes
	// nothing if the user has no such task or the task has a message of this id.
	Announce(ctx context.Context, userID string, m *Message, t *Turn) (rev int64, err error)
	Message(ctx context.Context, taskID, id string) (*Message, error)
	// LastDiff returns the newest message whose body hash begins with DiffHash.
	LastDiff(ctx context.Context, taskID string) (*Message, error)
	// HasCredential reports whether a sign-in or API token of this id has not ended.
	HasCredential(ctx context.Context, userID, id string) (bool, error)
}

// OpenableTask is a task with all that opens its session, read at once.
type OpenableTask struct {
	Task          Task
	Host          *Host         // of the task; nil for a task with a URL of its own
	Passwords     []seal.Secret // of a task without a host, newest first
	WebhookSecret seal.Secret
}

// session is a user's task and the target that has its session.
type session struct {
	task        *Task
	target      Target
	secret      seal.Secret // of the task's webhook tokens
	incarnation string      // known before the task was read
}

const (
	webhookPath      = "/api/agent/webhook"
	defaultStreamTTL = protocol.StreamTokenLifetime // for hosts that do not state one
)

// Attach opens the session without a turn. Its token allows reading, answering and
// interrupting.
func (s *Sessions) Attach(
	ctx context.Context, userID string, in *protocol.AttachRequest,
) (*protocol.AttachResponse, error) {
	at, err := s.find(ctx, userID, in.TaskID)
	if err == nil {
		err = checkReach(in.Reach)
	}
	if err != nil {
		return nil, err
	}
	req, err := s.openRequest(at, at.task.OpenTurn)
	if err != nil {
		return nil, err
	}
	req.Attach = true
	response, err := s.open(ctx, at, req)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.storeTraits(ctx, at.task, response), s.checkCredential(ctx, response)); err != nil {
		return nil, err
	}
	s.wakeIfTurnsDiffer(at.task, response)
	reach, streamURL := s.route(ctx, at, in.Reach, response)
	return &protocol.AttachResponse{
		Success: true, SessionID: at.task.ID, StreamToken: response.Token, StreamURL: streamURL, Reach: reach,
		ExpiresAt: s.expiry(response), AgentStatus: cmp.Or(response.Status, at.task.AgentStatus),
		StreamCursor: response.StreamCursor, Capabilities: response.Capabilities,
	}, nil
}

// Interrupt stops a turn, and returns when the agent has stopped. With "" it is the open turn, else the announced one,
// even if a check-in is opening that at the host. A turn that is over needs nothing: it is not the next one that stops.
// If the host does not have the session, nothing is running and Interrupt succeeds. After a
// response that may not be the host's, the host is asked for its state soon. For a
// basic host Interrupt ends the turn at the broker; the caller must close the stream.
// Queued messages wait then until a user resumes the queue.
func (s *Sessions) Interrupt(
	ctx context.Context, userID, taskID, turnID string,
) (*protocol.InterruptResponse, error) {
	task, err := s.agentTask(ctx, userID, taskID)
	if err != nil {
		return nil, err
	}
	unfinished, err := s.Updater.Store.TurnsIn(ctx, taskID, TurnAnnounced, TurnOpen)
	if err != nil {
		return nil, err
	}
	current := turnID == "" || slices.ContainsFunc(unfinished, func(t Turn) bool { return t.ID == turnID })
	if !current && !task.HostEvents { // a basic host stops what is open, whatever is named
		return &protocol.InterruptResponse{Success: true, CloseStream: true}, nil
	}
	if current && (task.Queue.Messages > 0 || len(unfinished) > 0 && task.OpenTurn == "") {
		_, err := s.Updater.updateTask(ctx, userID, taskID, func(ctx context.Context, tx *taskTx) error {
			tx.pauseQueue(protocol.PauseStopped, "")
			return tx.stopAnnounced(ctx)
		})
		if err != nil {
			return nil, err
		}
	}
	if turnID != "" || !task.HostEvents {
		return s.interrupt(ctx, userID, taskID, turnID)
	}
	return s.interruptOpen(ctx, userID, taskID, unfinished)
}

// interruptOpen stops the turn that the host says is open, or the one that the broker knows of. So each interruption
// names its turn: a late copy cannot stop another.
func (s *Sessions) interruptOpen(
	ctx context.Context, userID, taskID string, unfinished []Turn,
) (*protocol.InterruptResponse, error) {
	at, err := s.find(ctx, userID, taskID)
	if err != nil {
		return nil, err
	}
	open, err := s.Link.OpenTurn(ctx, at.target, taskID)
	switch {
	case protocol.CodeOf(err) == protocol.CodeNotFound:
		s.wake(taskID)
		return &protocol.InterruptResponse{Success: true}, nil
	case open != nil && *open != "":
		return s.interrupt(ctx, userID, taskID, *open)
	case len(unfinished) > 0:
		return s.interrupt(ctx, userID, taskID, unfinished[0].ID)
	case err == nil && open == nil: // a host that does not tell
		return s.interrupt(ctx, userID, taskID, "")
	case errors.Is(err, ErrDoubtful):
		s.wake(taskID)
	}
	if err != nil {
		return nil, err
	}
	return &protocol.InterruptResponse{Success: true}, nil
}

// interrupt is Interrupt for one turn, or with "" for whichever it is. It has no effect on the queue.
func (s *Sessions) interrupt(ctx context.Context, userID, taskID, turnID string) (*protocol.InterruptResponse, error) {
	at, err := s.find(ctx, userID, taskID)
	if err != nil {
		return nil, err
	}
	done := &protocol.InterruptResponse{Success: true, CloseStream: !at.task.HostEvents}
	err = s.Link.Interrupt(ctx, at.target, taskID, turnID)
	code := protocol.CodeOf(err)
	absent := code == protocol.CodeNotFound || code == protocol.CodeMethodNotAllowed || errors.Is(err, ErrDoubtful)
	switch {
	case !at.task.HostEvents && (err == nil || absent):
		return done, s.abortBasic(ctx, userID, taskID)
	case code == protocol.CodeNotFound:
		s.wake(taskID)
		return done, nil
	case code == protocol.CodeMethodNotAllowed:
		return nil, &protocol.Error{
			Code: protocol.CodeBadGateway, Message: "The agent host cannot interrupt",
			Hint: "Check the agent URL: nothing there answers as an agent host", Err: err,
		}
	case errors.Is(err, ErrDoubtful):
		s.wake(taskID)
	}
	if err != nil {
		return nil, err
	}
	return done, nil
}

// Restart ends the agent program of a task, and with it the open turn. The next turn
// continues the conversation in a new program. A session that the host does not have
// needs no restart.
func (s *Sessions) Restart(ctx context.Context, userID, taskID string) (*protocol.RestartResponse, error) {
	if _, err := s.agentTask(ctx, userID, taskID); err != nil {
		return nil, err
	}
	return once(ctx, s.Store, s.Now, taskID, "restart", nil, func(ctx context.Context) (*protocol.RestartResponse, error) {
		return s.restart(ctx, userID, taskID)
	}, func(ctx context.Context, act *ActRow) error {
		_, err := s.Store.FinishAct(ctx, act)
		return err
	})
}

func (s *Sessions) restart(ctx context.Context, userID, taskID string) (*protocol.RestartResponse, error) {
	at, err := s.find(ctx, userID, taskID)
	if err != nil {
		return nil, err
	}
	done, err := s.Link.Restart(ctx, at.target, taskID)
	switch code := protocol.CodeOf(err); {
	case code == protocol.CodeNotFound:
		s.wake(taskID)
		return &protocol.RestartResponse{Success: true, SessionID: taskID}, nil
	case code == protocol.CodeMethodNotAllowed:
		return nil, &protocol.Error{
			Code: protocol.CodeBadGateway, Message: "The agent host cannot restart agents", Err: err,
			Hint: "It is a basic agent server: restart the agent there",
		}
	case errors.Is(err, ErrDoubtful):
		s.wake(taskID)
	}
	return done, err
}

// find returns the session of a user's task.
func (s *Sessions) find(ctx context.Context, userID, taskID string) (*session, error) {
	incarnation := s.Incarnation.ID()
	found, err := s.openable(ctx, userID, taskID)
	if err != nil {
		return nil, err
	}
	target, err := s.Targets.ofFound(found)
	return &session{&found.Task, target, found.WebhookSecret, incarnation}, err
}

// openable reads a user's task that has an agent.
func (s *Sessions) openable(ctx context.Context, userID, taskID string) (*OpenableTask, error) {
	if taskID == "" {
		return nil, errNoTaskID()
	}
	found, err := s.Store.OpenableTask(ctx, userID, taskID, s.Now())
	if err == nil && found.Task.Mode != protocol.ModeAgent {
		return nil, errNoAgent()
	}
	return found, err
}

func errNoTaskID() error { return protocol.Errorf(protocol.CodeInvalid, "taskId is required") }

func errNoAgent() error { return protocol.Errorf(protocol.CodeInvalid, "Task is not in agent mode") }

func (s *Sessions) agentTask(ctx context.Context, userID, taskID string) (*Task, error) {
	if taskID == "" {
		return nil, errNoTaskID()
	}
	task, err := s.Store.Task(ctx, userID, taskID)
	if err == nil && task.Mode != protocol.ModeAgent {
		return nil, errNoAgent()
	}
	return task, err
}

// openRequest is a request to open a session, with a webhook URL for the turn.
func (s *Sessions) openRequest(at *session, turnID string) (*protocol.OpenSessionRequest, error) {
	task := at.task
	hook, _, err := s.webhook([]byte(at.secret.Reveal()), task, turnID)
	if err != nil {
		return nil, err
	}
	cursor := task.Cursor
	return &protocol.OpenSessionRequest{
		SessionID: task.ID, WebhookURL: hook, BrokerID: s.BrokerID, NamedAnswers: s.BrokerID != "",
		Cursor: &cursor, Agent: task.Agent, Project: task.Project, Model: task.Model, Workspace: task.Workspace,
		Branch:      task.Branch,
		Incarnation: at.incarnation, Title: task.Title, Owner: task.UserID,
	}, nil
}

func (s *Sessions) webhook(secret []byte, task *Task, turnID string) (string, time.Time, error) {
	signed, expires, err := token.SignWebhook(secret, task.ID, turnID, s.Now())
	if err != nil {
		return "", time.Time{}, err
	}
	hook := trimURL(s.PublicURL) + webhookPath + "?" + url.Values{"token": {signed}}.Encode()
	if task.HostSigns {
		hook += "#" + protocol.WebhookInHeader
	}
	return hook, expires, nil
}

func (s *Sessions) expiry(response *protocol.OpenSessionResponse) time.Time {
	if response.ExpiresAt != nil {
		return response.ExpiresAt.UTC()
	}
	return s.Now().UTC().Add(defaultStreamTTL).Truncate(time.Second)
}

// wakeIfTurnsDiffer requests a reconciliation when the host does not have the
// task's open turn: either its finish is still on its way, or the host lost the
// turn.
func (s *Sessions) wakeIfTurnsDiffer(task *Task, response *protocol.OpenSessionResponse) {
	if hasEvents(response) && task.OpenTurn != "" && task.OpenTurn != response.OpenTurn {
		s.wake(task.ID)
	}
}

func (s *Sessions) wake(taskID string) {
	if s.Reconciler != nil {
		s.Reconciler.Wake(taskID)
	}
}

// hasEvents reports whether the host serves GET /session/:id/events.
func hasEvents(response *protocol.OpenSessionResponse) bool {
	return response.Cursor != nil || slices.Contains(response.Capabilities, protocol.CapabilityEvents)
}

// storeTraits stores what the host announced, if that changed since the last response.
func (s *Sessions) storeTraits(ctx context.Context, task *Task, response *protocol.OpenSessionResponse) error {
	traits := traitsOf(response)
	if task.HostSigns == traits.signs && task.HostCredentials == traits.credentials && task.HostNames == traits.names {
		return nil
	}
	_, err := s.Updater.updateTask(ctx, task.UserID, task.ID, func(_ context.Context, tx *taskTx) error {
		traits.events = tx.task.HostEvents // only a turn decides that
		tx.setTraits(traits)
		return nil
	})
	return err
}
