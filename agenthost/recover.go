package agenthost

import (
	"context"
	"fmt"

	"bellhop/agenthost/core"
	"bellhop/agenthost/delivery"
	"bellhop/protocol"
)

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
			e, err := eventOf(&rows[j])
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
