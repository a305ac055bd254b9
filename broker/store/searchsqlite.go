package store

import (
	"context"
	"slices"
	"strings"

	"bellhop/internal/database"
)

// FTS5 reads the places of a word as they are needed. Of a word with a given beginning it collects all places
// before it returns the first: in a million texts that takes seconds. So beginnings are replaced by the words of
// the texts that have them. If these are too many, their places are counted. If these are too many as well, the
// texts with the other wanted words are read to find the beginning in them.

// rowsOfTask is the number of rows of the table search that a task may have.
const rowsOfTask = 1 << 32

// ftsQuery is a search as FTS5 can do it fast.
type ftsQuery struct {
	match   []string     // all of them; each may be several words of which one is enough
	seldom  bool         // no text has the words
	checked []wantedWord // beginnings of so many words that they are looked for in the texts
}

// searchSQLite finds the tasks by FTS5, or says that many have the words. If all words are beginnings of very
// many words, the index is slow.
func (s *Store) searchSQLite(ctx context.Context, w wanted) (found, error) {
	q, err := s.ftsQuery(ctx, w)
	if err != nil || q.seldom {
		return found{all: true}, err
	}
	if len(q.match) == 0 {
		q = ftsQuery{match: []string{w.match()}}
		return found{slow: func(ctx context.Context) ([]int64, bool, error) { return s.placesOf(ctx, q, 1) }}, nil
	}
	numbers, all, err := s.placesOf(ctx, q, bounds.reads)
	return found{numbers: numbers, all: all}, err
}

func (s *Store) ftsQuery(ctx context.Context, w wanted) (q ftsQuery, err error) {
	for _, word := range w.words {
		if word.exact {
			q.match = append(q.match, `"`+word.word+`"`)
			continue
		}
		terms, err := s.termsOf(ctx, word.word)
		if err != nil || len(terms) == 0 {
			return ftsQuery{seldom: true}, err
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

// lastTerm is behind all words with a beginning.
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

// placesOf returns the tasks that have the words, or all = false if there are many of them or of their places.
// Places in a task that is found already are passed over.
func (s *Store) placesOf(ctx context.Context, q ftsQuery, reads int) (numbers []int64, all bool, err error) {
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
			append(slices.Clip(args), after, bounds.found)...).Scan(&places).Error
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
		if len(places) < bounds.found {
			return numbers, true, nil
		}
		if after = places[bounds.found-1].Place; after/rowsOfTask == last {
			after = (last+1)*rowsOfTask - 1
		}
	}
	return nil, false, nil
}
