package main

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

const copyRows = "200000"

// copyEvents writes events that are stored once more, into a table like theirs,
// and returns rows a second.
func (s *ingestion) copyEvents(ctx context.Context) (rate float64, err error) {
	conn, err := s.pg.connect(ctx, "bellhop")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	if _, err := conn.Exec(ctx, `DROP TABLE IF EXISTS copied; CREATE TABLE copied (LIKE events INCLUDING ALL)`); err != nil {
		return 0, err
	}
	var stored bytes.Buffer
	if _, err := conn.PgConn().CopyTo(ctx, &stored, `COPY (SELECT * FROM events LIMIT `+copyRows+`) TO STDOUT`); err != nil {
		return 0, err
	}
	return copyIn(ctx, conn, &stored)
}

func copyIn(ctx context.Context, conn *pgx.Conn, rows *bytes.Buffer) (float64, error) {
	start := time.Now()
	tag, err := conn.PgConn().CopyFrom(ctx, rows, `COPY copied FROM STDIN`)
	if err != nil {
		return 0, err
	}
	return float64(tag.RowsAffected()) / time.Since(start).Seconds(), nil
}
