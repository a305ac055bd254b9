package history

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"bellhop/internal/database"
	"bellhop/internal/filelock"
	"bellhop/protocol"
)

// Reasons why a session ended.
const (
	EndDeleted = "deleted" // by DELETE, with its history kept
	EndIdle    = "idle"    // no client was connected
	EndStopped = "stopped" // the server stopped
	EndCrashed = "crashed" // the process died
)

// sessionBytes is what a session counts towards Config.MaxBytes in addition to its lines.
const sessionBytes = 512

// Config configures a store. Dir is required.
type Config struct {
	Dir       string
	Retention time.Duration // ended sessions are deleted after it; 0 keeps them until MaxBytes
	MaxBytes  int64         // of all lines; the sessions that ended first are deleted; 0 is unbounded
	Now       func() time.Time
	Held      func() time.Time // by which sessions are deleted; nil = Now
	Log       *slog.Logger
}

// Session is a session whose history is stored.
type Session struct {
	ID        string
	Model     string
	TokenHash []byte
	CreatedAt time.Time
	EndedAt   time.Time // zero while it is open
	EndReason string
}

// Store is an open history. It is safe for concurrent use.
type Store struct {
	config Config
	db     *database.DB
	lock   *os.File
	size   atomic.Int64 // of all sessions, as Config.MaxBytes counts it
}

