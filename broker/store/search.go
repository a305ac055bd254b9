package store

import (
	"context"
	"slices"
	"strings"

	"bellhop/broker"
	"bellhop/internal/database"
)

// A search finds the user's tasks with a title or a message that has all wanted words. If few tasks have them,
// the index of words names those tasks. If many have them, the newest tasks are looked at one after the other
// until the page is full, because reading all places of such words would take as long as the user has texts.

// searchBounds bound the work of a search.
type searchBounds struct {
	places    int // places of words that PostgreSQL reads from the index
	nearTasks int // tasks that are looked at before the index, where the index could be slow
	nearTexts int // texts that these tasks may have together

	// Of SQLite, where a beginning is a wanted word with which words of texts begin.
	terms     int // words of texts that a beginning is replaced by
	collected int // places of a beginning that FTS5 may collect
	perRead   int // places that are read at once
	reads     int
}

var bounds = searchBounds{
	places: 20_000, nearTasks: 200, nearTexts: 2000,
	terms: 32, collected: 30_000, perRead: 2000, reads: 5,
}

// search returns a page of the tasks that a user looks for.
func (s *Store) search(ctx context.Context, userID string, f broker.TaskFilter) ([]broker.Task, error) {
	w := wantedIn(userID, f.Q)
	if len(w.words) == 0 {
		return nil, nil
	}
	searchIndex := s.searchPostgres
	if !s.postgres() {
		searchIndex = s.searchSQLite
	}
	found, err := searchIndex(ctx, w)
	if err != nil || found.all && len(found.numbers) == 0 {
		return nil, err
	}
	return s.eachArchived(f, func(archived bool) ([]broker.Task, error) {
		return s.searchOf(ctx, userID, archived, f, w, found)
	})
}

// indexResult is what the index of words knows about a search.
type indexResult struct {
	numbers []int64 // of tasks
	all     bool    // numbers has all tasks that have the words

	// readLater is not nil if reading the index is slow. Then it returns numbers and all, and is called only if
	// the newest tasks do not fill the page.
	readLater func(ctx context.Context) (numbers []int64, all bool, err error)
}

// searchOf returns a page of the archived tasks or of the others.
func (s *Store) searchOf(
	ctx context.Context, userID string, archived bool, f broker.TaskFilter, w wanted, found indexResult,
) ([]broker.Task, error) {
	if found.readLater != nil {
		page, full, err := s.near(ctx, userID, archived, f, w)
		if err != nil || full {
			return page, err
		}
		if found.numbers, found.all, err = found.readLater(ctx); err != nil {
			return nil, err
		}
	}
	which := s.having(w)
	if found.all {
		which = condition{
			sql: s.numbered("no"), args: []any{s.numbers(found.numbers)}, few: len(found.numbers) < bounds.nearTexts,
		}
	}
	return s.listedOf(ctx, userID, archived, f, which)
}

// near looks for the words in the newest tasks. full is true if the other tasks add nothing to the page: it has as
// many tasks as the filter's limit, or there are no others.
func (s *Store) near(
	ctx context.Context, userID string, archived bool, f broker.TaskFilter, w wanted,
) (page []broker.Task, full bool, err error) {
	limit := f.Limit
	f.Limit = bounds.nearTasks
	newest, err := s.listedOf(ctx, userID, archived, f, condition{})
	if err != nil {
		return nil, false, err
	}
	var numbers []int64
	texts := 0
	for i := range newest {
		if texts += 1 + int(newest[i].LastSeq); texts > bounds.nearTexts {
			break
		}
		numbers = append(numbers, newest[i].No)
	}
	has, err := s.tasksHaving(ctx, w, numbers)
	if err != nil {
		return nil, false, err
	}
	for i := range newest[:len(numbers)] {
		if has[newest[i].No] && len(page) < limit {
			page = append(page, newest[i])
		}
	}
	return page, len(page) == limit || len(numbers) == len(newest) && len(newest) < bounds.nearTasks, nil
}

// tasksHaving returns those of some tasks that have the words, by their numbers.
func (s *Store) tasksHaving(ctx context.Context, w wanted, numbers []int64) (map[int64]bool, error) {
	which := s.having(w)
	var found []int64
	err := s.conn(ctx).Raw(`SELECT no FROM tasks WHERE `+s.numbered("no")+` AND `+which.sql,
		append([]any{s.numbers(numbers)}, which.args...)...).Scan(&found).Error
	has := make(map[int64]bool, len(found))
	for _, no := range found {
		has[no] = true
	}
	return has, database.Fault(err, "Tasks", "")
}

// searchPostgres reads the index only if the newest tasks do not fill the page: PostgreSQL collects all places of
// the words before it returns the first.
func (s *Store) searchPostgres(_ context.Context, w wanted) (indexResult, error) {
	return indexResult{readLater: func(ctx context.Context) (numbers []int64, all bool, err error) {
		var rows []struct {
			No     int64
			Places int
		}
		const query = `(SELECT no FROM tasks WHERE words @@ ?::tsquery LIMIT ?) UNION ALL
			(SELECT task_no FROM log WHERE words @@ ?::tsquery LIMIT ?)`
		err = s.Read(ctx, func(ctx context.Context) error {
			// Because of the LIMIT, PostgreSQL would hope to meet enough texts at the beginning of the table.
			const indexOnly = `SELECT set_config('enable_seqscan', 'off', TRUE), set_config('enable_indexscan', 'off', TRUE)`
			if err := s.conn(ctx).Exec(indexOnly).Error; err != nil {
				return err
			}
			return s.conn(ctx).Raw(`SELECT no, count(*) AS places FROM (`+query+`) AS found GROUP BY no`,
				w.tsquery(), bounds.places, w.tsquery(), bounds.places).Scan(&rows).Error
		})
		places := 0
		for _, r := range rows {
			numbers, places = append(numbers, r.No), places+r.Places
		}
		return numbers, places < bounds.places, database.Fault(err, "Tasks", "")
	}}, nil
}

// having is a condition that a task's title or one of its messages has the words. The subquery has a
// LIMIT, so that it is run for one task at a time and stops at the first message.
func (s *Store) having(w wanted) condition {
	title, titleArgs := w.within("tasks.words")
	message, messageArgs := w.within("l.words")
	if s.postgres() {
		title, titleArgs = "tasks.words @@ ?::tsquery", []any{w.tsquery()}
		message, messageArgs = "l.words @@ ?::tsquery", titleArgs
	}
	sql := `(` + title + ` OR (SELECT l.seq FROM log l
		WHERE l.task_no = tasks.no AND l.seq IS NOT NULL AND ` + message + ` LIMIT 1) IS NOT NULL)`
	return condition{sql: sql, args: append(slices.Clip(titleArgs), messageArgs...)}
}

// within is a condition that the column words of a row has the wanted words, for SQLite.
func (w wanted) within(column string) (condition string, args []any) {
	parts := make([]string, len(w.words))
	for i, word := range w.words {
		looked := " " + word.word
		if word.exact {
			looked += " "
		}
		parts[i], args = "instr("+column+", ?) > 0", append(args, looked)
	}
	return strings.Join(parts, " AND "), args
}
