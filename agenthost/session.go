package agenthost

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bellhop/agenthost/core"
	"bellhop/agenthost/delivery"
	"bellhop/agenthost/stream"
	"bellhop/internal/failpoint"
	"bellhop/internal/masking"
	"bellhop/internal/observe"
	"bellhop/internal/sse"
	"bellhop/protocol"
)

// session is the shell of one session: core decides, the session writes, publishes
// and acts. All members are behind mu unless the comment says otherwise.
type session struct {
	host       *Host
	id         string
	durable    atomic.Bool                       // its row exists
	secretHash atomic.Pointer[[sha256.Size]byte] // of the durable secret; nil: there is none

	user atomic.Pointer[string] // hash of the key of its user; nil: not known

	mu       sync.Mutex
	state    core.State
	stream   stream.Stream
	turn     *turn                  // the open turn as it runs
	entering map[string]*sse.Fanout // readers of turns that are about to start, or wait for it
	traces   observe.TurnTraces
	asked    map[string]*question // open questions whose agents wait, by interaction id
	timers   [core.Timers]*time.Timer
	secret   string // of programs in the workspace; durable once an agent was opened

	posting bool          // delivery runs
	nudges  chan struct{} // ends a wait of delivery
	wait    time.Duration // that the last step asks delivery for

	attached      *attachment           // the open terminal client; nil: none has reported
	terminalTurns []core.TerminalWorked // turns of terminal clients that wait to be journaled

	tools    atomic.Pointer[[]string]           // names that the agent's program reported last; nil: none were
	commands atomic.Pointer[[]protocol.Command] // the same for its slash commands

	agent agentSlot
}

func newSession(h *Host, id string) *session {
	s := &session{host: h, id: id, state: core.New(id), stream: stream.New(), nudges: make(chan struct{}, 1)}
	s.agent.s, s.agent.gate = s, newGate()
	return s
}

// unwritten is the error of a step that core decided on and that could not be made
// durable. The state is what it was before.
type unwritten struct{ error }

func (e unwritten) Unwrap() error { return e.error }

// apply makes one step: decide, write, replace the state, publish, act. The lock is
// held, here and in every step that an effect makes.
func (s *session) apply(in core.Input) (*core.Step, error) {
	at := core.Moment{Time: s.host.opts.Now().UTC(), ID: protocol.NewID(), Held: s.turn.held()}
	x, err := s.state.Apply(at, in)
	if known := (*protocol.Error)(nil); err != nil && !errors.As(err, &known) { // a part that cannot be encoded
		err = unwritten{err}
	}
	if err == nil {
		err = s.write(x)
		if failpoint.Mutated("write-errors-ignored") {
			err = nil
		}
	}
	s.record(at, in, err)
	if err != nil {
		return nil, err
	}
	s.publish(x)
	return x, nil
}

// write makes the rows of a step durable.
func (s *session) write(x *core.Step) error {
	if x.Rows.Session == nil && !x.Rows.DropSession {
		return nil
	}
	// The write must not stop with its caller: otherwise memory and journal differ.
	if err := s.host.opts.Journal.Write(context.WithoutCancel(s.host.work), &x.Rows); err != nil {
		return unwritten{err}
	}
	if x.State.Record.OffsetReserved != s.state.Record.OffsetReserved {
		failpoint.Hit("offset-block-reserved")
	}
	if len(x.Rows.Events) > 0 {
		failpoint.Hit("after-journal-append")
		failpoint.Hit("before-announce")
	}
	return nil
}

// publish replaces the state, sends the frames and runs the effects.
func (s *session) publish(x *core.Step) {
	before, now := &s.state.Record, &x.State.Record
	changed := before.Status != now.Status || before.Reason != now.Reason || s.state.Outbox() != x.State.Outbox() ||
		s.state.Durable != x.State.Durable
	activate := now.Secret != before.Secret
	s.observeEnd(x)
	s.state = x.State
	s.durable.Store(x.State.Durable)
	if user := x.State.Record.OwnerKeyHash; user != "" {
		s.user.Store(&user)
	}
	if activate {
		s.activateSecret()
	}
	if x.Window != nil {
		s.stream.ContinueAfter(*x.Window)
	}
	for i := range x.Frames {
		if failpoint.MutatedOnce("frame-lost", 60) {
			continue
		}
		s.stream.Publish(stream.NewFrame(x.Frames[i].ID, x.Frames[i].Part, x.Frames[i].Boundary))
	}
	s.turn.dropHeld(x.Flushed)
	for _, e := range x.Effects {
		effects{s}.act(e)
	}
	if changed {
		s.host.changed()
	}
}

