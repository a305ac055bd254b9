package broker

import (
	"context"
	"slices"
	"time"

	"bellhop/protocol"
)

// edit collects what a use case does to one locked task and writes it at once.
// It hands out revs and keeps one change per touched row.
type edit struct {
	store Store
	task  *Task
	now   time.Time
	batch Batch

	turns        map[string]*Turn
	dirtyTurns   []string
	fresh        map[string]*Message // made here
	freshOrder   []string
	changed      map[string]*Message // stored before
	changedOrder []string
	tools        map[string][]*Message // by tool call id, ascending by seq
	questions    map[string]*Interaction
	dirtyAsks    []string
	touched      bool
	dirty        bool // something changed that users do not see
	strayTurn    bool // a turn began while another was open
}

func newEdit(store Store, task *Task, now time.Time) *edit {
	return &edit{store: store, task: task, now: now}
}

// lock begins an edit of a task of a user.
func lock(ctx context.Context, store Store, userID, taskID string, now time.Time) (*edit, error) {
	task, err := store.LockTask(ctx, taskID)
	if err != nil {
		return nil, err
	}
	if task.UserID != userID || task.DeletedAt != nil {
		return nil, errTaskNotFound()
	}
	return newEdit(store, task, now), nil
}

func errTaskNotFound() error { return protocol.Errorf(protocol.CodeNotFound, "Task not found") }

func (e *edit) change(kind ChangeKind, ref string) int64 {
	e.task.Rev++
	e.batch.Changes = append(e.batch.Changes, ChangeRef{Rev: e.task.Rev, Kind: kind, RefID: ref})
	return e.task.Rev
}

// touch says that the task as users see it changed.
func (e *edit) touch() { e.touched = true }

func (e *edit) addMessage(m Message) *Message {
	e.task.LastSeq++
	m.TaskID, m.Seq, m.CreatedAt = e.task.ID, e.task.LastSeq, e.now
	if m.ID == "" {
		m.ID = protocol.NewID()
	}
	m.Rev = e.change(ChangeMessage, m.ID)
	if e.fresh == nil {
		e.fresh = map[string]*Message{}
	}
	e.fresh[m.ID] = &m
	e.freshOrder = append(e.freshOrder, m.ID)
	return &m
}

// changeMessage is called after m, a message of this edit or of the store, was
// changed in place.
func (e *edit) changeMessage(m *Message) {
	if e.fresh[m.ID] != nil || e.changed[m.ID] != nil {
		return
	}
	if e.changed == nil {
		e.changed = map[string]*Message{}
	}
	m.Rev = e.change(ChangeMessage, m.ID)
	e.changed[m.ID] = m
	e.changedOrder = append(e.changedOrder, m.ID)
}

// turnMessage is the user's message of a turn, nil if the turn has none.
func (e *edit) turnMessage(ctx context.Context, turnID string) (*Message, error) {
	for _, set := range []map[string]*Message{e.fresh, e.changed} {
		for _, m := range set {
			if m.Role == protocol.RoleUser && m.TurnID == turnID {
				return m, nil
			}
		}
	}
	m, err := e.store.TurnMessage(ctx, e.task.ID, turnID)
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		return nil, nil
	}
	return m, err
}

// turn is a turn of the task, nil if there is none of that id.
func (e *edit) turn(ctx context.Context, id string) (*Turn, error) {
	if t, seen := e.turns[id]; seen {
		return t, nil
	}
	found, err := e.store.Turns(ctx, e.task.ID, []string{id})
	if err != nil {
		return nil, err
	}
	e.keepTurns(found)
	return e.turns[id], nil
}

func (e *edit) keepTurns(turns []Turn) {
	if e.turns == nil {
		e.turns = map[string]*Turn{}
	}
	for i := range turns {
		if e.turns[turns[i].ID] == nil {
			e.turns[turns[i].ID] = &turns[i]
		}
	}
}

