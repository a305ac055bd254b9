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

func (s *Store) ChangeRefs(ctx context.Context, taskID string, since int64, limit int) ([]broker.ChangeRef, error) {
	ranges, err := s.rangesAfter(ctx, taskID, since, limit+1)
	var refs []broker.ChangeRef
	for i := range ranges {
		refs = ranges[i].appendAfter(refs, since)
	}
	return refs[:min(len(refs), limit)], err
}

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
