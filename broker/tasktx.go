package broker

import (
	"context"
	"maps"
	"slices"
	"time"

	"bellhop/protocol"
)

// taskTx collects the changes of a use case to one locked task; save writes all of
// them at once. It assigns revs and records one change per changed row.
type taskTx struct {
	store    UpdateStore
	webhooks Webhooks
	task     *Task
	now      time.Time
	batch    Batch

	turns           map[string]*Turn // loaded or added
	savedTurns      []*Turn
	tools           map[string][]*Message // loaded or added, by tool call id, ascending by seq
	newMessages     []*Message
	changedMessages []*Message
	questions       map[string]*Interaction
	savedQuestions  []*Interaction
	touched         bool // the visible part of the task changed
	dirty           bool // an invisible part of the task changed
}

// touch records that the visible part of the task changed.
func (tx *taskTx) touch() { tx.touched = true }

// recordChange gives ref the task's next rev, which it returns.
func (tx *taskTx) recordChange(ref ChangeRef) int64 {
	tx.task.Rev++
	ref.Rev = tx.task.Rev
	tx.batch.Changes = append(tx.batch.Changes, ref)
	return ref.Rev
}

// addEvent stores an event of the host. A late event is stored without effects.
func (tx *taskTx) addEvent(in *incomingEvent, late bool) {
	tx.batch.Events = append(tx.batch.Events, tx.storedEvent(in, late))
}

func (tx *taskTx) storedEvent(in *incomingEvent, late bool) StoredEvent {
	return StoredEvent{
		TaskID: tx.task.ID, EventID: in.id, Epoch: in.event.Epoch, Seq: in.event.Seq, TurnID: in.turn,
		Type: in.event.Type, Body: in.raw, Late: late, ReceivedAt: tx.now,
	}
}

// moveEvent gives a stored event the position of in, which is the same event.
func (tx *taskTx) moveEvent(in *incomingEvent) {
	tx.batch.MovedEvents = append(tx.batch.MovedEvents, tx.storedEvent(in, false))
}

// moveCursor records that the host's events are stored up to cursor.
func (tx *taskTx) moveCursor(cursor protocol.Cursor) {
	tx.task.Cursor = cursor
	receivedAt := tx.now // a copy, because Ingest remembers tasks for longer than their taskTx
	tx.task.LastEventAt, tx.task.LastActivityAt = &receivedAt, receivedAt
}

// changed reports whether save wrote a row that users see.
func (tx *taskTx) changed() bool { return len(tx.batch.Changes) > 0 }

// save writes all changes and queues the webhook events that follow from them. It
// writes nothing when nothing changed.
func (tx *taskTx) save(ctx context.Context) error {
	if !tx.collect() {
		return nil
	}
	if err := tx.store.Apply(ctx, &tx.batch); err != nil || tx.webhooks == nil {
		return err
	}
	for _, event := range taskEvents(&tx.batch) {
		if err := tx.webhooks.Emit(ctx, tx.task.UserID, event); err != nil {
			return err
		}
	}
	return nil
}

// collect completes the batch and reports whether there is anything to write.
func (tx *taskTx) collect() bool {
	if tx.touched {
		tx.recordChange(ChangeRef{Kind: ChangeTask})
	}
	b := &tx.batch
	b.Task = tx.task
	b.NewMessages, b.ChangedMessages = values(tx.newMessages), values(tx.changedMessages)
	b.Turns, b.Interactions = values(tx.savedTurns), values(tx.savedQuestions)
	if tx.changed() {
		tx.task.ChangedAt = tx.now
	}
	return tx.changed() || len(b.Events)+len(b.MovedEvents) > 0 || len(b.Turns) > 0 || len(b.Audit) > 0 || tx.dirty
}

func values[T any](pointers []*T) []T {
	if len(pointers) == 0 {
		return nil
	}
	list := make([]T, len(pointers))
	for i, p := range pointers {
		list[i] = *p
	}
	return list
}

