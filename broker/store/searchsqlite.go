package store

import (
	"context"
	"slices"
	"strings"

	"bellhop/internal/database"
)

// FTS5 reads the places of a whole word as they are needed. For a beginning it first collects the places of all
// words that begin with it, which takes seconds in a million texts. So a beginning is searched for in one of three
// ways:
//   - If few words of the texts begin with it, the query has these words instead.
//   - If their places are few, FTS5 may collect them.
//   - Otherwise the texts that have the other wanted words are read, and checked for the beginning.

// rowsOfTask is the number of rows of the table search that a task may have.
const rowsOfTask = 1 << 32

// ftsQuery is a search as FTS5 can do it fast.
type ftsQuery struct {
	match   []string     // conditions that must all hold
	nowhere bool         // no text has the words
	checked []wantedWord // beginnings that are looked for in the texts
}

// searchSQLite finds the tasks by FTS5. It reads the index later if no wanted word narrows the search: if all of
// them are beginnings with very many places.
func (s *Store) searchSQLite(ctx context.Context, w wanted) (indexResult, error) {
	q, err := s.ftsQuery(ctx, w)
	if err != nil || q.nowhere {
		return indexResult{all: true}, err
	}
	if len(q.match) == 0 {
		q = ftsQuery{match: []string{w.match()}}
		return indexResult{readLater: func(ctx context.Context) ([]int64, bool, error) {
			return s.tasksMatching(ctx, q, 1)
		}}, nil
	}
	numbers, all, err := s.tasksMatching(ctx, q, bounds.reads)
	return indexResult{numbers: numbers, all: all}, err
}

func (s *Store) ftsQuery(ctx context.Context, w wanted) (q ftsQuery, err error) {
	for _, word := range w.words {
		if word.exact {
			q.match = append(q.match, `"`+word.word+`"`)
			continue
		}
		terms, err := s.termsOf(ctx, word.word)
		if err != nil || len(terms) == 0 {
			return ftsQuery{nowhere: true}, err
		}
		if len(terms) <= bounds.terms {
			q.match = append(q.match, `("`+strings.Join(terms, `" OR "`)+`")`)
			continue
		}
		n := 0
		err = s.conn(ctx).Raw(`SELECT count(*) FROM (SELECT 1 FROM search_terms WHERE term >= ? AND term <= ? LIMIT ?)`,
			word.word, lastTerm(word.word), bounds.collected).Scan(&n).Error
		switch {
		case err != nil:
			return q, database.Fault(err, "Words", "")
		case n < bounds.collected:
			q.match = append(q.match, `"`+word.word+`" *`)
		default:
			q.checked = append(q.checked, word)
		}
	}
	return q, nil
}

// lastTerm sorts after all words with a beginning.
func lastTerm(beginning string) string { return beginning + "\U0010FFFF" }

// termsOf returns the words of all texts that have a beginning: at most one more than bounds.terms. It goes from word
// to word; reading on would go from place to place. char(1) is before all characters of words.
func (s *Store) termsOf(ctx context.Context, beginning string) (terms []string, err error) {
	last := lastTerm(beginning)
	err = s.conn(ctx).Raw(`WITH RECURSIVE terms (term) AS (
			SELECT (SELECT term FROM search_terms WHERE term >= ? AND term <= ? LIMIT 1)
			UNION ALL
			SELECT (SELECT term FROM search_terms WHERE term >= terms.term || char(1) AND term <= ? LIMIT 1)
			FROM terms WHERE terms.term IS NOT NULL
		) SELECT term FROM terms WHERE term IS NOT NULL LIMIT ?`, beginning, last, last, bounds.terms+1).Scan(&terms).Error
	return terms, database.Fault(err, "Words", "")
}

// place is a text that has the words of FTS5's query.
type place struct {
	Place int64 // task_no * rowsOfTask + seq; the title has seq 0
	Has   bool  // the checked words too
}

// tasksMatching returns the numbers of the tasks that have the words. all is false if the words have more places
// than so many reads return. If a read ends in a task that has them, the next read begins after this task.
func (s *Store) tasksMatching(ctx context.Context, q ftsQuery, reads int) (numbers []int64, all bool, err error) {
	checked, args := "TRUE", []any(nil)
	if len(q.checked) > 0 {
		checked, args = wanted{q.checked}.within(`CASE place & 4294967295
			WHEN 0 THEN (SELECT words FROM tasks WHERE no = place >> 32)
			ELSE (SELECT words FROM log WHERE task_no = place >> 32 AND seq = place & 4294967295) END`)
	}
	args = append(args, strings.Join(q.match, " AND "))
	for after := int64(0); reads > 0; reads-- {
		var places []place
		err := s.conn(ctx).Raw(`SELECT place, `+checked+` AS has FROM (
			SELECT rowid AS place FROM search WHERE search MATCH ? AND rowid > ? ORDER BY rowid LIMIT ?)`,
			append(slices.Clip(args), after, bounds.perRead)...).Scan(&places).Error
		if err != nil {
			return nil, false, database.Fault(err, "Tasks", "")
		}
		last := int64(0)
		for _, p := range places {
			if p.Has && p.Place/rowsOfTask != last {
				last = p.Place / rowsOfTask
				numbers = append(numbers, last)
			}
		}
		if len(places) < bounds.perRead {
			return numbers, true, nil
		}
		if after = places[bounds.perRead-1].Place; after/rowsOfTask == last {
			after = (last+1)*rowsOfTask - 1
		}
	}
	return nil, false, nil
}
