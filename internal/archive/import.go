package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"bellhop/crypto/seal"
	"bellhop/crypto/token"
	"bellhop/internal/database"
	"bellhop/protocol"
)

// Target is the installation that an archive is read into.
type Target struct {
	Options
	Sealer *seal.Sealer
	Users  func(ctx context.Context, email string) (id string, err error) // of accounts; CodeNotFound
	HostID string                                                         // of the tasks; "" = none yet
}

// Import reads an archive in one transaction: either all of its rows are stored, or none. CodeInvalid:
// it is damaged, foreign or of another version. CodeNotFound: a user has no account. CodeConflict: a
// task, a source, or notebooks of the same agent are there already.
func Import(ctx context.Context, to Target, file io.ReadSeeker) (Counts, error) {
	// The whole file is checked before anything is written.
	if err := read(file, to.Schema, func(int, *line) error { return nil }); err != nil {
		return Counts{}, err
	}
	var counts Counts
	err := to.DB.Write(ctx, func(ctx context.Context) error {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		im := importer{Target: to, columns: map[string]map[string]kind{}}
		if err := read(file, to.Schema, func(number int, l *line) error { return im.line(ctx, number, l) }); err != nil {
			return err
		}
		counts = im.counts // Write may call this function again
		return nil
	})
	return counts, err
}

type importer struct {
	Target
	columns map[string]map[string]kind // by table
	counts  Counts

	// The present place in the file.
	user   map[string]any
	above  map[string]any // the row whose parts follow
	within *relation      // of that row
}

func (im *importer) line(ctx context.Context, number int, l *line) error {
	if l.User != "" {
		id, err := im.Users(ctx, l.User)
		if err != nil {
			return err
		}
		im.counts.Users++
		im.user, im.within = map[string]any{"id": id}, nil
		return nil
	}
	r, owner := im.place(l.Table)
	if r == nil || owner == nil {
		return damaged(number, fmt.Errorf("no row of a table %q may stand here", l.Table))
	}
	columns, err := im.columnsOf(ctx, r.table)
	if err != nil {
		return err
	}
	row, err := im.complete(r, columns, owner[r.key], l.Row)
	if err != nil {
		return damaged(number, err)
	}
	if err := im.insert(ctx, r, row); err != nil {
		return err
	}
	im.counts.add(r)
	if len(r.parts) == 0 {
		return nil
	}
	im.above, im.within = row, r
	if r.absent["no"] == byDatabase {
		var no int64
		err := im.DB.Conn(ctx).Raw(`SELECT no FROM `+r.table+` WHERE id = ?`, row["id"]).Row().Scan(&no)
		row["no"] = no
		return database.Fault(err, r.table, row["id"])
	}
	return nil
}

// place returns the relation of a row, and the row that it belongs to.
func (im *importer) place(table string) (*relation, map[string]any) {
	named := func(r *relation) bool { return r.table == table }
	if im.within != nil {
		if i := slices.IndexFunc(im.within.parts, named); i >= 0 {
			return im.within.parts[i], im.above
		}
	}
	if i := slices.IndexFunc(ofUsers, named); i >= 0 {
		return ofUsers[i], im.user
	}
	return nil, nil
}

// complete returns the row as it is to be stored. It must have exactly the columns that archives have.
func (im *importer) complete(
	r *relation, columns map[string]kind, owner any, archived map[string]any,
) (row map[string]any, err error) {
	row = map[string]any{r.owner: owner}
	for name, k := range columns {
		if r.isAbsent(name) {
			continue
		}
		value, ok := archived[name]
		if !ok {
			return nil, fmt.Errorf("%s lacks the column %s", r.table, name)
		}
		if row[name], err = stored(k, value); err != nil {
			return nil, fmt.Errorf("%s.%s: %w", r.table, name, err)
		}
	}
	for name := range archived {
		if _, known := columns[name]; !known || r.isAbsent(name) {
			return nil, fmt.Errorf("%s has no column %s", r.table, name)
		}
	}
	for name, value := range r.absent {
		if value == byDatabase {
			continue
		}
		if row[name], err = im.make(r, name, row, value); err != nil {
			return nil, err
		}
	}
	return row, nil
}

// make returns the value of a column that archives lack. row has the others.
func (im *importer) make(r *relation, column string, row map[string]any, value any) (any, error) {
	switch value {
	case hostOrNull:
		if im.HostID == "" {
			return nil, nil
		}
		return im.HostID, nil
	case secret:
		id, ok := row["id"].(string)
		if !ok {
			return nil, errors.New("the row has no id")
		}
		return im.Sealer.Seal(r.table, column, id, []byte(token.NewSecretHex()))
	case pausedQueue:
		if row["queued"] != int64(0) {
			return string(protocol.PauseStopped), nil
		}
		return "", nil
	}
	return value, nil
}

func (im *importer) insert(ctx context.Context, r *relation, row map[string]any) error {
	names := slices.Sorted(maps.Keys(row))
	args := make([]any, len(names))
	for i, name := range names {
		args[i] = row[name]
	}
	_, err := im.DB.Exec(ctx, r.table, row["id"], fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)",
		r.table, strings.Join(names, ", "), strings.TrimSuffix(strings.Repeat("?, ", len(names)), ", ")), args...)
	if protocol.CodeOf(err) == protocol.CodeConflict {
		return &protocol.Error{
			Code: protocol.CodeConflict, Message: fmt.Sprintf("A row of %s is here already (id %v)", r.table, row["id"]),
			Hint: "An archive is imported once; nothing was imported now",
		}
	}
	return err
}

// columnsOf returns the columns of a table with their kinds.
func (im *importer) columnsOf(ctx context.Context, table string) (map[string]kind, error) {
	if columns, known := im.columns[table]; known {
		return columns, nil
	}
	rows, err := im.DB.Conn(ctx).Raw(`SELECT * FROM ` + table + ` LIMIT 0`).Rows()
	if err != nil {
		return nil, database.Fault(err, table, "")
	}
	defer func() { _ = rows.Close() }()
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	columns := map[string]kind{}
	for _, t := range types {
		columns[t.Name()] = kindOf(t)
	}
	im.columns[table] = columns
	return columns, rows.Err()
}

// stored returns the value of an archive as the database takes it.
func stored(k kind, value any) (any, error) {
	if value == nil {
		return nil, nil
	}
	switch v := value.(type) {
	case string:
		switch k {
		case text:
			return v, nil
		case instant:
			t, err := time.Parse(time.RFC3339Nano, v)
			return t.UTC(), err
		}
	case bool:
		if k == boolean {
			return v, nil
		}
	case json.Number:
		if k == integer {
			return v.Int64()
		}
	}
	return nil, fmt.Errorf("%v is no %s", value, k)
}