func (tx *taskTx) addMessage(m Message) *Message {
	tx.task.LastSeq++
	m.TaskID, m.Seq, m.CreatedAt = tx.task.ID, tx.task.LastSeq, tx.now
	if m.ID == "" {
		m.ID = protocol.NewID()
	}
	m.Rev = tx.recordChange(ChangeRef{Kind: ChangeMessage, Seq: m.Seq})
	tx.newMessages = append(tx.newMessages, &m)
	return &m
}

// changeMessage must be called after m, which was added here or loaded, was changed
// in place.
func (tx *taskTx) changeMessage(m *Message) {
	same := func(other *Message) bool { return other.ID == m.ID }
	if slices.ContainsFunc(tx.newMessages, same) || slices.ContainsFunc(tx.changedMessages, same) {
		return
	}
	m.Rev = tx.recordChange(ChangeRef{Kind: ChangeMessage, Seq: m.Seq})
	tx.changedMessages = append(tx.changedMessages, m)
}

// savedMessage returns a user's message that this transaction adds or changes, or nil. The store
// does not have that state of it yet.
func (tx *taskTx) savedMessage(match func(*Message) bool) *Message {
	for _, list := range [][]*Message{tx.newMessages, tx.changedMessages} {
		for _, m := range list {
			if m.Role == protocol.RoleUser && match(m) {
				return m
			}
		}
	}
	return nil
}

// userMessage returns the user's message with an id.
func (tx *taskTx) userMessage(ctx context.Context, id string) (*Message, error) {
	if m := tx.savedMessage(func(m *Message) bool { return m.ID == id }); m != nil {
		return m, nil
	}
	return tx.store.Message(ctx, tx.task.ID, id)
}

// turnMessage returns the user's message of a turn, or nil.
func (tx *taskTx) turnMessage(ctx context.Context, turnID string) (*Message, error) {
	if m := tx.savedMessage(func(m *Message) bool { return m.TurnID == turnID }); m != nil {
		return m, nil
	}
	m, err := tx.store.TurnMessage(ctx, tx.task.ID, turnID)
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		return nil, nil
	}
	return m, err
}

// failMessage marks the user's message of a turn as not delivered.
func (tx *taskTx) failMessage(ctx context.Context, turnID string) error {
	m, err := tx.turnMessage(ctx, turnID)
	if err != nil || m == nil || m.Status == protocol.MessageError {
		return err
	}
	m.Status = protocol.MessageError
	tx.changeMessage(m)
	return nil
}

// question returns an interaction of the task, or nil.
func (tx *taskTx) question(ctx context.Context, id string) (*Interaction, error) {
	if q, loaded := tx.questions[id]; loaded {
		return q, nil
	}
	found, err := tx.store.TaskInteractions(ctx, tx.task.ID, []string{id})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return tx.cacheQuestion(found[0]), nil
}

// expireQuestions expires the open questions of an ended turn, which can no longer
// be answered.
func (tx *taskTx) expireQuestions(ctx context.Context, turnID string) error {
	if tx.task.OpenQuestions == 0 {
		return nil
	}
	found, err := tx.store.OpenInteractions(ctx, tx.task.ID)
	if err != nil {
		return err
	}
	for _, q := range found {
		tx.cacheQuestion(q)
	}
	for _, id := range slices.Sorted(maps.Keys(tx.questions)) {
		if q := tx.questions[id]; q.State == protocol.InteractionOpen && q.TurnID == turnID {
			q.State = protocol.InteractionExpired
			tx.saveQuestion(q)
			tx.task.OpenQuestions--
		}
	}
	return nil
}

// cacheQuestion returns the interaction of tx.questions with the id of q. If there is none,
// it adds q.
func (tx *taskTx) cacheQuestion(q Interaction) *Interaction {
	if tx.questions == nil {
		tx.questions = map[string]*Interaction{}
	}
	if tx.questions[q.ID] == nil {
		tx.questions[q.ID] = &q
	}
	return tx.questions[q.ID]
}

func (tx *taskTx) saveQuestion(q *Interaction) {
	if !slices.Contains(tx.savedQuestions, q) {
		tx.savedQuestions = append(tx.savedQuestions, q)
		tx.recordChange(ChangeRef{Kind: ChangeInteraction, RefID: q.ID})
	}
	tx.touch()
}