// observeEnd notifies the observer if the step ends the open turn.
func (s *session) observeEnd(x *core.Step) {
	for i := range x.Rows.Turns {
		if rec := &x.Rows.Turns[i]; s.turn != nil && rec.ID == s.turn.id && rec.State == TurnFinished {
			s.turn.observed.End(observe.Outcome{Result: string(rec.FinishReason)})
		}
	}
}

// report applies an input about the open turn. The turn fails if the step cannot be
// written.
func (s *session) report(in core.Input) (*core.Step, error) {
	x, err := s.apply(in)
	if lost := (unwritten{}); errors.As(err, &lost) {
		s.failTurn(lost.error, "")
		return nil, lost.error
	}
	return x, err
}

// failTurn ends the output of the open turn. stop, if any, is why it was about to be
// interrupted.
func (s *session) failTurn(err error, stop string) {
	if t := s.turn; t != nil {
		_, _ = s.apply(core.StepFailed{ // it writes nothing
			TurnID: t.id, Code: protocol.CodeOf(err), Message: t.masker.Text(explain(err)), Reason: stop,
		})
	}
}

// record passes an input on to the host's recorder.
func (s *session) record(at core.Moment, in core.Input, err error) {
	if s.host.opts.Record == nil {
		return
	}
	entry := core.Recorded{At: at.Time, ID: at.ID, Held: at.Held, Input: in}
	if err != nil {
		entry.Error = err.Error()
	}
	raw, err := json.Marshal(entry)
	if err != nil {
		s.host.opts.Log.Warn("an input could not be recorded", "session", s.id, "kind", core.Kind(in), "error", err)
		return
	}
	s.host.opts.Record(s.id, masking.New(s.secrets()).Value(raw, "{}"))
}

// activateSecret publishes the hash of the secret, so that LocalGrant accepts it.
func (s *session) activateSecret() {
	sum := sha256.Sum256([]byte(s.state.Record.Secret))
	s.secretHash.Store(&sum)
}

func stopTimer(t **time.Timer) {
	if *t != nil {
		(*t).Stop()
		*t = nil
	}
}

// explain is the part of an error that a user may read.
func explain(err error) string {
	var known *protocol.Error
	if errors.As(err, &known) {
		return known.Message
	}
	return err.Error()
}

// recover takes over what the journal holds and closes what a crash left open.
func (h *Host) recover() error {
	ctx := context.Background()
	loaded, err := h.opts.Journal.Load(ctx)
	if err != nil {
		return fmt.Errorf("load the journal: %w", err)
	}
	for i := range loaded {
		s := newSession(h, loaded[i].Session.ID)
		h.sessions[s.id] = s
		s.mu.Lock()
		err := s.recover(ctx, &loaded[i])
		s.mu.Unlock()
		if err != nil {
			return fmt.Errorf("recover session %s: %w", s.id, err)
		}
	}
	for _, notice := range h.opts.Journal.Notices() {
		h.opts.Log.Error("journal", "notice", notice)
	}
	return nil
}

func (s *session) recover(ctx context.Context, loaded *Loaded) error {
	in := core.Recovered{Loaded: *loaded, WebhookExpires: delivery.Expiry(loaded.Session.WebhookURL)}
	for i := range loaded.Turns {
		if loaded.Turns[i].State != TurnOpen {
			continue
		}
		rows, err := s.host.opts.Journal.TurnEvents(ctx, s.id, loaded.Turns[i].ID)
		if err != nil {
			return err
		}
		in.Events = make([]protocol.Event, len(rows))
		for j := range rows {
			e, err := rows[j].Event()
			if err != nil {
				return err
			}
			in.Events[j] = *e
		}
	}
	s.secret = loaded.Session.Secret
	_, err := s.apply(in)
	return err
}

// Attach streams from a cursor, "" for none. A nil Stream means that the session is idle
// and has nothing newer. A stream ends with the open turn unless follow is set.
func (h *Host) Attach(ctx context.Context, sessionID, cursor string, follow bool) (*Stream, error) {
	s, err := h.session(sessionID)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stream.Attach(ctx, streamJournal{s}, readers{s}.streamState(), cursor, follow)
}

// readers gives a session's readers what they missed.
type readers struct{ *session }

// replayFinished answers a request to start a turn that is over, or can no longer be
// started. The session's lock is held.
func (s readers) replayFinished(ctx context.Context, turnID, cursor string) (*Stream, error) {
	rec, err := s.host.opts.Journal.Turn(ctx, s.id, turnID)
	if protocol.CodeOf(err) == protocol.CodeNotFound || err == nil && rec.Started.IsZero() {
		return nil, core.ErrSuperseded()
	}
	if err != nil {
		return nil, err
	}
	return s.resume(ctx, rec, cursor)
}

