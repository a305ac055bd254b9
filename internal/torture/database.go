//go:build linux

package torture

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"

	"bellhop/internal/torture/check"
)

// readDatabase reads the broker's tables, past the broker.
func (c *cluster) readDatabase(ctx context.Context, sessions map[string]*check.Session) error {
	db, err := sql.Open("pgx", c.db.directURL())
	if err != nil {
		return err
	}
	of := func(id string) *check.Session {
		if s := sessions[id]; s != nil {
			return s
		}
		return &check.Session{}
	}
	read := func(query string, do func(scan func(...any) error) error) error {
		return eachRow(ctx, db, query, do)
	}
	return errors.Join(readRows(read, of), readTasks(read, of), readTurns(read, of), readMessages(read, of),
		readAudit(read, of), db.Close())
}

type (
	query  func(query string, do func(scan func(...any) error) error) error
	lookup func(id string) *check.Session
)

func readRows(read query, of lookup) error {
	return read("SELECT task_id, COALESCE(epoch, 0), COALESCE(seq, 0), event_id, turn_id, type, COALESCE(body, ''), late FROM "+
		"events ORDER BY task_id, epoch, seq",
		func(scan func(...any) error) error {
			var id string
			var e check.Event
			err := scan(&id, &e.At.Epoch, &e.At.Seq, &e.ID, &e.Turn, &e.Type, &e.Body, &e.Late)
			of(id).Rows = append(of(id).Rows, e)
			return err
		})
}

func readTasks(read query, of lookup) error {
	return read("SELECT id, epoch, seq, open_turn, open_questions FROM tasks", func(scan func(...any) error) error {
		var id, open string
		var at check.Cursor
		var asks int
		err := scan(&id, &at.Epoch, &at.Seq, &open, &asks)
		s := of(id)
		s.BrokerAt, s.OpenTurn, s.OpenAsks = at, open, asks
		return err
	})
}

func readTurns(read query, of lookup) error {
	return read("SELECT task_id, id, message_id, state, finish_reason, reason, COALESCE(usage, '') FROM turns ORDER BY "+
		"announced_at", func(scan func(...any) error) error {
		var id string
		var t check.BrokerTurn
		err := scan(&id, &t.ID, &t.MessageID, &t.State, &t.FinishReason, &t.Reason, &t.Usage)
		of(id).Turns = append(of(id).Turns, t)
		return err
	})
}

func readMessages(read query, of lookup) error {
	return read("SELECT task_id, id, seq, turn_id, role, status, message, artifacts, event_id FROM messages ORDER BY "+
		"task_id, seq",
		func(scan func(...any) error) error {
			var id, artifacts string
			var m message
			err := scan(&id, &m.ID, &m.Seq, &m.TurnID, &m.Role, &m.Status, &m.Message, &artifacts, &m.EventID)
			err = errors.Join(err, json.Unmarshal([]byte(artifacts), &m.Artifacts))
			of(id).Messages = append(of(id).Messages, m.observed())
			return err
		})
}

func readAudit(read query, of lookup) error {
	return read("SELECT task_id, what, event_id, body FROM audit", func(scan func(...any) error) error {
		var id, what, event, body string
		err := scan(&id, &what, &event, &body)
		of(id).Audit = append(of(id).Audit, strings.Join([]string{what, event, body}, " "))
		return err
	})
}
