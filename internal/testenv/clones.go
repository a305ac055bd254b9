package testenv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/internal/pgserver"
)

const (
	template = "bellhop_template"

	// cleanLimit is a guard against a hang, not an expectation.
	cleanLimit = 30 * time.Second

	// leaveLimit is how long the connections of the test before may take to end.
	leaveLimit = 2 * time.Second

	// reusedBytes is the largest table that a reused database may have had: deleted rows stay in
	// its pages, and reading them must not slow the next test.
	reusedBytes = 1 << 20
)

// clones are databases cloned from the template. One that a test has left is cleaned and given to
// the next test, which is cheaper than a new one.
type clones struct {
	cluster *pgserver.Server
	filled  []string // tables of the template that have rows
	called  []string // sequences of the template that gave numbers
	state   string   // of the template, as stateOf returns it

	mu   sync.Mutex
	free []string
}

// newClones migrates the template.
func newClones(c *pgserver.Server, migrate func(url string) error) (*clones, error) {
	if err := createDatabase(c, template, ""); err != nil {
		return nil, err
	}
	if err := migrate(c.SocketURL(template)); err != nil {
		return nil, fmt.Errorf("prepare the template database: %w", err)
	}
	k := &clones{cluster: c}
	return k, k.within(template, func(ctx context.Context, conn *pgx.Conn) (err error) {
		if k.filled, _, err = k.written(ctx, conn); err != nil {
			return err
		}
		const numbering = `SELECT seqrelid::regclass::text FROM pg_sequence WHERE pg_sequence_last_value(seqrelid) > 0`
		if k.called, err = column(ctx, conn, numbering); err != nil {
			return err
		}
		k.state, err = k.stateOf(ctx, conn)
		return err
	})
}

// take returns the name of a database that equals the template.
func (k *clones) take() (string, error) {
	name := k.takeFree()
	if name == "" {
		return newDatabase(k.cluster, template)
	}
	cleaned := false
	err := k.within(name, func(ctx context.Context, conn *pgx.Conn) (err error) {
		cleaned, err = k.clean(ctx, conn)
		return err
	})
	if err == nil && cleaned {
		return name, nil
	}
	// Whatever failed was the doing of the test before, such as a renamed table.
	if err := dropDatabase(k.cluster, name); err != nil {
		return "", err
	}
	return newDatabase(k.cluster, template)
}

func (k *clones) takeFree() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.free) == 0 {
		return ""
	}
	name := k.free[len(k.free)-1]
	k.free = k.free[:len(k.free)-1]
	return name
}

func (k *clones) giveBack(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.free = append(k.free, name)
}

// within calls f with a connection to a database.
func (k *clones) within(database string, f func(ctx context.Context, conn *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanLimit)
	defer cancel()
	conn, err := pgx.Connect(ctx, k.cluster.SocketURL(database))
	if err != nil {
		return err
	}
	return errors.Join(f(ctx, conn), conn.Close(ctx))
}

// clean removes the rows that the last test left. It returns false if the database cannot be used
// again: that test changed more than rows, wrote very many, or left a connection.
func (k *clones) clean(ctx context.Context, conn *pgx.Conn) (bool, error) {
	if alone, err := awaitAlone(ctx, conn); err != nil || !alone {
		return false, err
	}
	if now, err := k.stateOf(ctx, conn); err != nil || now != k.state {
		return false, err
	}
	written, largest, err := k.written(ctx, conn)
	if err != nil || largest > reusedBytes {
		return false, err
	}
	// As a replica the server runs no triggers, neither those that forbid it nor foreign keys.
	statements := []string{"SET session_replication_role = replica"}
	for _, table := range written {
		if !slices.Contains(k.filled, table) {
			statements = append(statements, "DELETE FROM "+table)
		}
	}
	if _, err := conn.Exec(ctx, strings.Join(statements, ";")); err != nil {
		return false, err
	}
	_, err = conn.Exec(ctx, `SELECT setval(seqrelid, seqstart, false) FROM pg_sequence
		WHERE pg_sequence_last_value(seqrelid) > 0 AND seqrelid::regclass::text <> ALL ($1)`, k.called)
	return err == nil, err
}

// awaitAlone returns whether the database has no other connection. Those of a test that closed
// them take a moment to end.
func awaitAlone(ctx context.Context, conn *pgx.Conn) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, leaveLimit)
	defer cancel()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for {
		others := 0
		err := conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`).Scan(&others)
		if err != nil || others == 0 {
			return err == nil, err
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return false, nil
		}
	}
}

// written returns the tables that have or had rows, and the bytes of the largest.
func (k *clones) written(ctx context.Context, conn *pgx.Conn) (names []string, largest int64, err error) {
	rows, err := conn.Query(ctx, `SELECT oid::regclass::text, pg_relation_size(oid) FROM pg_class
		WHERE relkind = 'r' AND oid >= 16384 AND pg_relation_size(oid) > 0 ORDER BY 1`)
	if err != nil {
		return nil, 0, err
	}
	var name string
	var bytes int64
	_, err = pgx.ForEachRow(rows, []any{&name, &bytes}, func() error {
		names, largest = append(names, name), max(largest, bytes)
		return nil
	})
	return names, largest, err
}

// stateOf returns a text that differs if anything but rows of the empty tables differs: the
// schema, the planner's statistics, settings, rows of the tables that are filled. Every change of
// a catalogue gives its row a newer xmin; that of pg_class changes with TRUNCATE and VACUUM too.
func (k *clones) stateOf(ctx context.Context, conn *pgx.Conn) (string, error) {
	parts := []string{
		`(SELECT md5(string_agg(concat_ws(' ', relname, relkind, relpersistence, relacl, reloptions), ',' ORDER BY oid))
			FROM pg_class WHERE oid >= 16384)`,
		`(SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database())`,
		`(SELECT string_agg(setconfig::text, ',') FROM pg_db_role_setting
			WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database()))`,
	}
	for _, catalogue := range []string{
		"pg_attribute", "pg_constraint", "pg_index", "pg_trigger", "pg_proc", "pg_type", "pg_statistic", "pg_extension",
	} {
		parts = append(parts, "(SELECT concat(count(*), '.', max(xmin::text::bigint)) FROM "+catalogue+")")
	}
	for _, table := range k.filled {
		parts = append(parts, "(SELECT md5(string_agg(t::text, ',' ORDER BY t::text)) FROM "+table+" t)")
	}
	for _, sequence := range k.called {
		parts = append(parts, "(SELECT last_value FROM "+sequence+")")
	}
	var state string
	err := conn.QueryRow(ctx, "SELECT concat_ws('|', "+strings.Join(parts, ", ")+")").Scan(&state)
	return state, err
}

func column(ctx context.Context, conn *pgx.Conn, sql string) ([]string, error) {
	rows, err := conn.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
