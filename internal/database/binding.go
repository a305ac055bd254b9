package database

import (
	"context"
	"database/sql"
	"time"

	"gorm.io/gorm"
)

// bindingPool binds values so that SQLite stores what PostgreSQL would store.
// Times are converted to UTC: SQLite compares them as text, so a time with
// another offset would be ordered wrongly. Nil bytes become NULL; the driver
// would store an empty blob.
type bindingPool struct{ *sql.DB }

type bindingTx struct{ *sql.Tx }

var (
	_ gorm.ConnPoolBeginner = (*bindingPool)(nil)
	_ gorm.GetDBConnector   = (*bindingPool)(nil)
	_ gorm.TxCommitter      = (*bindingTx)(nil)
)

func (p *bindingPool) GetDBConn() (*sql.DB, error) { return p.DB, nil }

func (p *bindingPool) BeginTx(ctx context.Context, opts *sql.TxOptions) (gorm.ConnPool, error) {
	tx, err := p.DB.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	return &bindingTx{tx}, nil
}

func (p *bindingPool) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return p.DB.ExecContext(ctx, query, normalize(args)...)
}

func (p *bindingPool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return p.DB.QueryContext(ctx, query, normalize(args)...)
}

func (p *bindingPool) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return p.DB.QueryRowContext(ctx, query, normalize(args)...)
}

func (t *bindingTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return t.Tx.ExecContext(ctx, query, normalize(args)...)
}

func (t *bindingTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return t.Tx.QueryContext(ctx, query, normalize(args)...)
}

func (t *bindingTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return t.Tx.QueryRowContext(ctx, query, normalize(args)...)
}

// normalize changes args in place: gorm builds them for one call.
func normalize(args []any) []any {
	for i, arg := range args {
		switch v := arg.(type) {
		case time.Time:
			args[i] = v.UTC()
		case *time.Time:
			if v != nil {
				args[i] = v.UTC()
			}
		case []byte:
			if v == nil {
				args[i] = nil
			}
		case sql.NullTime:
			args[i] = sql.NullTime{Time: v.Time.UTC(), Valid: v.Valid}
		case gorm.DeletedAt:
			args[i] = sql.NullTime{Time: v.Time.UTC(), Valid: v.Valid}
		}
	}
	return args
}
