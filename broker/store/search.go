package store

import (
	"context"

	"bellhop/broker"
	"bellhop/internal/database"
)

// A search finds the user's tasks with a title or a message that has all wanted words. A wanted word is
// either in few texts: then the index of words names their tasks. Or it is in many: then the newest tasks
// are looked at one after the other until enough have it, because reading all places of such a word would
// take as long as the user has texts.

// maxFound is the number of texts up to which the index of words is used.
const maxFound = 2000

// search returns a page of the tasks that a user looks for.
func (s *Store) search(ctx context.Context, userID string, f broker.TaskFilter) ([]broker.Task, error) {
	w := wantedIn(userID, f.Q)
	if len(w.words) == 0 {
		return nil, nil
	}
	numbers, all, err := s.found(ctx, w)
	if err != nil || all && len(numbers) == 0 {
		return nil, err
	}
	if all {
		return s.listed(ctx, userID, f, s.numbered("no"), s.numbers(numbers))
	}
	condition, args := s.having(w)
	return s.listed(ctx, userID, f, condition, args...)
}

// found returns the numbers of the tasks whose texts have the words, or all = false if more than maxFound
// texts have them.
func (s *Store) found(ctx context.Context, w wanted) (numbers []int64, all bool, err error) {
	if !s.postgres() {
		return s.foundByFTS(ctx, w)
	}
	// Inside WITH each part is planned for its own limit.
	const query = `(SELECT no FROM tasks WHERE words @@ ?::tsquery LIMIT ?) UNION ALL
		(SELECT task_no FROM log WHERE words @@ ?::tsquery LIMIT ?)`
	err = s.Read(ctx, func(ctx context.Context) error {
		// Because of the LIMIT, PostgreSQL would hope to meet enough texts at the beginning of the table.
		const indexOnly = `SELECT set_config('enable_seqscan', 'off', TRUE), set_config('enable_indexscan', 'off', TRUE)`
		if err := s.conn(ctx).Exec(indexOnly).Error; err != nil {
			return err
		}
		return s.conn(ctx).Raw(`SELECT no FROM (`+query+`) AS found`, w.tsquery(), maxFound, w.tsquery(), maxFound).Scan(&numbers).Error
	})
	return numbers, len(numbers) < maxFound, database.Fault(err, "Tasks", "")
}

// foundByFTS is found for SQLite. FTS5 collects all places of the words with a beginning before it returns
// the first, but reads the places of one word as they are needed. So texts that have exactly the wanted
// words are counted first: if they are too many already, the beginnings need not be looked for.
func (s *Store) foundByFTS(ctx context.Context, w wanted) (numbers []int64, all bool, err error) {
	for _, match := range []string{w.exactly().match(), w.match()} {
		err := s.conn(ctx).Raw(`SELECT rowid / 4294967296 AS no FROM search WHERE search MATCH ? LIMIT ?`, match, maxFound).
			Scan(&numbers).Error
		if err != nil || len(numbers) == maxFound {
			return nil, false, database.Fault(err, "Tasks", "")
		}
	}
	return numbers, true, nil
}

// having is a condition that a task's title or one of its messages has the words. The subquery has a
// LIMIT, so that it is run for one task at a time and stops at the first message.
func (s *Store) having(w wanted) (condition string, args []any) {
	title, titleArgs := w.within("tasks.words")
	message, messageArgs := w.within("l.words")
	if s.postgres() {
		title, titleArgs = "tasks.words @@ ?::tsquery", []any{w.tsquery()}
		message, messageArgs = "l.words @@ ?::tsquery", titleArgs
	}
	condition = `(` + title + ` OR (SELECT l.seq FROM log l WHERE l.task_no = tasks.no AND l.seq IS NOT NULL AND ` + message + ` LIMIT 1) IS NOT NULL)`
	return condition, append(titleArgs[:len(titleArgs):len(titleArgs)], messageArgs...)
}
