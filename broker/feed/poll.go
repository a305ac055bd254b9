package feed

import (
	"context"
	"maps"
	"slices"
	"time"
)

const (
	pollLimit = 5 * time.Second // of one query
	pollChunk = 10_000          // ids of one query: below the databases' parameter limits
)

type revsFunc func(ctx context.Context, ids []string) (map[string]int64, error)

// poll asks, for what is watched only, whether other replicas changed it. A
// failing poll goes on at the same pace: readers hear of what they missed with
// the first one that works.
func (f *Feed) poll(ctx context.Context) {
	tick := time.NewTicker(f.opts.Poll)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := f.pollTopics(ctx, f.tasks, f.source.Revs)
		if err == nil {
			err = f.pollTopics(ctx, f.users, f.source.UserRevs)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			f.opts.Log.WarnContext(ctx, "feed: polling for changes fails", "error", err)
		case err == nil && failing:
			f.opts.Log.InfoContext(ctx, "feed: polling for changes works again")
		}
		failing = err != nil
	}
}

func (f *Feed) pollTopics(ctx context.Context, ts *topics, revs revsFunc) error {
	watched := ts.ids()
	if len(watched) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pollLimit)
	defer cancel()
	now := make(map[string]int64, len(watched))
	for ids := range slices.Chunk(watched, pollChunk) {
		part, err := revs(ctx, ids)
		if err != nil {
			return err
		}
		maps.Copy(now, part)
	}
	ts.polled(now)
	return nil
}
