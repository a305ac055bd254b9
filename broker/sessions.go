package broker

import (
	"context"
	"log/slog"
	"net/url"
	"time"

	"bellhop/crypto/token"
	"bellhop/protocol"
)

// Sessions is what users do with a task's session on its host.
type Sessions struct {
	Store          Store
	Link           Link
	Notifier       Notifier
	Reconciler     *Reconciler // woken when the host's turn is not ours; may be nil
	Relayer        Relayer     // for streams that go through the broker
	BrokerID       string      // this installation
	PublicURL      string      // where hosts post to
	BrowserURL     string      // where browsers see the broker; "" = PublicURL
	CustomAgentURL string      // overrides every task's agent URL
	Now            func() time.Time
	Log            *slog.Logger
}

const (
	webhookPath      = "/api/agent/webhook"
	defaultStreamTTL = 10 * time.Minute // of hosts that do not say
)

// Attach opens the session without a turn: its token reads, answers and
// interrupts.
func (s *Sessions) Attach(ctx context.Context, userID string, in *protocol.AttachRequest) (*protocol.AttachResponse, error) {
	task, target, err := s.find(ctx, userID, in.TaskID)
	if err == nil {
		err = checkReach(in.Reach)
	}
	if err != nil {
		return nil, err
	}
	req, err := s.request(ctx, task, task.OpenTurn)
	if err != nil {
		return nil, err
	}
	req.Attach = true
	answer, err := s.Link.Open(ctx, target, req)
	if err != nil {
		return nil, err
	}
	s.compare(task, answer)
	reach, streamURL := s.route(ctx, task, target, in.Reach, answer)
	status := answer.Status
	if status == "" {
		status = task.AgentStatus
	}
	return &protocol.AttachResponse{
		Success: true, SessionID: task.ID, StreamToken: answer.Token, StreamURL: streamURL, Reach: reach,
		ExpiresAt: s.expiry(answer), AgentStatus: status, StreamCursor: answer.StreamCursor,
	}, nil
}

// Interrupt stops the open turn; the host answers when the agent has stopped.
// A session the host does not have is not running.
func (s *Sessions) Interrupt(ctx context.Context, userID, taskID string) error {
	task, target, err := s.find(ctx, userID, taskID)
	if err != nil {
		return err
	}
	err = s.Link.Interrupt(ctx, target, task.ID)
	switch protocol.CodeOf(err) {
	case protocol.CodeNotFound:
		if task.HostEvents {
			s.wake(task.ID)
			return nil
		}
		fallthrough
	case protocol.CodeMethodNotAllowed: // a basic host has no such route
		return &protocol.Error{Code: protocol.CodeBadGateway, Message: "The agent host cannot interrupt", Err: err}
	default:
		return err
	}
}

// find is a user's task and where its host is.
func (s *Sessions) find(ctx context.Context, userID, taskID string) (*Task, Target, error) {
	if taskID == "" {
		return nil, Target{}, protocol.Errorf(protocol.CodeInvalid, "taskId is required")
	}
	task, err := s.Store.Task(ctx, userID, taskID)
	if err != nil {
		return nil, Target{}, err
	}
	if task.Mode != protocol.ModeAgent {
		return nil, Target{}, protocol.Errorf(protocol.CodeInvalid, "Task is not in agent mode")
	}
	target, err := targetOf(ctx, s.Store, task, s.CustomAgentURL, s.Now())
	return task, target, err
}

func (s *Sessions) request(ctx context.Context, task *Task, turnID string) (*protocol.OpenSessionRequest, error) {
	secret, err := s.Store.WebhookSecret(ctx, task.ID)
	if err != nil {
		return nil, err
	}
	hook, _, err := s.webhook([]byte(secret.Reveal()), task.ID, turnID)
	if err != nil {
		return nil, err
	}
	cursor := task.Cursor
	return &protocol.OpenSessionRequest{
		SessionID: task.ID, WebhookURL: hook, BrokerID: s.BrokerID,
		Cursor: &cursor, Agent: task.Agent, Project: task.Project,
	}, nil
}

func (s *Sessions) webhook(secret []byte, taskID, turnID string) (string, time.Time, error) {
	signed, expires, err := token.SignWebhook(secret, taskID, turnID, s.Now())
	if err != nil {
		return "", time.Time{}, err
	}
	return trimURL(s.PublicURL) + webhookPath + "?" + url.Values{"token": {signed}}.Encode(), expires, nil
}

func (s *Sessions) expiry(answer *protocol.OpenSessionResponse) time.Time {
	if answer.ExpiresAt != nil {
		return answer.ExpiresAt.UTC()
	}
	return s.Now().UTC().Add(defaultStreamTTL).Truncate(time.Second)
}

// compare asks for a reconciliation when the host does not have our open turn:
// its finish is on the way, or the host lost it.
func (s *Sessions) compare(task *Task, answer *protocol.OpenSessionResponse) {
	if hasEvents(answer) && task.OpenTurn != "" && task.OpenTurn != answer.OpenTurn {
		s.wake(task.ID)
	}
}

func (s *Sessions) wake(taskID string) {
	if s.Reconciler != nil {
		s.Reconciler.Wake(taskID)
	}
}

func (s *Sessions) notify(task *Task) {
	if s.Notifier != nil {
		s.Notifier.Changed(task.UserID, task.ID, task.Rev)
	}
}

// hasEvents reports a host that can be asked for events.
func hasEvents(answer *protocol.OpenSessionResponse) bool {
	for _, c := range answer.Capabilities {
		if c == protocol.CapabilityEvents {
			return true
		}
	}
	return answer.Cursor != nil
}
