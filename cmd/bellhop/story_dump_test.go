package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"
)

// dump writes the content of the database of $BELLHOP_DATABASE_URL to a file.
func dump(ts *testscript.TestScript, neg bool, args []string) {
	checkUsage(ts, "dump", neg, len(args) == 1)
	database := ts.Getenv("BELLHOP_DATABASE_URL")
	read := dumpPostgres
	if path, ok := strings.CutPrefix(database, "sqlite:"); ok {
		database, read = path, dumpFiles
	}
	content, err := read(database)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(content), 0o600))
}

// dumpFiles concatenates SQLite's files unchanged.
func dumpFiles(path string) (string, error) {
	files, err := filepath.Glob(path + "*")
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		out.Write(content)
	}
	return out.String(), nil
}

// dumpPostgres prints every row of every table. Bytes are printed unchanged: in
// hex, a search for plain text would not find them.
func dumpPostgres(url string) (string, error) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(ctx) }()
	rows, err := conn.Query(ctx, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
	if err != nil {
		return "", err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, table := range tables {
		if err := dumpTable(ctx, conn, table, &out); err != nil {
			return "", err
		}
	}
	return out.String(), nil
}

func dumpTable(ctx context.Context, conn *pgx.Conn, table string, out *strings.Builder) error {
	rows, err := conn.Query(ctx, "SELECT * FROM "+pgx.Identifier{table}.Sanitize())
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return err
		}
		out.WriteString(table)
		for _, value := range values {
			if raw, ok := value.([]byte); ok {
				value = string(raw)
			}
			_, _ = fmt.Fprint(out, " | ", value)
		}
		out.WriteString("\n")
	}
	return rows.Err()
}
