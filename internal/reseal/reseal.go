// Package reseal seals the secrets of a database again, with the present key of the keyset.
//
//	page of rows ──► open with any key ──► seal with the primary key ──► UPDATE … WHERE the value is the same
//
// A value names its key, so no state is kept: a run that was interrupted starts again and finds the
// values that remain. Programs that read or change secrets meanwhile are not disturbed: a value that
// changed since it was read is left to the next look.
//
// It does not know which columns are sealed.
package reseal

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"bellhop/crypto/seal"
	"bellhop/internal/database"
	"bellhop/internal/failpoint"
)

// Column is a column with sealed values.
type Column struct {
	Table, Name string
	Key         string // the column that names the row in the seal
	Row         string // only this row of the table, "" for all
	Base64      bool   // the value is text: base64 of the sealed bytes
}

func (c *Column) String() string { return c.Table + "." + c.Name }

// Progress is how far a run is.
type Progress struct {
	Column Column
	Done   int // values of the column that were sealed again
	Total  int // values of the column that another key sealed when the run began
}

// Failure is a value that cannot be opened. It stays as it is.
type Failure struct {
	Column Column
	Row    string
	Err    error
}

func (f *Failure) Error() string { return fmt.Sprintf("%s of %s: %v", &f.Column, f.Row, f.Err) }

// Run seals all values of columns with the primary key of sealer. report is called for each page. It
// returns the values that cannot be opened.
func Run(
	ctx context.Context, db *database.DB, sealer *seal.Sealer, columns []Column, report func(Progress),
) ([]Failure, error) {
	var failures []Failure
	for _, column := range columns {
		failed, err := (&run{db, sealer, column, report}).column(ctx)
		failures = append(failures, failed...)
		if err != nil {
			return failures, fmt.Errorf("%s: %w", &column, err)
		}
	}
	return failures, nil
}

// Left counts the values of columns that another key than the primary one sealed.
func Left(ctx context.Context, db *database.DB, sealer *seal.Sealer, columns []Column) (int, error) {
	left := 0
	for _, column := range columns {
		n, err := (&run{db: db, sealer: sealer, of: column}).count(ctx)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", &column, err)
		}
		left += n
	}
	return left, nil
}

const pageRows = 200

// run is the work on one column.
type run struct {
	db     *database.DB
	sealer *seal.Sealer
	of     Column
	report func(Progress)
}

type row struct {
	id    string
	value []byte // as stored
}

func (r *run) column(ctx context.Context) ([]Failure, error) {
	total, err := r.count(ctx)
	if err != nil || total == 0 {
		return nil, err
	}
	var failures []Failure
	done, after := 0, ""
	for {
		page, err := r.page(ctx, after)
		if err != nil || len(page) == 0 {
			return failures, err
		}
		after = page[len(page)-1].id
		var failed []Failure
		sealed := 0
		err = r.db.Write(ctx, func(ctx context.Context) error {
			sealed, failed = 0, nil // Write may call it again
			for i := range page {
				ok, err := r.reseal(ctx, &page[i])
				var failure *Failure
				switch {
				case errors.As(err, &failure):
					failed = append(failed, *failure)
				case err != nil:
					return err
				case ok:
					sealed++
				}
			}
			return nil
		})
		if err != nil {
			return failures, err
		}
		failures = append(failures, failed...)
		done += sealed
		r.report(Progress{Column: r.of, Done: done, Total: total})
		failpoint.Hit("reseal-page")
	}
}

// reseal seals a value again. It returns false if the value has changed since it was read.
func (r *run) reseal(ctx context.Context, old *row) (bool, error) {
	raw, err := r.decode(old.value)
	if err != nil {
		return false, &Failure{r.of, old.id, err}
	}
	plain, err := r.sealer.Open(r.of.Table, r.of.Name, old.id, raw)
	if err != nil {
		return false, &Failure{r.of, old.id, err}
	}
	sealed, err := r.sealer.Seal(r.of.Table, r.of.Name, old.id, plain)
	if err != nil {
		return false, err
	}
	c := &r.of
	n, err := r.db.Exec(ctx, c.Table, old.id,
		`UPDATE `+c.Table+` SET `+c.Name+` = ? WHERE `+c.Key+` = ? AND `+c.Name+` = ?`, r.encode(sealed),
		old.id, r.stored(old.value))
	return n == 1, err
}

func (r *run) decode(stored []byte) ([]byte, error) {
	if !r.of.Base64 {
		return stored, nil
	}
	return base64.StdEncoding.DecodeString(string(stored))
}

func (r *run) encode(sealed []byte) any {
	if !r.of.Base64 {
		return sealed
	}
	return base64.StdEncoding.EncodeToString(sealed)
}

func (r *run) stored(value []byte) any {
	if r.of.Base64 {
		return string(value)
	}
	return value
}

// others is the condition for values that another key sealed. A text is compared as a whole by page,
// because base64 does not end a character at the end of the key's name.
func (r *run) others() (string, []any) {
	c := &r.of
	where, args := c.Name+` IS NOT NULL`, []any(nil)
	if !c.Base64 {
		where, args = where+` AND substr(`+c.Name+`, 1, ?) <> ?`, []any{len(r.sealer.Prefix()), r.sealer.Prefix()}
	}
	if c.Row != "" {
		where, args = where+` AND `+c.Key+` = ?`, append(args, c.Row)
	}
	return where, args
}

func (r *run) count(ctx context.Context) (int, error) {
	if r.of.Base64 { // one row, see others
		page, err := r.page(ctx, "")
		return len(page), err
	}
	where, args := r.others()
	n := 0
	err := r.db.Conn(ctx).Raw(`SELECT count(*) FROM `+r.of.Table+` WHERE `+where, args...).Row().Scan(&n)
	return n, database.Fault(err, r.of.Table, "")
}

func (r *run) page(ctx context.Context, after string) ([]row, error) {
	where, args := r.others()
	c := &r.of
	rows, err := r.db.Conn(ctx).Raw(`SELECT `+c.Key+`, `+c.Name+` FROM `+c.Table+` WHERE `+where+` AND `+c.Key+
		` > ? ORDER BY `+
		c.Key+` LIMIT ?`, append(args, after, pageRows)...).Rows()
	if err != nil {
		return nil, database.Fault(err, c.Table, "")
	}
	defer rows.Close()
	var page []row
	for rows.Next() {
		var next row
		if err := rows.Scan(&next.id, &next.value); err != nil {
			return nil, database.Fault(err, c.Table, "")
		}
		if raw, err := r.decode(next.value); err == nil && r.sealer.Primary(raw) {
			continue
		}
		page = append(page, next)
	}
	return page, database.Fault(rows.Err(), c.Table, "")
}