// unfinished are the turns that are announced or open, oldest first.
func (e *edit) unfinished(ctx context.Context) ([]*Turn, error) {
	found, err := e.store.TurnsIn(ctx, e.task.ID, TurnAnnounced, TurnOpen)
	if err != nil {
		return nil, err
	}
	e.keepTurns(found)
	var turns []*Turn
	for _, t := range e.turns {
		if t.State != TurnClosed {
			turns = append(turns, t)
		}
	}
	slices.SortFunc(turns, func(a, b *Turn) int {
		if c := a.AnnouncedAt.Compare(b.AnnouncedAt); c != 0 {
			return c
		}
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return turns, nil
}

func (e *edit) addTurn(t Turn) *Turn {
	t.TaskID = e.task.ID
	e.keepTurns([]Turn{t})
	e.saveTurn(e.turns[t.ID])
	return e.turns[t.ID]
}

func (e *edit) saveTurn(t *Turn) {
	if !slices.Contains(e.dirtyTurns, t.ID) {
		e.dirtyTurns = append(e.dirtyTurns, t.ID)
	}
}

// openTurn notes that an event of the turn came.
func (e *edit) openTurn(t *Turn) {
	t.State = TurnOpen
	e.saveTurn(t)
	e.task.OpenTurn = t.ID
	e.touch()
}

// closeTurn ends a turn for good. A question that is still open in it can no
// longer be answered.
func (e *edit) closeTurn(ctx context.Context, t *Turn, end protocol.LastTurn) error {
	t.State = TurnClosed
	t.FinishReason, t.Reason, t.Usage = end.FinishReason, end.Reason, end.Usage
	t.FinishedAt = &e.now
	e.saveTurn(t)
	end.ID = t.ID
	e.task.LastTurn = &end
	if err := e.afterClose(ctx, t.ID); err != nil {
		return err
	}
	e.touch()
	if e.task.OpenQuestions == 0 {
		return nil
	}
	open, err := e.openQuestions(ctx)
	if err != nil {
		return err
	}
	for _, q := range open {
		if q.TurnID == t.ID {
			q.State = protocol.InteractionExpired
			e.saveQuestion(q)
			e.task.OpenQuestions--
		}
	}
	return nil
}

// afterClose finds which turn is open now.
func (e *edit) afterClose(ctx context.Context, closed string) error {
	if e.task.OpenTurn == closed {
		e.task.OpenTurn = ""
		turns, err := e.unfinished(ctx)
		if err != nil {
			return err
		}
		for _, other := range turns {
			if other.State == TurnOpen {
				e.task.OpenTurn = other.ID
			}
		}
	}
	if e.task.OpenTurn == "" {
		e.task.AgentStatus, e.task.Reason = protocol.StatusIdle, ""
	}
	return nil
}

// failMessage marks the user's message of a turn as not delivered.
func (e *edit) failMessage(ctx context.Context, turnID string) error {
	m, err := e.turnMessage(ctx, turnID)
	if err != nil || m == nil || m.Status == protocol.MessageError {
		return err
	}
	m.Status = protocol.MessageError
	e.changeMessage(m)
	return nil
}

// question is an interaction of the task, nil if there is none of that id.
func (e *edit) question(ctx context.Context, id string) (*Interaction, error) {
	if q, seen := e.questions[id]; seen {
		return q, nil
	}
	found, err := e.store.TaskInteractions(ctx, e.task.ID, []string{id})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return e.keepQuestion(found[0]), nil
}

func (e *edit) openQuestions(ctx context.Context) ([]*Interaction, error) {
	found, err := e.store.OpenInteractions(ctx, e.task.ID)
	if err != nil {
		return nil, err
	}
	for _, q := range found {
		e.keepQuestion(q)
	}
	var open []*Interaction
	for _, q := range e.questions {
		if q.State == protocol.InteractionOpen {
			open = append(open, q)
		}
	}
	slices.SortFunc(open, func(a, b *Interaction) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return open, nil
}

func (e *edit) keepQuestion(q Interaction) *Interaction {
	if e.questions == nil {
		e.questions = map[string]*Interaction{}
	}
	if e.questions[q.ID] == nil {
		e.questions[q.ID] = &q
	}
	return e.questions[q.ID]
}

func (e *edit) saveQuestion(q *Interaction) {
	if !slices.Contains(e.dirtyAsks, q.ID) {
		e.dirtyAsks = append(e.dirtyAsks, q.ID)
		e.change(ChangeInteraction, q.ID)
	}
	e.touch()
}

// moved notes that the host was heard up to cursor.
func (e *edit) moved(cursor protocol.Cursor) {
	e.task.Cursor = cursor
	heard := e.now // of its own: tasks are remembered longer than edits
	e.task.LastEventAt, e.task.LastActivityAt = &heard, heard
}

// collect puts everything into the batch, and reports whether there is anything.
func (e *edit) collect() bool {
	if e.touched {
		e.change(ChangeTask, e.task.ID)
	}
	b := &e.batch
	for _, id := range e.freshOrder {
		b.NewMessages = append(b.NewMessages, *e.fresh[id])
	}
	for _, id := range e.changedOrder {
		b.ChangedMessages = append(b.ChangedMessages, *e.changed[id])
	}
	for _, id := range e.dirtyTurns {
		b.Turns = append(b.Turns, *e.turns[id])
	}
	for _, id := range e.dirtyAsks {
		b.Interactions = append(b.Interactions, *e.questions[id])
	}
	b.Task = e.task
	if len(b.Changes) > 0 {
		e.task.ChangedAt = e.now
	}
	return len(b.Changes) > 0 || len(b.Events) > 0 || len(b.Turns) > 0 || e.dirty
}

// save writes everything. An edit without effect writes nothing.
func (e *edit) save(ctx context.Context) error {
	if !e.collect() {
		return nil
	}
	return e.store.Apply(ctx, &e.batch)
}
