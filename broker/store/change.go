package store

import (
	"context"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
)

// changeRange holds n changes of a task with consecutive revs. In a range of message
// changes the seqs are consecutive too; a change of another kind is a range of its own.
type changeRange struct {
	taskNo int64
	first  broker.ChangeRef
	n      int64
}

var changeRanges = table.New("change_ranges",
	table.Integer("task_no", func(c *changeRange) *int64 { return &c.taskNo }).Key(),
	table.Integer("rev", func(c *changeRange) *int64 { return &c.first.Rev }).Key(),
	table.Integer("n", func(c *changeRange) *int64 { return &c.n }),
	table.Text("kind", func(c *changeRange) *broker.ChangeKind { return &c.first.Kind }),
	table.Integer("seq", func(c *changeRange) *int64 { return &c.first.Seq }),
	table.OptionalText("ref_id", func(c *changeRange) *string { return &c.first.RefID }),
)

// rangesOf joins the changes of a batch into as few ranges as possible.
func rangesOf(b *broker.Batch) []changeRange {
	var ranges []changeRange
	for _, ref := range b.Changes {
		if n := len(ranges); n > 0 && ranges[n-1].continues(ref) {
			ranges[n-1].n++
			continue
		}
		ranges = append(ranges, changeRange{taskNo: b.Task.No, first: ref, n: 1})
	}
	return ranges
}

func (c *changeRange) continues(next broker.ChangeRef) bool {
	return next.Kind == broker.ChangeMessage && c.first.Kind == broker.ChangeMessage &&
		next.Rev == c.first.Rev+c.n && next.Seq == c.first.Seq+c.n
}

// appendAfter appends the range's changes with a rev above since to refs.
func (c *changeRange) appendAfter(refs []broker.ChangeRef, since int64) []broker.ChangeRef {
	for i := max(0, since+1-c.first.Rev); i < c.n; i++ {
		ref := c.first
		if ref.Rev += i; ref.Kind == broker.ChangeMessage {
			ref.Seq += i
		}
		refs = append(refs, ref)
	}
	return refs
}

// oldChanges reads the changes that are not yet moved to change_ranges, see Move. The
// message of an old change may have been moved before it. That move was a later change of
// the message, so the old change may name the task instead.
var oldChanges = table.New(`old_changes c
	LEFT JOIN old_messages m ON c.kind = 'message' AND m.task_id = c.task_id AND m.id = c.ref_id`,
	table.Integer("c.rev", func(c *broker.ChangeRef) *int64 { return &c.Rev }),
	table.Text(oldChangeKind, func(c *broker.ChangeRef) *broker.ChangeKind { return &c.Kind }),
	table.Integer("COALESCE(m.seq, 0)", func(c *broker.ChangeRef) *int64 { return &c.Seq }),
	table.OptionalText(oldChangeRef, func(c *broker.ChangeRef) *string { return &c.RefID }),
)

const (
	oldChangeKind = `CASE WHEN c.kind = 'message' AND m.seq IS NULL THEN 'task' ELSE c.kind END`
	oldChangeRef  = `CASE WHEN c.kind = 'interaction' THEN c.ref_id END`
)

// ChangeRefs implements broker.FeedStore.
func (s *Store) ChangeRefs(ctx context.Context, taskID string, since int64, limit int) ([]broker.ChangeRef, error) {
	old, err := whileMoving(ctx, s, func() ([]broker.ChangeRef, error) {
		return database.Find(ctx, s.db, oldChanges, "Changes of task", taskID,
			"WHERE c.task_id = ? AND c.rev > ? ORDER BY c.rev LIMIT ?", taskID, since, limit)
	})
	if err != nil {
		return nil, err
	}
	ranges, err := s.rangesAfter(ctx, taskID, since, limit+1)
	var refs []broker.ChangeRef
	for i := range ranges {
		refs = ranges[i].appendAfter(refs, since)
	}
	return merged(old, refs, func(a, b *broker.ChangeRef) bool { return a.Rev < b.Rev }, limit), err
}

// Revs implements broker.FeedStore.
func (s *Store) Revs(ctx context.Context, taskIDs []string) (map[string]int64, error) {
	var rows []struct {
		ID  string
		Rev int64
	}
	if err := s.conn(ctx).Raw(`SELECT id, rev FROM tasks WHERE id IN ?`, taskIDs).Scan(&rows).Error; err != nil {
		return nil, database.Fault(err, "Revs", "")
	}
	revs := make(map[string]int64, len(rows))
	for _, r := range rows {
		revs[r.ID] = r.Rev
	}
	return revs, nil
}
