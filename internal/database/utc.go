package database

import (
	"context"
	"database/sql"
	"time"

	"gorm.io/gorm"
)

// utcPool binds every time in UTC. SQLite compares times as text, so one with
// another offset would be stored right and ordered wrong.
type utcPool struct{ *sql.DB }

type utcTx struct{ *sql.Tx }

var (
	_ gorm.ConnPoolBeginner = (*utcPool)(nil)
	_ gorm.GetDBConnector   = (*utcPool)(nil)
	_ gorm.TxCommitter      = (*utcTx)(nil)
)

func (p *utcPool) GetDBConn() (*sql.DB, error) { return p.DB, nil }

func (p *utcPool) BeginTx(ctx context.Context, opts *sql.TxOptions) (gorm.ConnPool, error) {
	tx, err := p.DB.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	return &utcTx{tx}, nil
}

func (p *utcPool) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return p.DB.ExecContext(ctx, query, inUTC(args)...)
}

func (p *utcPool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return p.DB.QueryContext(ctx, query, inUTC(args)...)
}

func (p *utcPool) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return p.DB.QueryRowContext(ctx, query, inUTC(args)...)
}

func (t *utcTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return t.Tx.ExecContext(ctx, query, inUTC(args)...)
}

func (t *utcTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return t.Tx.QueryContext(ctx, query, inUTC(args)...)
}

func (t *utcTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return t.Tx.QueryRowContext(ctx, query, inUTC(args)...)
}

// inUTC works in place: gorm builds args for one call.
func inUTC(args []any) []any {
	for i, arg := range args {
		switch v := arg.(type) {
		case time.Time:
			args[i] = v.UTC()
		case *time.Time:
			if v != nil {
				args[i] = v.UTC()
			}
		case sql.NullTime:
			args[i] = sql.NullTime{Time: v.Time.UTC(), Valid: v.Valid}
		case gorm.DeletedAt:
			args[i] = sql.NullTime{Time: v.Time.UTC(), Valid: v.Valid}
		}
	}
	return args
}
