package agenthost

import (
	"cmp"
	"context"
	"slices"
	"time"

	"bellhop/protocol"
)

// Events of headless sessions alone: nobody else would remember what was said to
// the agent.
const (
	eventInput        protocol.EventType = "input"
	eventInstructions protocol.EventType = "instructions"
)

// maxInstructions bounds what goes before a session's first prompt, in bytes.
const maxInstructions = 64 << 10

// HeadlessRequest is POST /sessions. With SessionID an existing headless session
// gets another token; its other members are ignored then.
type HeadlessRequest struct {
	SessionID    string `json:"session_id"`
	Instructions string `json:"instructions"` // goes before the first prompt
	Agent        string `json:"agent"`
	Model        string `json:"model"`
	Project      string `json:"project"`
}

// HeadlessResponse answers it.
type HeadlessResponse struct {
	SessionID string    `json:"session_id"`
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"` // to attach; who is attached stays
}

// OpenHeadless opens a session that belongs to no broker, or refreshes the token
// of one. CodeInvalid: unknown agent or project; CodeNotFound, CodeForeignBroker:
// no such headless session.
func (h *Host) OpenHeadless(ctx context.Context, req *HeadlessRequest) (*HeadlessResponse, error) {
	if err := h.checkHeadless(req); err != nil {
		return nil, err
	}
	if h.in(draining, stopped) {
		return nil, errStopping()
	}
	s := h.sessionToOpen(cmp.Or(req.SessionID, protocol.NewID()))
	defer s.mu.Unlock()
	o := &opening{s: s, b: s.begin(), req: &protocol.OpenSessionRequest{}}
	o.expires = o.b.now.Add(h.opts.TokenTTL)
	switch {
	case !s.durable.Load():
		if _, _, err := h.opts.Workspaces.Dir(ctx, s.id, req.Project); err != nil {
			return nil, err
		}
		o.beginHeadless(req)
	case s.rec.Outbox != OutboxNone:
		return nil, errBrokers()
	}
	token := o.token()
	if err := o.b.commit(); err != nil {
		return nil, err
	}
	return &HeadlessResponse{SessionID: s.id, Token: token, ExpiresAt: o.expires}, nil
}

func (h *Host) checkHeadless(req *HeadlessRequest) error {
	if _, ok := h.opts.Providers[req.Agent]; req.Agent != "" && !ok {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "This host has no such agent",
			Hint: "It has: " + agentNames(h.opts.Providers),
		}
	}
	if len(req.Instructions) > maxInstructions {
		return protocol.Errorf(protocol.CodeTooLarge, "instructions may have %d bytes", maxInstructions)
	}
	if req.SessionID == "" {
		return nil
	}
	_, err := h.session(req.SessionID)
	return err
}

func (o *opening) beginHeadless(req *HeadlessRequest) {
	*o.b.record() = SessionRecord{
		ID: o.s.id, Agent: cmp.Or(req.Agent, o.s.host.opts.DefaultAgent), Model: req.Model, Project: req.Project,
		Status: protocol.StatusNone, Outbox: OutboxNone, CreatedAt: o.b.now,
	}
	o.position(true)
	if text := protocol.SanitizeText(req.Instructions); text != "" {
		o.b.event("", protocol.Event{Type: eventInstructions, Text: &text}, nil, false)
	}
}

func errBrokers() error {
	return &protocol.Error{
		Code: protocol.CodeForeignBroker, Message: "The session belongs to a broker",
		Hint: "Check in at the broker for a token",
	}
}

// instructed is a headless session's prompt; the first has the instructions
// before it. The session's lock is held, and the turn is not yet written.
func (s *session) instructed(ctx context.Context, text string) (string, error) {
	if s.rec.Outbox != OutboxNone {
		return text, nil
	}
	turns, err := s.host.opts.Journal.TurnsFrom(ctx, s.id, -1)
	if err != nil || len(turns) > 0 {
		return text, err
	}
	events, err := s.host.opts.Journal.Events(ctx, s.id, s.rec.Cursor.Epoch, 0, 1)
	if err != nil || len(events) == 0 || events[0].Type != eventInstructions {
		return text, err
	}
	e, err := eventOf(&events[0])
	if err != nil || e.Text == nil {
		return text, err
	}
	return *e.Text + "\n\n" + text, nil
}

// input keeps what was said to the agent; of images, that there were some.
func (b *batch) input(t *turn, req *protocol.PromptRequest) {
	turnID := t.rec.ID
	if b.rec.Outbox != OutboxNone { // a broker has the messages; this is for an agent that forgets
		b.w.Prompts = append(b.w.Prompts, PromptRecord{
			SessionID: b.s.id, TurnID: turnID, Text: protocol.CutText(t.masker.Text(req.Prompt), maxRestored),
		})
		return
	}
	text := protocol.SanitizeText(req.Prompt)
	e := protocol.Event{Type: eventInput, Text: &text}
	if len(req.Attachments) > 0 {
		kept := slices.Clone(req.Attachments)
		for i := range kept {
			kept[i].Data = ""
		}
		e.Input = b.encode(kept)
	}
	b.event(turnID, e, nil, false)
}

// SessionInfo is one session of GET /sessions.
type SessionInfo struct {
	SessionID      string    `json:"session_id"`
	Agent          string    `json:"agent"`
	Project        string    `json:"project"`
	Model          string    `json:"model"`
	State          string    `json:"state"` // idle, busy or waiting for an answer
	OpenQuestions  int       `json:"open_questions"`
	Headless       bool      `json:"headless"` // belongs to no broker
	Clients        int       `json:"clients"`  // of its lines; counted by who serves them
	CreatedAt      time.Time `json:"created_at"`
	LastActivityAt time.Time `json:"last_activity_at"`
}

// Sessions lists the host's sessions, by id.
func (h *Host) Sessions() []SessionInfo {
	all := h.all()
	out := make([]SessionInfo, 0, len(all))
	for _, s := range all {
		out = append(out, s.info())
	}
	slices.SortFunc(out, func(a, b SessionInfo) int { return cmp.Compare(a.SessionID, b.SessionID) })
	return out
}

func (s *session) info() SessionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	info := SessionInfo{
		SessionID: s.id, Agent: s.rec.Agent, Project: s.rec.Project, Model: s.rec.Model, State: "idle",
		OpenQuestions: len(s.questions), Headless: s.rec.Outbox == OutboxNone,
		CreatedAt: s.rec.CreatedAt, LastActivityAt: s.rec.ActiveAt,
	}
	switch {
	case len(s.questions) > 0:
		info.State = protocol.ReasonWaiting
	case s.turn != nil:
		info.State = string(protocol.StatusBusy)
	}
	return info
}

// OwnerGrant is what the holder of the agent password may do with a session: on a
// broker's own sessions only its check-ins start turns.
func (h *Host) OwnerGrant(sessionID string) (Grant, error) {
	s, err := h.session(sessionID)
	if err != nil {
		return Grant{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return Grant{SessionID: sessionID, Attach: s.rec.Outbox != OutboxNone}, nil
}
