package agenthost

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"bellhop/agenthost/core"
	"bellhop/agenthost/headless"
	"bellhop/agenthost/stream"
	"bellhop/internal/masking"
	"bellhop/protocol"
)

// Start starts the turn of a grant and streams it. A turn that was started before
// is replayed and attached to, with any prompt. CodeBusy: another turn is open;
// CodeNoTurn: this grant can start nothing; CodePromptMismatch; CodeStorageFull.
func (h *Host) Start(ctx context.Context, g Grant, req *protocol.PromptRequest) (*Stream, error) {
	return h.StartAfter(ctx, g, req, "")
}

// StartAfter is Start for a client that repeats its request after a cut. If the turn has
// started and the frame with the id cursor belongs to it, the stream continues there. A
// nil Stream means that the turn is over and the client has all of it.
func (h *Host) StartAfter(ctx context.Context, g Grant, req *protocol.PromptRequest, cursor string) (*Stream, error) {
	if err := checkWhenBusy(req.WhenBusy); err != nil {
		return nil, err
	}
	if g.Attach {
		return nil, core.ErrReadOnly()
	}
	s, err := h.session(g.SessionID)
	if err != nil {
		return nil, err
	}
	if req.Force && req.Prompt != "" {
		terminalSession{s}.takeOver(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Deleted {
		return nil, errSessionNotFound()
	}
	switch s.state.Place(g.TurnID) {
	case core.PlaceQueued:
		return prompts{s}.waiting(g.TurnID, &Stream{TurnID: g.TurnID, Live: s.entering[g.TurnID].Subscribe()})
	case core.PlaceOpen:
		return readers{s}.resume(ctx, &s.state.Turn.Record, cursor)
	case core.PlaceGone:
		return readers{s}.replayFinished(ctx, g.TurnID, cursor)
	}
	return prompts{s}.prompt(ctx, core.Prompted{TurnID: g.TurnID, Request: *req})
}

func checkWhenBusy(what string) error {
	switch what {
	case "", protocol.WhenBusyReject, protocol.WhenBusyQueue, protocol.WhenBusyInterrupt:
		return nil
	}
	return protocol.Errorf(protocol.CodeInvalid, `whenBusy must be "reject", "queue" or "interrupt"`)
}

// prompts are the turns of a session that are about to start, or wait.
type prompts struct{ *session }

// prompt starts or queues a turn. Its reader joins before that: it misses nothing.
func (s prompts) prompt(ctx context.Context, in core.Prompted) (*Stream, error) {
	if in.New = in.TurnID == ""; in.New {
		in.TurnID = protocol.NewID()
	}
	instructions, err := s.instructions(ctx)
	if err != nil {
		return nil, err
	}
	in.Instructions, in.HostStopping = instructions, s.host.in(draining, stopped)
	in.Journaled = protocol.CutText(masking.New(s.secrets()).Text(protocol.SanitizeText(in.Request.Prompt)),
		protocol.MaxMessage)
	s.traces.Note(ctx, in.TurnID)
	reader := s.addPrompt(in.TurnID)
	if _, err := s.apply(in); err != nil {
		delete(s.entering, in.TurnID)
		reader.Close()
		return nil, err
	}
	if s.state.Place(in.TurnID) == core.PlaceQueued {
		return s.waiting(in.TurnID, reader)
	}
	if s.turn != nil && s.turn.id == in.TurnID && !s.turn.spawned { // the next start of the host ends it
		reader.Close()
		return nil, core.ErrStopping()
	}
	return reader, nil
}

// waiting puts the place in the queue before what a reader of a queued turn gets.
func (s prompts) waiting(turnID string, reader *Stream) (*Stream, error) {
	data, err := protocol.Marshal(map[string]any{"turnId": turnID, "position": s.state.Position(turnID)})
	if err == nil {
		data, err = protocol.Marshal(&protocol.Part{Type: protocol.PartDataQueued, Data: data})
	}
	if err != nil {
		reader.Close()
		return nil, err
	}
	reader.Backlog = [][]byte{stream.Encode("", data)}
	return reader, nil
}

// instructions returns what goes before the first prompt of a headless session, "" if
// the next prompt is not the first.
func (s prompts) instructions(ctx context.Context) (string, error) {
	if !s.state.Headless() {
		return "", nil
	}
	turns, err := s.host.opts.Journal.TurnsFrom(ctx, s.id, -1)
	if err != nil || len(turns) > 0 {
		return "", err
	}
	events, err := s.host.opts.Journal.Events(ctx, s.id, s.state.Record.Cursor.Epoch, 0, 1)
	if err != nil || len(events) == 0 || events[0].Type != core.EventInstructions {
		return "", err
	}
	e, err := events[0].Event()
	if err != nil || e.Text == nil {
		return "", err
	}
	return *e.Text, nil
}

// advanceQueue starts the next turn that waits. Those that can no longer start end.
func (s prompts) advanceQueue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.state.Deleted && s.state.Turn == nil && len(s.state.Queue) > 0 {
		next := s.state.Queue[0].Record.ID
		instructions, err := s.instructions(s.host.work)
		if err == nil {
			_, err = s.apply(core.QueueAdvanced{Instructions: instructions, HostStopping: s.host.in(draining, stopped)})
		}
		if err != nil {
			s.host.opts.Log.Warn("a queued turn could not start", "session", s.id, "turn", next, "error", err)
			s.dropQueued()
		}
	}
}

// dropQueue gives up the turns that wait.
func (s prompts) dropQueue() {
	for len(s.state.Queue) > 0 && !s.state.Deleted {
		s.dropQueued()
	}
}

func (s prompts) dropQueued() {
	next := s.state.Queue[0].Record.ID
	if _, err := s.apply(core.QueueDropped{}); err != nil {
		s.host.opts.Log.Error("a turn that was not started could not be closed; the next start closes it",
			"session", s.id, "turn", next, "error", err)
		_, _ = s.apply(core.QueueDropped{Unwritten: true}) // it writes nothing
	}
}

// maxInstructions bounds what goes before a session's first prompt, in bytes.
const maxInstructions = 64 << 10

// Clients is what a Host offers to clients of the headless interface: sessions without a
// broker, and the lines of every session.
type Clients struct{ h *Host }

// HeadlessRequest is POST /sessions. With SessionID an existing headless session
// gets another token; its other members are ignored then.
type HeadlessRequest struct {
	SessionID    string `json:"session_id,omitempty"`
	Instructions string `json:"instructions,omitempty"` // goes before the first prompt
	Agent        string `json:"agent,omitempty"`
	Model        string `json:"model,omitempty"`
	Project      string `json:"project,omitempty"`

	PermissionMode protocol.PermissionMode `json:"permission_mode,omitempty"`
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
		Agent: cmp.Or(req.Agent, c.h.opts.DefaultAgent), Model: req.Model, Project: req.Project,
		Instructions: req.Instructions, Token: token,
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

// Lines turns a session's frames into lines.
type Lines = headless.Lines

// Lines returns new Lines of the session. The first frame they get must be the first of a
// turn.
func (c *Clients) Lines(sessionID string) *Lines {
	return headless.NewLines(sessionID, headless.NewSource(c.h.opts.Journal, sessionID), c.h.opts.Now)
}

// History returns a session's lines so far, inputs and outputs in order, from the
// journal. A text is one line. Inputs are in the history of headless sessions; those of other
// sessions are stored by the broker.
func (c *Clients) History(ctx context.Context, sessionID string) ([]protocol.Line, error) {
	if _, err := c.h.session(sessionID); err != nil {
		return nil, err
	}
	return headless.ReadHistory(ctx, c.h.opts.Journal, sessionID)
}

// Notice shows a message of the host itself to every reader of every session. It is not stored.
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
	if req.Force && !g.Attach {
		terminalSession{s}.takeOver(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	reader, err := prompts{s}.prompt(context.WithoutCancel(ctx),
		core.Prompted{TurnID: g.TurnID, Request: *req, Line: true, ReadOnly: g.Attach})
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
	return answers{s}.answer(line.RequestID, req)
}

// Tools returns the names of the tools that the session's agent reported last. It returns nil for an
// unknown session, before the agent's program has run, and if the program reports none.
func (c *Clients) Tools(sessionID string) []string {
	s, err := c.h.session(sessionID)
	if err != nil {
		return nil
	}
	if names := s.tools.Load(); names != nil {
		return *names
	}
	return nil
}

func (s *session) info() SessionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	info := SessionInfo{
		SessionID: s.id, Agent: s.state.Record.Agent, Project: s.state.Record.Project,
		Model: s.state.Record.Model, State: "idle",
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