// Open opens <dir>/history.db and creates it if it is missing. Sessions that a dead process
// left open are ended, with their open turns. The caller closes the store.
func Open(ctx context.Context, config Config) (_ *Store, err error) {
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Held == nil {
		config.Held = config.Now
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	dir, err := filepath.Abs(config.Dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, unusable(config.Dir, err)
	}
	s := &Store{config: config}
	if s.lock, err = acquire(dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	path := filepath.Join(dir, fileName)
	if err := s.open(ctx, path); err != nil {
		if isDamage(err) {
			return nil, damaged(path, err)
		}
		return nil, err
	}
	return s, s.Prune(ctx)
}

func (s *Store) open(ctx context.Context, path string) (err error) {
	if err := checkHeader(path); err != nil {
		return err
	}
	if s.db, err = database.Open(ctx, "sqlite:"+path, database.Options{Logger: s.config.Log}); err != nil {
		return err
	}
	if err := s.prepare(ctx, path); err != nil {
		return err
	}
	var size int64
	if err := s.db.Conn(ctx).Raw("SELECT coalesce(sum(bytes), 0) FROM sessions").Scan(&size).Error; err != nil {
		return fault(err)
	}
	s.size.Store(size)
	return s.endCrashed(ctx)
}

// Close closes the file.
func (s *Store) Close() error {
	var err error
	if s.db != nil {
		err = s.db.Close()
	}
	return errors.Join(err, filelock.Release(s.lock))
}

// Begin stores a session without lines.
func (s *Store) Begin(ctx context.Context, one Session) error {
	return s.write(ctx, sessionBytes, func(tx *gorm.DB) error {
		return tx.Exec("INSERT INTO sessions (id, model, token_hash, created_at, bytes) VALUES (?, ?, ?, ?, ?)",
			one.ID, one.Model, one.TokenHash, one.CreatedAt.UnixMilli(), sessionBytes).Error
	})
}

// Append stores lines of a session; the first one has the number from. A line whose number is
// known is left alone, so that a caller may repeat the call. A deleted session is not found.
func (s *Store) Append(ctx context.Context, id string, from int, lines [][]byte) error {
	added := int64(0)
	for _, line := range lines {
		added += int64(len(line))
	}
	return s.write(ctx, added, func(tx *gorm.DB) error {
		updated := tx.Exec("UPDATE sessions SET bytes = bytes + ? WHERE id = ?", added, id)
		if updated.Error == nil && updated.RowsAffected == 0 {
			return gorm.ErrRecordNotFound
		}
		for i, line := range lines {
			if updated.Error == nil {
				updated.Error = tx.Exec("INSERT INTO lines (session_id, n, line) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
					id, from+i, string(line)).Error
			}
		}
		return updated.Error
	})
}

// End marks a session as ended; one without lines is deleted. It may be called again.
func (s *Store) End(ctx context.Context, id, reason string) error {
	err := s.write(ctx, 0, func(tx *gorm.DB) error {
		return tx.Exec(`UPDATE sessions SET ended_at = coalesce(ended_at, ?), end_reason = iif(end_reason = '', ?, end_reason)
			WHERE id = ?`, s.config.Now().UnixMilli(), reason, id).Error
	})
	if err != nil {
		return err
	}
	_, err = s.remove(ctx, "id = ? AND NOT EXISTS (SELECT 1 FROM lines WHERE session_id = sessions.id)", id)
	return err
}

// Delete deletes a session and its lines.
func (s *Store) Delete(ctx context.Context, id string) error {
	n, err := s.remove(ctx, "id = ?", id)
	if err == nil && n == 0 {
		return notFound()
	}
	return err
}

func notFound() error { return protocol.Errorf(protocol.CodeNotFound, "No such session") }

const columns = "SELECT id, model, token_hash, created_at, ended_at, end_reason FROM sessions "

type row struct {
	ID        string
	Model     string
	TokenHash []byte
	CreatedAt int64
	EndedAt   *int64
	EndReason string
}

func (r *row) session() Session {
	one := Session{
		ID: r.ID, Model: r.Model, TokenHash: r.TokenHash, CreatedAt: time.UnixMilli(r.CreatedAt).UTC(),
		EndReason: r.EndReason,
	}
	if r.EndedAt != nil {
		one.EndedAt = time.UnixMilli(*r.EndedAt).UTC()
	}
	return one
}

// Find returns a session, open or ended.
func (s *Store) Find(ctx context.Context, id string) (Session, error) {
	list, err := s.query(ctx, "WHERE id = ?", id)
	if err != nil {
		return Session{}, err
	}
	if len(list) == 0 {
		return Session{}, notFound()
	}
	return list[0], nil
}

// Ended returns ended sessions, the newest first: those older than the session before, or from
// the newest if that is "".
func (s *Store) Ended(ctx context.Context, before string, limit int) ([]Session, error) {
	return s.query(ctx, "WHERE ended_at IS NOT NULL AND (? = '' OR id < ?) ORDER BY id DESC LIMIT ?", before, before,
		limit)
}

func (s *Store) query(ctx context.Context, clause string, args ...any) ([]Session, error) {
	var rows []row
	if err := s.db.Conn(ctx).Raw(columns+clause, args...).Scan(&rows).Error; err != nil {
		return nil, fault(err)
	}
	list := make([]Session, 0, len(rows))
	for i := range rows {
		list = append(list, rows[i].session())
	}
	return list, nil
}

// Lines returns the lines of a session, in order.
func (s *Store) Lines(ctx context.Context, id string) ([]json.RawMessage, error) {
	lines := []string{}
	if err := s.db.Conn(ctx).Raw("SELECT line FROM lines WHERE session_id = ? ORDER BY n",
		id).Scan(&lines).Error; err != nil {
		return nil, fault(err)
	}
	raw := make([]json.RawMessage, len(lines))
	for i, line := range lines {
		raw[i] = json.RawMessage(line)
	}
	return raw, nil
}

// Retention returns how long ended sessions are kept; 0 is without a limit.
func (s *Store) Retention() time.Duration { return s.config.Retention }

// write runs fn in a transaction that adds so many bytes.
func (s *Store) write(ctx context.Context, added int64, fn func(tx *gorm.DB) error) error {
	err := s.db.Write(ctx, func(ctx context.Context) error { return fault(fn(s.db.Conn(ctx))) })
	if err == nil {
		s.size.Add(added)
	}
	return err
}
