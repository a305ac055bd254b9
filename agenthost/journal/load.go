package journal

import (
	"context"
	"encoding/json"

	"bellhop/agenthost"
	"bellhop/protocol"
)

const sessionColumns = `id, broker_id, webhook_url, basic, agent, project, model, native, epoch, seq, acked_epoch, acked_seq,
	offset_reserved, status, reason, remembered, outbox_state, outbox_error, created_at, active_at, dir, secret`

// Load returns every session with what is unfinished in it: five queries,
// however many sessions there are.
func (j *Journal) Load(ctx context.Context) ([]agenthost.Loaded, error) {
	records, err := rows(ctx, j, "sessions", scanSession, "SELECT "+sessionColumns+" FROM sessions ORDER BY id")
	if err != nil {
		return nil, err
	}
	out := make([]agenthost.Loaded, len(records))
	index := make(map[string]*agenthost.Loaded, len(records))
	for i := range records {
		out[i].Session = records[i]
		index[records[i].ID] = &out[i]
	}
	if err := j.loadUnfinished(ctx, index); err != nil {
		return nil, err
	}
	return out, j.loadPositions(ctx, index)
}

func (j *Journal) loadUnfinished(ctx context.Context, index map[string]*agenthost.Loaded) error {
	turns, err := rows(ctx, j, "turns", scanTurn,
		"SELECT "+turnColumns+" FROM turns WHERE state <> 'finished' ORDER BY session_id, announced_at, id")
	if err != nil {
		return err
	}
	for _, t := range turns {
		if l := index[t.SessionID]; l != nil {
			l.Turns = append(l.Turns, t)
		}
	}
	interactions, err := rows(ctx, j, "interactions", scanInteraction,
		"SELECT "+interactionColumns+" FROM interactions WHERE state = 'open' ORDER BY session_id, created_at, id")
	for _, i := range interactions {
		if l := index[i.SessionID]; l != nil {
			l.Interactions = append(l.Interactions, i)
		}
	}
	return err
}

func (j *Journal) loadPositions(ctx context.Context, index map[string]*agenthost.Loaded) error {
	type position struct {
		id    string
		frame protocol.StreamID
		n     int64
	}
	// SQLite takes the other columns from the row of the max.
	last, err := rows(ctx, j, "last frames", func(s scanner) (p position, err error) {
		return p, s.Scan(&p.id, &p.frame.Epoch, &p.frame.Offset)
	}, "SELECT session_id, last_epoch, max(last_offset) FROM turns WHERE last_offset > 0 GROUP BY session_id")
	if err != nil {
		return err
	}
	for _, p := range last {
		if l := index[p.id]; l != nil {
			l.LastFrame = p.frame
		}
	}
	pending, err := rows(ctx, j, "pending events", func(s scanner) (p position, err error) {
		return p, s.Scan(&p.id, &p.n)
	}, `SELECT s.id, count(*) FROM sessions s JOIN events e
		ON e.session_id = s.id AND (e.epoch, e.seq) > (s.acked_epoch, s.acked_seq) GROUP BY s.id`)
	for _, p := range pending {
		if l := index[p.id]; l != nil {
			l.Pending = p.n
		}
	}
	return err
}

func scanSession(s scanner) (r agenthost.SessionRecord, err error) {
	var remembered string
	err = s.Scan(&r.ID, &r.BrokerID, &r.WebhookURL, &r.Basic, &r.Agent, &r.Project, &r.Model, &r.Native,
		&r.Cursor.Epoch, &r.Cursor.Seq, &r.Acked.Epoch, &r.Acked.Seq, &r.OffsetReserved, &r.Status, &r.Reason,
		&remembered, &r.Outbox, &r.OutboxError, moment{&r.CreatedAt}, moment{&r.ActiveAt}, &r.Dir, &r.Secret)
	if err == nil {
		err = json.Unmarshal([]byte(remembered), &r.Remembered)
	}
	return r, err
}
