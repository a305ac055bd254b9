package table

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Table is a table whose rows are Rs.
type Table[R any] struct {
	Name    string
	Columns []Column[R]

	once  sync.Once
	built texts[R] // at the first use: most processes run no statement, and a package has hundreds of columns
}

// texts are the statements of a table, and their parts.
type texts[R any] struct {
	names        string
	placeholders string // of the values of one row
	row          string
	insert       string // up to the rows
	onConflict   string
	update       string
	updated      []Column[R] // the parameters of update
	insertOne    string
	upsertOne    string
}

// New returns a table. A name may also be a join, and the name of a column any expression, where rows are only read.
func New[R any](name string, columns ...Column[R]) *Table[R] {
	return &Table[R]{Name: name, Columns: columns}
}

func (t *Table[R]) texts() *texts[R] {
	t.once.Do(func() { t.built = build(t.Name, t.Columns) })
	return &t.built
}

func build[R any](name string, columns []Column[R]) texts[R] {
	t := texts[R]{names: Names("", columns)}
	t.placeholders = strings.TrimSuffix(strings.Repeat("?,", len(columns)), ",")
	t.row = "( " + t.placeholders + ")" // gorm expands bytes right after a "("
	t.insert = "INSERT INTO " + name + " (" + t.names + ") VALUES "
	var keys, changing []Column[R]
	for _, c := range columns {
		switch {
		case c.key:
			keys = append(keys, c)
		case !c.fixed:
			changing = append(changing, c)
		}
	}
	t.onConflict = " ON CONFLICT (" + Names("", keys) + ") DO UPDATE SET " + Assignments("excluded", changing)
	t.update = "UPDATE " + name + " SET " + Settings(changing) +
		" WHERE " + each(keys, " AND ", func(c string) string { return c + " = ?" })
	t.updated = slices.Concat(changing, keys)
	t.insertOne = t.insert + t.row
	t.upsertOne = t.insertOne + t.onConflict
	return t
}

// Placeholders are those of the values of one row.
func (t *Table[R]) Placeholders() string { return t.texts().placeholders }

// InsertOne takes the values of one row, as AppendValues gives them.
func (t *Table[R]) InsertOne() string { return t.texts().insertOne }

// UpsertOne is InsertOne that overwrites, as Upsert does.
func (t *Table[R]) UpsertOne() string { return t.texts().upsertOne }

// Statement is SQL and the values of its placeholders.
type Statement struct {
	SQL  string
	Args []any
}

// Insert adds rows; without rows, the statement is empty.
func (t *Table[R]) Insert(rows ...R) Statement { return t.write(rows, "") }

// Upsert is Insert that overwrites the rows whose key exists, except for their
// fixed columns.
func (t *Table[R]) Upsert(rows ...R) Statement { return t.write(rows, t.texts().onConflict) }

func (t *Table[R]) write(rows []R, suffix string) Statement {
	if len(rows) == 0 {
		return Statement{}
	}
	args := make([]any, 0, len(rows)*len(t.Columns))
	for i := range rows {
		args = t.AppendValues(args, &rows[i])
	}
	text := t.texts()
	return Statement{SQL: text.insert + text.row + strings.Repeat(","+text.row, len(rows)-1) + suffix, Args: args}
}

// Update writes the columns that are neither key nor fixed to the row that has
// r's key.
func (t *Table[R]) Update(r *R) Statement {
	text := t.texts()
	return Statement{SQL: text.update, Args: AppendValuesOf(make([]any, 0, len(text.updated)), text.updated, r)}
}

// Select reads all columns; rest is the part after FROM and the table's name.
func (t *Table[R]) Select(rest string) string {
	return "SELECT " + t.texts().names + " FROM " + t.Name + " " + rest
}

// AppendValues appends what r writes, column by column.
func (t *Table[R]) AppendValues(args []any, r *R) []any { return AppendValuesOf(args, t.Columns, r) }

// AppendValuesOf appends what r writes to columns.
func AppendValuesOf[R any](args []any, columns []Column[R], r *R) []any {
	for i := range columns {
		args = append(args, columns[i].Value(r))
	}
	return args
}

// Read returns the result of a Select and closes rows.
func (t *Table[R]) Read(rows *sql.Rows) (all []R, err error) {
	err = t.ReadInto(rows, func() *R {
		all = append(all, *new(R))
		return &all[len(all)-1]
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// ReadInto reads every row of a Select into the place that next returns for it, and
// closes rows.
func (t *Table[R]) ReadInto(rows *sql.Rows, next func() *R) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	targets := make([]any, len(t.Columns))
	for rows.Next() {
		place := next()
		for i := range t.Columns {
			targets[i] = t.Columns[i].Target(place)
		}
		if err := rows.Scan(targets...); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Pick returns the columns of these names. It panics for a name that t does not
// have, as it is called while the program starts.
func (t *Table[R]) Pick(names ...string) []Column[R] {
	picked := make([]Column[R], len(names))
	for i, name := range names {
		at := slices.IndexFunc(t.Columns, func(c Column[R]) bool { return c.Name == name })
		if at < 0 {
			panic(fmt.Sprintf("table %s has no column %s", t.Name, name))
		}
		picked[i] = t.Columns[at]
	}
	return picked
}

// Without returns the columns but for those of these names.
func (t *Table[R]) Without(names ...string) []Column[R] {
	return slices.DeleteFunc(slices.Clone(t.Columns), func(c Column[R]) bool { return slices.Contains(names, c.Name) })
}

// Qualified returns the columns with "name." before theirs, for joins.
func (t *Table[R]) Qualified() []Column[R] {
	columns := slices.Clone(t.Columns)
	for i := range columns {
		columns[i].Name = t.Name + "." + columns[i].Name
	}
	return columns
}

// Names lists the columns for SELECT and INSERT, with prefix before each.
func Names[R any](prefix string, columns []Column[R]) string {
	return each(columns, ", ", func(name string) string { return prefix + name })
}

// Assignments sets the columns to those of the same name in source.
func Assignments[R any](source string, columns []Column[R]) string {
	return each(columns, ", ", func(name string) string { return name + " = " + source + "." + name })
}

// Settings sets the columns to placeholders, whose values AppendValuesOf appends.
func Settings[R any](columns []Column[R]) string {
	return each(columns, ", ", func(name string) string { return name + " = ?" })
}

// Parameters lists one parameter per column, with its type: $first is the first of them.
func Parameters[R any](first int, columns []Column[R]) string {
	next := first - 1
	parts := make([]string, len(columns))
	for i, c := range columns {
		next++
		parts[i] = fmt.Sprintf("$%d::%s", next, c.Type)
	}
	return strings.Join(parts, ", ")
}

// Unnest is a table named alias whose columns are parameters, arrays of equal
// length: $first is the first of them.
func Unnest[R any](alias string, first int, columns []Column[R]) string {
	arrays := slices.Clone(columns)
	for i := range arrays {
		arrays[i].Type += "[]"
	}
	return "unnest(" + Parameters(first, arrays) + ") AS " + alias + " (" + Names("", columns) + ")"
}

func each[R any](columns []Column[R], separator string, format func(name string) string) string {
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = format(c.Name)
	}
	return strings.Join(parts, separator)
}
