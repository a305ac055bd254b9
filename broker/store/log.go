package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"bellhop/broker"
	"bellhop/internal/table"
	"bellhop/protocol"
)

// logRow is a row of the log: an event, a message, or an event with its message.
// The zero value of a part (no EventID, no Seq) means that the row has none.
type logRow struct {
	taskNo  int64
	event   broker.StoredEvent
	message broker.Message
	indexed string // the words of message, once logRows is done: a group's leader does not compute them
}

func (r *logRow) at() *time.Time {
	if r.event.EventID != "" {
		return &r.event.ReceivedAt
	}
	return &r.message.CreatedAt
}

func (r *logRow) turn() *string {
	if r.event.EventID != "" {
		return &r.event.TurnID
	}
	return &r.message.TurnID
}

// isText reports whether the text of the row's message is that of its event's body.
func (r *logRow) isText() bool { return r.event.Type == protocol.EventText }

// ofMessage has the columns that only the message of a row fills.
var ofMessage = messageColumns(func(r *logRow) *broker.Message { return &r.message })

var logTable = table.New("log", slices.Concat(
	[]table.Column[logRow]{
		table.Integer("task_no", func(r *logRow) *int64 { return &r.taskNo }),
		table.Time("created_at", (*logRow).at),
		only((*logRow).hasPosition, table.Integer("epoch", func(r *logRow) *int64 { return &r.event.Epoch })),
		only((*logRow).hasPosition, table.Integer("event_seq", func(r *logRow) *int64 { return &r.event.Seq })),
		table.Bool("late", func(r *logRow) *bool { return &r.event.Late }),
		table.Text("type", func(r *logRow) *protocol.EventType { return &r.event.Type }),
		table.OptionalText("event_id", func(r *logRow) *string { return &r.event.EventID }),
		table.Text("turn_id", (*logRow).turn),
		table.OptionalTextBytes("body", func(r *logRow) *json.RawMessage { return &r.event.Body }),
		only((*logRow).hasText, table.Text("message", func(r *logRow) *string { return &r.message.Message.Message })),
		table.JSONList("artifacts", nil, func(r *logRow) *[]protocol.Artifact { return &r.message.Artifacts }),
		{Name: "words", Type: "tsvector", Value: func(r *logRow) any { return r.words() }},
	},
	onlyAll((*logRow).hasMessage, ofMessage),
)...)

// words returns the words of the row's message, "" for a message without text and nil for an event without
// a message.
func (r *logRow) words() any {
	if !r.hasMessage() {
		return nil
	}
	return r.indexed
}

func (r *logRow) hasPosition() bool { return r.event.Epoch > 0 }
func (r *logRow) hasMessage() bool  { return r.message.Seq > 0 }
func (r *logRow) hasText() bool     { return !r.isText() && r.message.Message.Message != "" }

// only makes a column NULL in rows that do not meet a condition.
func only(condition func(*logRow) bool, c table.Column[logRow]) table.Column[logRow] {
	value := c.Value
	c.Value = func(r *logRow) any {
		if condition(r) {
			return value(r)
		}
		return nil
	}
	return c
}

func onlyAll(condition func(*logRow) bool, columns []table.Column[logRow]) []table.Column[logRow] {
	all := make([]table.Column[logRow], len(columns))
	for i := range columns {
		all[i] = only(condition, columns[i])
	}
	return all
}

// messageNames returns the names of ofMessage, except these.
func messageNames(except ...string) []string {
	var names []string
	for i := range ofMessage {
		if name := ofMessage[i].Name; !slices.Contains(except, name) {
			names = append(names, name)
		}
	}
	return names
}

// keyed returns columns of the log as the key of an UPDATE.
func keyed(names ...string) []table.Column[logRow] {
	columns := logTable.Pick(names...)
	for i := range columns {
		columns[i] = columns[i].Key()
	}
	return columns
}

var (
	// changedMessages has the columns of a message that change after it was written.
	changedMessages = table.New("log", slices.Concat(
		keyed("task_no", "seq"), logTable.Pick("rev", "turn_id", "status", "phase", "artifacts"))...)

	// movedEvents has the columns that change when an event gets a new position.
	movedEvents = table.New("log", slices.Concat(
		keyed("task_no", "event_id"), logTable.Pick("epoch", "event_seq", "body", "late"))...)

	// revivedEvents also has the columns of a message. A late event gets its message
	// when it moves to a position of the present epoch.
	revivedEvents = table.New("log", slices.Concat(
		movedEvents.Columns, logTable.Pick("created_at", "message", "artifacts", "words"),
		logTable.Pick(messageNames()...))...)
)

// move returns the statement that gives the row's event its new position.
func (r *logRow) move() table.Statement {
	if r.hasMessage() {
		return revivedEvents.Update(r)
	}
	return movedEvents.Update(r)
}

// logRows returns the rows of a batch's new and moved events, each with the message that
// the event wrote. A message without an event gets a row of its own.
func logRows(b *broker.Batch) (rows, moved []logRow, err error) {
	rows, moved = make([]logRow, len(b.Events), len(b.Events)+len(b.NewMessages)), make([]logRow, len(b.MovedEvents))
	byEvent := make(map[string]*logRow, len(b.Events))
	for i := range b.Events {
		rows[i] = logRow{taskNo: b.Task.No, event: b.Events[i]}
		byEvent[b.Events[i].EventID] = &rows[i]
	}
	for i := range b.MovedEvents {
		moved[i] = logRow{taskNo: b.Task.No, event: b.MovedEvents[i]}
		byEvent[b.MovedEvents[i].EventID] = &moved[i]
	}
	for i := range b.NewMessages {
		m := &b.NewMessages[i]
		row := byEvent[m.EventID]
		switch {
		case m.EventID == "":
			rows = append(rows, logRow{taskNo: b.Task.No, message: *m})
		case row == nil || row.hasMessage():
			return nil, nil, fmt.Errorf("task %s: message %s does not have an event of its own", b.Task.ID, m.ID)
		default:
			row.message = *m
		}
	}
	if b.Task.No == 0 && len(rows)+len(moved) > 0 {
		return nil, nil, fmt.Errorf("task %s was not read from the database", b.Task.ID)
	}
	for _, list := range [][]logRow{rows, moved} {
		for i := range list {
			list[i].indexed = wordsOf(b.Task.UserID, list[i].message.Message.Message)
		}
	}
	return rows, moved, nil
}

// ofTask selects the rows of a task in tables that refer to its number. The subquery is
// computed once, before the scan; with a join the planner might not use an index's order.
const ofTask = `task_no = (SELECT no FROM tasks WHERE id = ?)`
