package journal

import (
	"context"

	"bellhop/agenthost"
	"bellhop/internal/table"
	"bellhop/protocol"
)

// Load returns every session with its unfinished turns and questions. It takes
// six queries for any number of sessions.
func (j *Journal) Load(ctx context.Context) ([]agenthost.Loaded, error) {
	out, err := j.loadSessions(ctx)
	if err != nil {
		return nil, err
	}
	index := make(map[string]*agenthost.Loaded, len(out))
	for i := range out {
		index[out[i].Session.ID] = &out[i]
	}
	if err := j.loadUnfinished(ctx, index); err != nil {
		return nil, err
	}
	return out, j.loadPositions(ctx, index)
}

// loadSessions counts the sessions first, so that the slice never grows: to copy thousands of
// records would be most of the memory that a start allocates.
func (j *Journal) loadSessions(ctx context.Context) ([]agenthost.Loaded, error) {
	var count int
	if err := j.readers.QueryRowContext(ctx, "SELECT count(*) FROM sessions").Scan(&count); err != nil {
		return nil, fault("sessions", err)
	}
	rows, err := j.readers.QueryContext(ctx, sessions.Select("ORDER BY id"))
	if err != nil {
		return nil, fault("sessions", err)
	}
	out := make([]agenthost.Loaded, 0, count)
	err = sessions.ReadInto(rows, func() *agenthost.SessionRecord {
		out = append(out, agenthost.Loaded{})
		return &out[len(out)-1].Session
	})
	return out, fault("sessions", err)
}

func (j *Journal) loadUnfinished(ctx context.Context, index map[string]*agenthost.Loaded) error {
	unfinished, err := find(ctx, j, turns, "turns", "WHERE state <> 'finished' ORDER BY session_id, announced_at, id")
	if err != nil {
		return err
	}
	for _, t := range unfinished {
		if l := index[t.SessionID]; l != nil {
			l.Turns = append(l.Turns, t)
		}
	}
	open, err := find(ctx, j, interactions, "interactions", "WHERE state = 'open' ORDER BY session_id, created_at, id")
	for _, i := range open {
		if l := index[i.SessionID]; l != nil {
			l.Interactions = append(l.Interactions, i)
		}
	}
	return err
}

// position is a row of lastFrames or of pendingEvents.
type position struct {
	session string
	frame   protocol.StreamID // of lastFrames
	pending int64             // of pendingEvents
}

// lastFrames relies on SQLite to take last_epoch from the row with the maximum.
var lastFrames = table.New("turns",
	table.Text("session_id", func(p *position) *string { return &p.session }),
	table.Integer("last_epoch", func(p *position) *int64 { return &p.frame.Epoch }),
	table.Integer("max(last_offset)", func(p *position) *int64 { return &p.frame.Offset }),
)

var pendingEvents = table.New(`sessions s JOIN events e
	ON e.session_id = s.id AND (e.epoch, e.seq) > (s.acked_epoch, s.acked_seq)`,
	table.Text("s.id", func(p *position) *string { return &p.session }),
	table.Integer("count(*)", func(p *position) *int64 { return &p.pending }),
)

func (j *Journal) loadPositions(ctx context.Context, index map[string]*agenthost.Loaded) error {
	last, err := find(ctx, j, lastFrames, "last frames", "WHERE last_offset > 0 GROUP BY session_id")
	if err != nil {
		return err
	}
	for _, p := range last {
		if l := index[p.session]; l != nil {
			l.LastFrame = p.frame
		}
	}
	counts, err := find(ctx, j, pendingEvents, "pending events", "GROUP BY s.id")
	for _, p := range counts {
		if l := index[p.session]; l != nil {
			l.Pending = p.pending
		}
	}
	return err
}
