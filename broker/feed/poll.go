package feed

import (
	"context"
	"maps"
	"slices"
	"time"
)

const (
	pollLimit = 5 * time.Second // of one poll of tasks or of users
	pollChunk = 10_000          // ids of one query: below the databases' parameter limits

	// skew is how far the clocks of replicas may differ before a user's feed misses
	// changes. A task's own feed compares revs and does not depend on clocks.
	skew = 30 * time.Second
)

// poller looks for changes of other replicas, limited to the watched tasks and
// users.
type poller struct {
	*Feed
	usersAt time.Time        // start of the last successful poll of users
	hinted  map[string]int64 // revs that the last poll found, by the id of the task or agent session
}

func newPoller(f *Feed) *poller {
	return &poller{Feed: f, usersAt: f.opts.Now(), hinted: map[string]int64{}}
}

// run polls until ctx ends. After a failure it continues at the same pace; the
// first successful poll finds all changes since the last one.
func (p *poller) run(ctx context.Context) {
	tick := time.NewTicker(p.opts.Poll)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := p.pollTasks(ctx)
		if err == nil {
			err = p.pollUsers(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			p.opts.Log.WarnContext(ctx, "feed: polling for changes fails", "error", err)
		case err == nil && failing:
			p.opts.Log.InfoContext(ctx, "feed: polling for changes works again")
		}
		failing = err != nil
	}
}

func (p *poller) pollTasks(ctx context.Context) error {
	watched := p.tasks.ids()
	if len(watched) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pollLimit)
	defer cancel()
	revs := make(map[string]int64, len(watched))
	for ids := range slices.Chunk(watched, pollChunk) {
		part, err := p.source.Revs(ctx, ids)
		if err != nil {
			return err
		}
		maps.Copy(revs, part)
	}
	p.tasks.applyPoll(watched, revs)
	return nil
}

func (p *poller) pollUsers(ctx context.Context) error {
	began := p.opts.Now()
	watched := p.users.ids()
	hinted := map[string]int64{}
	ctx, cancel := context.WithTimeout(ctx, pollLimit)
	defer cancel()
	for ids := range slices.Chunk(watched, pollChunk) {
		hints, err := p.source.HintsSince(ctx, ids, p.usersAt.Add(-skew))
		if err != nil {
			return err
		}
		for i := range hints {
			hint := &hints[i]
			hinted[hint.TaskID] = hint.Rev
			if rev, known := p.hinted[hint.TaskID]; !known || rev != hint.Rev {
				p.users.wake(hint.UserID, 0)
			}
		}
		if err := p.pollAgents(ctx, ids, hinted); err != nil {
			return err
		}
	}
	p.usersAt, p.hinted = began, hinted
	return nil
}

// pollAgents adds the revs of changed agent sessions to hinted and wakes their users.
func (p *poller) pollAgents(ctx context.Context, userIDs []string, hinted map[string]int64) error {
	if p.opts.Agents == nil {
		return nil
	}
	revs, err := p.opts.Agents.Revs(ctx, userIDs, p.usersAt.Add(-skew))
	for userID, sessions := range revs {
		for id, rev := range sessions {
			hinted[id] = rev
			if known, ok := p.hinted[id]; !ok || known != rev {
				p.users.wake(userID, 0)
			}
		}
	}
	return err
}
