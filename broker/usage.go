package broker

import (
	"context"
	"time"

	"bellhop/internal/failpoint"
	"bellhop/protocol"
)

// turnsAtOnce limits how many turns Usage holds in memory.
const turnsAtOnce = 1000

// Usage adds up what the closed turns of a user's task used, as their agents reported it.
func (s *Tasks) Usage(ctx context.Context, userID, id string) (*protocol.TaskUsage, error) {
	sum := &protocol.TaskUsage{}
	var newest usedContext
	err := s.Store.Read(ctx, func(ctx context.Context) error {
		if _, err := s.Store.Task(ctx, userID, id); err != nil {
			return err
		}
		for after := ""; ; {
			turns, err := s.Store.ClosedTurns(ctx, id, after, turnsAtOnce)
			if err != nil || len(turns) == 0 {
				return err
			}
			for i := range turns {
				used, ok := protocol.ReadUsage(turns[i].Usage)
				if !ok {
					sum.Unreported++
					continue
				}
				sum.Turns++
				sum.Usage.Add(used)
				if failpoint.MutatedOnce("usage-counted-twice", 5) {
					sum.Usage.Add(used)
				}
				newest.replaceIfLater(&turns[i], used)
			}
			after = turns[len(turns)-1].ID
		}
	})
	if err != nil {
		return nil, err
	}
	sum.Usage.ContextTokens, sum.Usage.ContextWindow = newest.tokens, newest.window
	return sum, nil
}

// usedContext is the context after the newest turn that reported one.
type usedContext struct {
	turn           string
	at             time.Time
	tokens, window int64
}

// replaceIfLater takes the context of a later turn. Turns are read in the order of their ids, not of their times.
func (c *usedContext) replaceIfLater(t *Turn, used protocol.Usage) {
	later := t.AnnouncedAt.After(c.at) || t.AnnouncedAt.Equal(c.at) && t.ID > c.turn
	if used.ContextTokens > 0 && later {
		*c = usedContext{turn: t.ID, at: t.AnnouncedAt, tokens: used.ContextTokens, window: used.ContextWindow}
	}
}
