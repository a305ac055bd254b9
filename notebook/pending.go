package notebook

import (
	"context"
	"strconv"
	"time"

	"bellhop/protocol"
)

const (
	verifyBatch = 16
	// verifyPoll is how often to look for versions that another process, or this one before a restart, left
	// unverified.
	verifyPoll = 30 * time.Second
)

func versionName(n int64) string { return "version " + strconv.FormatInt(n, 10) }

func (s *Service) wakeVerifier() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run verifies, until ctx ends, the versions that were stored without verification.
func (s *Service) Run(ctx context.Context) error {
	tick := time.NewTicker(verifyPoll)
	defer tick.Stop()
	for {
		if err := s.verifyPending(ctx); err != nil && ctx.Err() == nil {
			s.o.Log.WarnContext(ctx, "versions not verified", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		case <-tick.C:
		}
	}
}

func (s *Service) verifyPending(ctx context.Context) error {
	for {
		batch, err := s.o.Store.Unverified(ctx, verifyBatch)
		if err != nil || len(batch) == 0 {
			return err
		}
		for i := range batch {
			u := &batch[i]
			verification := s.o.Verifier.Verify(ctx, u.Source.Language, u.Version.Code)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			err := s.change(ctx, u.Source.UserID,
				u.Source.SessionID, func(ctx context.Context, session *Session, now time.Time) error {
					session.changed(protocol.AgentEventVerified, u.Source.ID, now)
					return s.o.Store.SetVerification(ctx, u.Source.ID, u.Version.Number, &verification)
				})
			if err != nil && protocol.CodeOf(err) != protocol.CodeNotFound { // a source deleted meanwhile is no error
				return err
			}
		}
	}
}
