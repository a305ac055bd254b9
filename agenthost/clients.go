package agenthost

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"bellhop/agenthost/core"
	"bellhop/agenthost/headless"
	"bellhop/agenthost/stream"
	"bellhop/protocol"
)

// maxInstructions bounds what goes before a session's first prompt, in bytes.
const maxInstructions = 64 << 10

// Clients is what a Host offers to clients of the headless interface: sessions without a
// broker, and the lines of every session.
type Clients struct{ h *Host }

// HeadlessRequest is POST /sessions. With SessionID an existing headless session
// gets another token; its other members are ignored then.
type HeadlessRequest struct {
	SessionID    string `json:"session_id"`
	Instructions string `json:"instructions"` // goes before the first prompt
	Agent        string `json:"agent"`
	Model        string `json:"model"`
	Project      string `json:"project"`

	PermissionMode protocol.PermissionMode `json:"permission_mode"`
}

// HeadlessResponse is the answer to a HeadlessRequest.
type HeadlessResponse struct {
	SessionID string    `json:"session_id"`
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"` // until then a client may attach; attached clients stay
}

// OpenHeadless opens a session that belongs to no broker, or refreshes the token
// of one. CodeInvalid: unknown agent or project; CodeNotFound, CodeForeignBroker:
// no such headless session.
func (c *Clients) OpenHeadless(ctx context.Context, req *HeadlessRequest) (*HeadlessResponse, error) {
	if err := c.checkHeadless(req); err != nil {
		return nil, err
	}
	if c.h.in(draining, stopped) {
		return nil, core.ErrStopping()
	}
	s := c.h.sessionToOpen(cmp.Or(req.SessionID, protocol.NewID()))
	defer s.mu.Unlock()
	if !s.state.Durable {
		if _, _, err := c.h.opts.Workspaces.Dir(ctx, s.id, req.Project); err != nil {
			return nil, err
		}
	}
	plain, token := s.newToken(nil, false)
	in := core.HeadlessOpened{
		Agent: cmp.Or(req.Agent, c.h.opts.DefaultAgent), Model: req.Model, Project: req.Project, Instructions: req.Instructions, Token: token,
		Mode: req.PermissionMode,
	}
	if _, err := s.apply(in); err != nil {
		return nil, err
	}
	return &HeadlessResponse{SessionID: s.id, Token: plain, ExpiresAt: token.ExpiresAt}, nil
}

func (c *Clients) checkHeadless(req *HeadlessRequest) error {
	if _, ok := c.h.opts.Providers[req.Agent]; req.Agent != "" && !ok {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "This host has no such agent",
			Hint: "It has: " + agentNames(c.h.opts.Providers),
		}
	}
	if err := req.PermissionMode.Check(); err != nil {
		return err
	}
	if len(req.Instructions) > maxInstructions {
		return protocol.Errorf(protocol.CodeTooLarge, "instructions may have %d bytes", maxInstructions)
	}
	if req.SessionID == "" {
		return nil
	}
	_, err := c.h.session(req.SessionID)
	return err
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
	Clients        int       `json:"clients"`  // connected by WebSocket; agenthost/api counts them
	CreatedAt      time.Time `json:"created_at"`
	LastActivityAt time.Time `json:"last_activity_at"`
}

// Sessions lists the host's sessions, by id.
func (c *Clients) Sessions() []SessionInfo {
	all := c.h.all()
	out := make([]SessionInfo, 0, len(all))
	for _, s := range all {
		out = append(out, s.info())
	}
	slices.SortFunc(out, func(a, b SessionInfo) int { return cmp.Compare(a.SessionID, b.SessionID) })
	return out
}

