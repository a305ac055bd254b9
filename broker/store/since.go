package store

import (
	"context"
	"slices"

	"bellhop/broker"
	"bellhop/internal/database"
)

// maxRanges is how many ranges of changes are read to find what changed since a rev.
const maxRanges = 2000

// changedSince returns the positions of the task's messages that changed after the query's rev: at most
// its limit of those between After and Before, in ascending order. known is false if so many messages
// changed, or so long ago, that the changes do not name them all. Then the messages are read one by one.
func (s *Store) changedSince(
	ctx context.Context, taskID string, q broker.MessageQuery,
) (seqs []int64, known bool, err error) {
	since := max(*q.Since, 0)
	ranges, err := s.rangesAfter(ctx, taskID, since, maxRanges+1)
	if err != nil || len(ranges) > maxRanges || len(ranges) > 0 && ranges[0].first.Rev > since+1 {
		return nil, false, err
	}
	after, before := int64(0), int64(1)<<62
	if q.After != nil {
		after = *q.After
	}
	if q.Before != nil {
		before = *q.Before
	}
	newestFirst := q.Before != nil && q.After == nil
	for i := range ranges {
		r := &ranges[i]
		if r.first.Kind != broker.ChangeMessage {
			continue
		}
		from := max(r.first.Seq+max(0, since+1-r.first.Rev), after+1)
		to := min(r.first.Seq+r.n, before) - 1
		if newestFirst { // of one range, at most the limit can be in the result
			from = max(from, to-int64(q.Limit)+1)
		} else {
			to = min(to, from+int64(q.Limit)-1)
		}
		for seq := from; seq <= to; seq++ {
			seqs = append(seqs, seq)
		}
	}
	slices.Sort(seqs)
	seqs = slices.Compact(seqs)
	if extra := len(seqs) - q.Limit; extra > 0 && newestFirst {
		seqs = seqs[extra:]
	} else if extra > 0 {
		seqs = seqs[:q.Limit]
	}
	return seqs, true, nil
}

// rangesAfter returns the ranges of a task's changes from the one that has rev since+1.
func (s *Store) rangesAfter(ctx context.Context, taskID string, since int64, limit int) ([]changeRange, error) {
	const first = `COALESCE((SELECT max(rev) FROM change_ranges WHERE ` + ofTask + ` AND rev <= ?), 0)`
	ranges, err := database.Find(ctx, s.db, changeRanges, "Changes of task", taskID,
		"WHERE "+ofTask+" AND rev >= "+first+" ORDER BY rev LIMIT ?", taskID, taskID, since+1, limit)
	return slices.DeleteFunc(ranges, func(r changeRange) bool { return r.first.Rev+r.n <= since+1 }), err
}
