package archive

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"strings"
	"time"

	"bellhop/internal/database"
	"bellhop/protocol"
)

// User is an account whose rows an archive holds.
type User struct{ ID, Email string }

// Options describe the installation.
type Options struct {
	DB      *database.DB
	Schema  int64 // the newest migration
	Version string
	Now     time.Time
}

// Counts say how much an archive holds.
type Counts struct{ Users, Tasks, Sources, Rows int }

// Export writes the tasks and notebooks of users as they are at one moment. CodeConflict: a turn of one
// of the tasks is open.
func Export(ctx context.Context, o Options, users []User, w io.Writer) (Counts, error) {
	var counts Counts
	out := newWriter(w)
	err := o.DB.Read(ctx, func(ctx context.Context) error {
		if err := mayExport(ctx, o.DB, users); err != nil {
			return err
		}
		head := &header{Format: format, Schema: o.Schema, Version: o.Version, At: o.Now.UTC()}
		if err := out.write(&line{Archive: head}); err != nil {
			return err
		}
		for _, user := range users {
			counts.Users++
			if err := out.write(&line{User: user.Email}); err != nil {
				return err
			}
			e := exporter{o.DB, out, &counts}
			if err := e.relations(ctx, ofUsers, map[string]any{"id": user.ID}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return counts, err
	}
	return counts, out.close()
}

func mayExport(ctx context.Context, db *database.DB, users []User) error {
	for _, user := range users {
		var open int
		err := db.Conn(ctx).Raw(`SELECT count(*) FROM turns n JOIN tasks t ON t.id = n.task_id
			WHERE t.user_id = ? AND t.deleted_at IS NULL AND n.state <> 'closed'`, user.ID).Row().Scan(&open)
		if err != nil {
			return database.Fault(err, "Turns of user", user.ID)
		}
		if open > 0 {
			return &protocol.Error{
				Code:    protocol.CodeConflict,
				Message: fmt.Sprintf("%d turns of %s are open: their ends would not be in the archive", open, user.Email),
				Hint:    "Wait until the agents are idle, or stop them",
			}
		}
	}
	return nil
}

type exporter struct {
	db     *database.DB
	out    *writer
	counts *Counts
}

// relations writes the rows that belong to a row, whose columns owner has.
func (e exporter) relations(ctx context.Context, relations []*relation, owner map[string]any) error {
	for _, r := range relations {
		if err := e.relation(ctx, r, owner[r.key]); err != nil {
			return fmt.Errorf("%s: %w", r.table, err)
		}
	}
	return nil
}

func (e exporter) relation(ctx context.Context, r *relation, owner any) error {
	query := "SELECT * FROM " + r.table + " WHERE " + r.owner + " = ?"
	if r.where != "" {
		query += " AND " + r.where
	}
	rows, err := e.db.Conn(ctx).Raw(query+" ORDER BY "+r.order, owner).Rows()
	if err != nil {
		return database.Fault(err, r.table, owner)
	}
	// The rows of a part are read when those of r are: a transaction has one connection.
	var owners []map[string]any
	err = eachRow(rows, func(row map[string]any) error {
		if len(r.parts) > 0 {
			owners = append(owners, row)
			return nil
		}
		return e.row(r, row)
	})
	if err != nil {
		return database.Fault(err, r.table, owner)
	}
	for _, row := range owners {
		if err := e.row(r, row); err != nil {
			return err
		}
		if err := e.relations(ctx, r.parts, row); err != nil {
			return err
		}
	}
	return nil
}

func (e exporter) row(r *relation, row map[string]any) error {
	e.counts.add(r)
	kept := map[string]any{}
	for column, value := range row {
		if !r.isAbsent(column) {
			kept[column] = value
		}
	}
	return e.out.write(&line{Table: r.table, Row: kept})
}

func (c *Counts) add(r *relation) {
	c.Rows++
	switch r.table {
	case "tasks":
		c.Tasks++
	case "sources":
		c.Sources++
	}
}

// eachRow calls use with the columns of each row, and closes rows.
func eachRow(rows *sql.Rows, use func(row map[string]any) error) error {
	defer func() { _ = rows.Close() }()
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	names, kinds := make([]string, len(types)), make([]kind, len(types))
	values, targets := make([]any, len(types)), make([]any, len(types))
	for i, t := range types {
		names[i], kinds[i], targets[i] = t.Name(), kindOf(t), &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		row := make(map[string]any, len(types))
		for i, name := range names {
			if row[name], err = portable(kinds[i], values[i]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		if err := use(row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// kind is the type of a column on both databases.
type kind string

const (
	text    kind = "text"
	integer kind = "integer"
	boolean kind = "boolean"
	instant kind = "time"
	binary  kind = "bytes"
)

func kindOf(t *sql.ColumnType) kind {
	name := strings.ToLower(t.DatabaseTypeName())
	switch {
	case strings.HasPrefix(name, "timestamp"):
		return instant
	case strings.HasPrefix(name, "bool"):
		return boolean
	case strings.HasPrefix(name, "int"), name == "bigint":
		return integer
	case name == "bytea", name == "blob":
		return binary
	default:
		return text
	}
}

// portable returns a value as it stands in an archive.
func portable(k kind, value any) (any, error) {
	switch v := value.(type) {
	case nil, bool, string:
		return v, nil
	case []byte:
		if k == text {
			return string(v), nil
		}
		return v, nil
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano), nil
	case int64:
		if k == boolean {
			return v != 0, nil
		}
		return v, nil
	}
	return nil, fmt.Errorf("a %s is a %T", k, value)
}
