package database

import (
	"context"
	"log/slog"
	"time"

	"gorm.io/gorm/logger"
)

const slow = time.Second

// queryLogger logs slow statements without their parameters. Errors are returned
// to the caller, which logs them once.
type queryLogger struct{ log *slog.Logger }

var _ logger.Interface = (*queryLogger)(nil)

func (l *queryLogger) LogMode(logger.LogLevel) logger.Interface { return l }

// The data of these three functions may contain values of the query, so it is not
// logged.

func (l *queryLogger) Info(ctx context.Context, msg string, _ ...any) {
	l.log.DebugContext(ctx, "gorm", "message", msg)
}

func (l *queryLogger) Warn(ctx context.Context, msg string, _ ...any) {
	l.log.WarnContext(ctx, "gorm", "message", msg)
}

func (l *queryLogger) Error(ctx context.Context, msg string, _ ...any) {
	l.log.ErrorContext(ctx, "gorm", "message", msg)
}

func (l *queryLogger) Trace(ctx context.Context, begin time.Time, query func() (string, int64), _ error) {
	elapsed := time.Since(begin)
	if elapsed < slow {
		return
	}
	sql, rows := query()
	l.log.WarnContext(ctx, "slow query", "sql", sql, "rows", rows, "duration", elapsed)
}

// ParamsFilter keeps the placeholders in the logged statement.
func (l *queryLogger) ParamsFilter(_ context.Context, sql string, _ ...any) (string, []any) {
	return sql, nil
}
