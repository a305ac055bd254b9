package database

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5/pgtype"
	"gorm.io/gorm"

	"bellhop/internal/table"
)

// Exec runs one statement in the transaction in ctx, or in one of its own, and
// returns the number of changed rows. what and id describe the row in errors.
func (d *DB) Exec(ctx context.Context, what string, id any, sql string, args ...any) (int64, error) {
	var rows int64
	err := d.Write(ctx, func(ctx context.Context) error {
		result := d.Conn(ctx).Exec(sql, args...)
		rows = result.RowsAffected
		return Fault(result.Error, what, id)
	})
	return rows, err
}

// ExecOne runs Exec for a row that must exist: CodeNotFound when no row changed.
func (d *DB) ExecOne(ctx context.Context, what string, id any, sql string, args ...any) error {
	rows, err := d.Exec(ctx, what, id, sql, args...)
	if err == nil && rows == 0 {
		return Fault(gorm.ErrRecordNotFound, what, id)
	}
	return err
}

// Run runs Exec with a statement of a table.
func (d *DB) Run(ctx context.Context, what string, id any, st table.Statement) error {
	_, err := d.Exec(ctx, what, id, st.SQL, st.Args...)
	return err
}

// RunOne runs ExecOne with a statement of a table.
func (d *DB) RunOne(ctx context.Context, what string, id any, st table.Statement) error {
	return d.ExecOne(ctx, what, id, st.SQL, st.Args...)
}

// Find reads rows of t; rest is the part after FROM and the table's name.
func Find[R any](
	ctx context.Context, d *DB, t *table.Table[R], what string, id any, rest string, args ...any,
) ([]R, error) {
	return Query(ctx, d, t, what, id, t.Select(rest), args...)
}

// Query does what Find does for a complete statement whose columns are those of t.
func Query[R any](
	ctx context.Context, d *DB, t *table.Table[R], what string, id any, sql string, args ...any,
) ([]R, error) {
	rows, err := d.Conn(ctx).Raw(sql, args...).Rows()
	if err != nil {
		return nil, Fault(err, what, id)
	}
	all, err := t.Read(rows)
	return all, Fault(err, what, id)
}

// FindOne returns the first row that Find finds: CodeNotFound when there is none.
func FindOne[R any](
	ctx context.Context, d *DB, t *table.Table[R], what string, id any, rest string, args ...any,
) (*R, error) {
	all, err := Find(ctx, d, t, what, id, rest, args...)
	if err == nil && len(all) == 0 {
		err = Fault(gorm.ErrRecordNotFound, what, id)
	}
	if err != nil {
		return nil, err
	}
	return &all[0], nil
}

// In is a condition that a column has one of the values of its only parameter, which Texts
// makes. The text is the same for any number of values, so that the statement stays
// prepared.
func (d *DB) In(column string) string {
	if d.dialect == Postgres {
		return column + " = ANY(?::text[])"
	}
	return column + " IN (SELECT value FROM json_each(?))"
}

// Texts is the argument of In.
func (d *DB) Texts(values []string) any {
	if d.dialect == Postgres {
		rows := make([]*string, len(values))
		for i := range values {
			rows[i] = &values[i]
		}
		return &columnArray[string]{value: func(s *string) any { return *s }, rows: rows}
	}
	encoded, err := json.Marshal(append([]string{}, values...)) // nil would be null, a list with one NULL
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return string(encoded)
}

// AppendArrays appends one array per column for table.Unnest. The values are
// read while PostgreSQL's driver encodes the statement, so rows must not change
// before it has run.
func AppendArrays[R any](args []any, columns []table.Column[R], rows []*R) []any {
	for i := range columns {
		args = append(args, &columnArray[R]{value: columns[i].Value, rows: rows})
	}
	return args
}

// columnArray is the array of one column of rows.
type columnArray[R any] struct {
	value func(*R) any
	rows  []*R
}

var _ pgtype.ArrayGetter = (*columnArray[int])(nil)

func (a *columnArray[R]) Dimensions() []pgtype.ArrayDimension {
	return []pgtype.ArrayDimension{{Length: int32(len(a.rows)), LowerBound: 1}}
}

func (a *columnArray[R]) Index(i int) any { return a.value(a.rows[i]) }

// IndexType returns nil, which makes the driver inspect each element.
func (a *columnArray[R]) IndexType() any { return nil }
