package store

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"bellhop/internal/database"
	"bellhop/protocol"
)

// Rows of an archive lack their words. Index adds them, a step at a time, each in its own transaction. Until
// then a search does not find these rows.

const (
	indexRows  = 200              // of one step
	indexPause = 10 * time.Second // between two looks for rows without words
)

// Index adds the words of rows that lack them until ctx ends. It works at most half of the time, so that
// requests find a free database.
func (s *Store) Index(ctx context.Context, log *slog.Logger) error {
	announced := false
	for ctx.Err() == nil {
		start := time.Now()
		more, err := s.IndexStep(ctx)
		wait := time.Since(start)
		switch {
		case err != nil && ctx.Err() == nil:
			log.WarnContext(ctx, "words of imported rows not added", "error", err)
			wait = indexPause
		case more && !announced:
			announced = true
			log.InfoContext(ctx,
				"the words of imported titles and messages are being added to the search; this broker serves meanwhile")
		case !more && announced:
			announced = false
			log.InfoContext(ctx, "the search has the words of all titles and messages")
			wait = indexPause
		case !more:
			wait = indexPause
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	return nil
}

// IndexStep adds the words of a bounded number of titles and messages. It reports whether there may be
// more.
func (s *Store) IndexStep(ctx context.Context) (more bool, err error) {
	err = s.db.Write(ctx, func(ctx context.Context) error {
		titles, err := s.indexTitles(ctx)
		if err != nil {
			return err
		}
		messages, err := s.indexMessages(ctx)
		more = titles == indexRows || messages == indexRows
		return err
	})
	return more, err
}

// unlocked leaves out rows that another transaction has locked: waiting for them could deadlock.
func (s *Store) unlocked(table string) string {
	return s.lock("FOR NO KEY UPDATE OF " + table + " SKIP LOCKED")
}

func (s *Store) indexTitles(ctx context.Context) (int, error) {
	var rows []struct {
		No            int64
		UserID, Title string
	}
	err := s.conn(ctx).Raw(`SELECT no, user_id, title FROM tasks WHERE words IS NULL
		ORDER BY no LIMIT ?`+s.unlocked("tasks"), indexRows).Scan(&rows).Error
	if err != nil {
		return 0, database.Fault(err, "Titles", "")
	}
	for _, r := range rows {
		_, err := s.db.Exec(ctx, "Title", r.No, `UPDATE tasks SET words = ? WHERE no = ?`, wordsOf(r.UserID, r.Title), r.No)
		if err != nil {
			return 0, err
		}
	}
	return len(rows), nil
}

func (s *Store) indexMessages(ctx context.Context) (int, error) {
	var rows []struct {
		TaskNo, Seq   int64
		UserID, Type  string
		Body, Message *string
	}
	err := s.conn(ctx).Raw(`SELECT l.task_no, l.seq, t.user_id, l.type, l.body, l.message
		FROM log l JOIN tasks t ON t.no = l.task_no WHERE l.words IS NULL AND l.seq IS NOT NULL
		ORDER BY l.task_no, l.seq LIMIT ?`+s.unlocked("l"), indexRows).Scan(&rows).Error
	if err != nil {
		return 0, database.Fault(err, "Messages", "")
	}
	for _, r := range rows {
		text := ""
		switch {
		case r.Type == string(protocol.EventText) && r.Body != nil:
			var event struct{ Text string }
			if json.Unmarshal([]byte(*r.Body), &event) == nil { // one that cannot be read has no words
				text = event.Text
			}
		case r.Message != nil:
			text = *r.Message
		}
		_, err := s.db.Exec(ctx, "Message", r.Seq, `UPDATE log SET words = ? WHERE task_no = ? AND seq = ?`,
			wordsOf(r.UserID, text), r.TaskNo, r.Seq)
		if err != nil {
			return 0, err
		}
	}
	return len(rows), nil
}