// OwnerGrant is what the holder of the agent password may do with a session. It starts
// turns of headless sessions only; turns of a broker's sessions start by a check-in.
func (c *Clients) OwnerGrant(sessionID string) (Grant, error) {
	s, err := c.h.session(sessionID)
	if err != nil {
		return Grant{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return Grant{SessionID: sessionID, Attach: !s.state.Headless()}, nil
}

const historyPage = 500

// Lines turns a session's frames into lines.
type Lines = headless.Lines

// Lines returns new Lines of the session. The first frame they get must be the first of a
// turn.
func (c *Clients) Lines(sessionID string) *Lines {
	return headless.NewLines(sessionID, lineSource{c.h.opts.Journal, sessionID}, c.h.opts.Now)
}

// lineSource reads a session's journal for its lines.
type lineSource struct {
	journal   Journal
	sessionID string
}

func (l lineSource) Event(ctx context.Context, at protocol.Cursor) (*protocol.Event, error) {
	rows, err := l.journal.Events(ctx, l.sessionID, at.Epoch, at.Seq-1, 1)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 || rows[0].Cursor != at {
		return nil, protocol.Errorf(protocol.CodeNotFound, "No event at %d-%d", at.Epoch, at.Seq)
	}
	return rows[0].Event()
}

func (l lineSource) Question(ctx context.Context, interactionID string) (*protocol.Event, error) {
	rec, err := l.journal.Interaction(ctx, l.sessionID, interactionID)
	if err != nil {
		return nil, err
	}
	q := rec.Question
	q.State, q.Answer = rec.State, rec.Answer
	return &q, nil
}

// lookBack is how many events Input reads to find the input of a headless turn.
const lookBack = 200

// Input returns the input of the turn that has the frame at offset, from the prompts of
// a broker's session or the events of another one.
func (l lineSource) Input(ctx context.Context, offset int64) (*protocol.Event, error) {
	turns, err := l.journal.TurnsFrom(ctx, l.sessionID, offset)
	if err != nil || len(turns) == 0 {
		return nil, err
	}
	text, err := l.journal.Prompt(ctx, l.sessionID, turns[0].ID)
	if err != nil || text != "" {
		return &protocol.Event{Type: core.EventInput, Text: &text}, err
	}
	rows, err := l.journal.Newest(ctx, l.sessionID, protocol.Cursor{Epoch: math.MaxInt64}, lookBack)
	for i := range rows {
		if rows[i].Type == core.EventInput && rows[i].TurnID == turns[0].ID {
			return rows[i].Event()
		}
	}
	return nil, err
}

// History returns a session's lines so far, inputs and outputs in order, from the
// journal. A text is one line. Inputs are in the history of headless sessions; those of other
// sessions are stored by the broker.
func (c *Clients) History(ctx context.Context, sessionID string) ([]protocol.Line, error) {
	if _, err := c.h.session(sessionID); err != nil {
		return nil, err
	}
	lines := []protocol.Line{}
	var at protocol.Cursor
	for {
		rows, err := c.h.opts.Journal.Pending(ctx, sessionID, at, historyPage)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			e, err := rows[i].Event()
			if err != nil {
				return nil, err
			}
			lines = append(lines, headless.History(sessionID, e)...)
			at = rows[i].Cursor
		}
		if len(rows) < historyPage {
			return lines, nil
		}
	}
}

// Notice shows a message of the host itself to every reader of every session. It is not
// stored.
func (c *Clients) Notice(level, message string) {
	data, err := protocol.Marshal(headless.Notice{Level: level, Message: message, System: true})
	if err == nil {
		data, err = protocol.Marshal(&protocol.Part{Type: protocol.PartDataNotice, Data: data})
	}
	if err != nil {
		return // it holds only strings
	}
	frame := stream.Encode("", data)
	for _, s := range c.h.all() {
		s.mu.Lock()
		s.stream.Send(frame)
		s.mu.Unlock()
	}
}

// Input starts a turn for a client that watches the session's lines. Unlike
// Start it never attaches to a turn that was started before. Its errors are those of
// Start: CodeBusy, CodeNoTurn, CodePromptMismatch and CodeStorageFull.
func (c *Clients) Input(ctx context.Context, g Grant, req *protocol.PromptRequest) error {
	if strings.TrimSpace(req.Prompt) == "" && len(req.Attachments) == 0 {
		return protocol.Errorf(protocol.CodeInvalid, "An input needs text or attachments")
	}
	s, err := c.h.session(g.SessionID)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	reader, err := prompts{s}.prompt(context.WithoutCancel(ctx), core.Prompted{TurnID: g.TurnID, Request: *req, Line: true, ReadOnly: g.Attach})
	reader.Close()
	return err
}

// Reply answers an open question by its line: answer or confirmation. A question
// that is not open (any more) is CodeNotFound, also for the same answer again. by is who
// answers.
func (c *Clients) Reply(_ context.Context, sessionID string, line *protocol.Line, by string) error {
	s, err := c.h.session(sessionID)
	if err != nil {
		return err
	}
	if line.RequestID == "" {
		return protocol.Errorf(protocol.CodeInvalid, "request_id is required")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.state.OpenQuestion(line.RequestID)
	if q == nil {
		return protocol.Errorf(protocol.CodeNotFound, "No open question %.100q", line.RequestID)
	}
	req, err := headless.ParseReply(line, q.Kind)
	if err != nil {
		return err
	}
	req.By = by
	return s.answer(line.RequestID, req)
}

func (s *session) info() SessionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	info := SessionInfo{
		SessionID: s.id, Agent: s.state.Record.Agent, Project: s.state.Record.Project, Model: s.state.Record.Model, State: "idle",
		OpenQuestions: len(s.state.Questions), Headless: s.state.Headless(),
		CreatedAt: s.state.Record.CreatedAt, LastActivityAt: s.state.Record.ActiveAt,
	}
	switch {
	case len(s.state.Questions) > 0:
		info.State = protocol.ReasonWaiting
	case s.state.Turn != nil:
		info.State = string(protocol.StatusBusy)
	}
	return info
}