// noCursor names no frame: a reader that continues after it gets a gap.
const noCursor = "?"

// resume continues the newest turn after a cursor in it. Another cursor is a gap, and
// without one the turn is replayed.
func (s readers) resume(ctx context.Context, rec *TurnRecord, cursor string) (*Stream, error) {
	if cursor == "" {
		return s.replay(ctx, rec)
	}
	if id, err := protocol.ParseStreamID(cursor); err != nil || id.Offset < rec.FirstOffset {
		cursor = noCursor
	}
	turns, err := streamJournal{s.session}.TurnsFrom(ctx, -1)
	if err != nil {
		return nil, err
	}
	if len(turns) != 1 || turns[0].ID != rec.ID {
		return s.replay(ctx, rec)
	}
	return s.stream.Attach(ctx, streamJournal{s.session}, s.streamState(), cursor, false)
}

func (s readers) replay(ctx context.Context, rec *TurnRecord) (*Stream, error) {
	return s.stream.Replay(ctx, streamJournal{s.session}, s.streamState(), streamTurn(rec))
}

// streamState describes the session to a new reader. The session's lock is held.
func (s readers) streamState() stream.State {
	now := stream.State{Epoch: s.state.Record.Cursor.Epoch, Next: s.state.Next}
	if t := s.state.Turn; t != nil {
		open := streamTurn(&t.Record)
		now.Open = &open
	}
	for i := range s.state.Questions {
		now.Questions = append(now.Questions, s.state.Questions[i].ID)
	}
	return now
}

func streamTurn(rec *TurnRecord) stream.Turn {
	return stream.Turn{ID: rec.ID, First: rec.FirstOffset, Last: rec.LastID, Open: rec.State == TurnOpen}
}

// streamJournal reads a session's turns and events for its stream.
type streamJournal struct{ s *session }

func (j streamJournal) TurnsFrom(ctx context.Context, offset int64) ([]stream.Turn, error) {
	rows, err := j.s.host.opts.Journal.TurnsFrom(ctx, j.s.id, offset)
	turns := make([]stream.Turn, len(rows))
	for i := range rows {
		turns[i] = streamTurn(&rows[i])
	}
	return turns, err
}

func (j streamJournal) Events(ctx context.Context, turnID string) ([]stream.Event, error) {
	rows, err := j.s.host.opts.Journal.TurnEvents(ctx, j.s.id, turnID)
	events := make([]stream.Event, len(rows))
	for i := range rows {
		row := &rows[i]
		events[i] = stream.Event{ID: row.Frame, Type: row.Type, Part: row.Part, Body: row.Body}
	}
	return events, err
}

// maxTools limits the tools of an agent that the host remembers.
const maxTools = 500

// keepTools remembers the tools that the agent's program reported, until it reports others.
func (s *session) keepTools(names []string) {
	kept := make([]string, 0, min(len(names), maxTools))
	for _, name := range names {
		name = core.Name(name, "")
		if name != "" && !slices.Contains(kept, name) && len(kept) < maxTools {
			kept = append(kept, name)
		}
	}
	s.tools.Store(&kept)
}

// keepCommands remembers the slash commands that the agent's program reported, until it reports others.
func (s *session) keepCommands(list []protocol.Command) {
	kept := protocol.CleanCommands(list)
	s.commands.Store(&kept)
}

// Commands returns the slash commands that the session's agent reported last, its secrets masked.
// CodeNotFound: there is no such session.
func (c *Clients) Commands(sessionID string) (*protocol.CommandList, error) {
	s, err := c.h.session(sessionID)
	if err != nil {
		return nil, err
	}
	known := s.commands.Load()
	if known == nil {
		return &protocol.CommandList{
			Commands: []protocol.Command{}, Problem: "The agent has named no commands since its host started",
		}, nil
	}
	s.mu.Lock()
	mask := masking.New(s.secrets()).Text
	s.mu.Unlock()
	list := &protocol.CommandList{Commands: slices.Clone(*known)}
	for i := range list.Commands {
		one := &list.Commands[i]
		one.Name, one.Description, one.Arguments = mask(one.Name), mask(one.Description), mask(one.Arguments)
	}
	return list, nil
}

// addPrompt adds the readers of a turn that is about to start or to wait. They join
// before anything is published.
func (s prompts) addPrompt(turnID string) *Stream {
	if s.entering == nil {
		s.entering = map[string]*sse.Fanout{}
	}
	readers := sse.NewFanout()
	s.entering[turnID] = readers
	return &Stream{TurnID: turnID, Live: readers.Subscribe()}
}
