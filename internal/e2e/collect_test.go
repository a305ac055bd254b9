package e2e

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// collect reads all sides of the given tasks. The servers are queried while they run; files are
// read after they have stopped.
func collect(s *stack, tasks []string) *history {
	s.t.Helper()
	h := &history{}
	byID := map[string]*sessionHistory{}
	for _, id := range tasks {
		session := &sessionHistory{ID: id}
		h.Sessions = append(h.Sessions, session)
		byID[id] = session
	}
	s.ask(byID)
	s.host.stop()
	s.broker.stop()
	s.readJournal(byID)
	s.readDatabase(byID)
	return h
}

func (s *stack) ask(sessions map[string]*sessionHistory) {
	s.t.Helper()
	var status agenthost.HostStatus
	if code := s.askHost(http.MethodGet, "/status", &status); code != http.StatusOK {
		s.t.Fatalf("/status: %d", code)
	}
	for _, row := range status.Sessions {
		if h := sessions[row.ID]; h != nil {
			h.Cursor, h.Acknowledged = row.Cursor, row.Acknowledged
		}
	}
	for _, letter := range status.DeadLetters {
		if h := sessions[letter.SessionID]; h != nil {
			h.DeadLetters++
		}
	}
	for id, h := range sessions {
		for after := int64(0); ; {
			var page protocol.EventsResponse
			path := fmt.Sprintf("/session/%s/events?after=%d&limit=50", id, after)
			if code := s.askHost(http.MethodGet, path, &page); code != http.StatusOK {
				s.t.Fatalf("%s: %d", path, code)
			}
			for i, body := range page.Events {
				at := protocol.Cursor{Epoch: page.Epoch, Seq: after + int64(i) + 1}
				h.Served = append(h.Served, event{Cursor: at, Body: string(body)})
			}
			if after = page.NextAfter; len(page.Events) < 50 {
				break
			}
		}
	}
}

// rows runs a query and calls scan for every row.
func rows(t testing.TB, db *sql.DB, query string, scan func(*sql.Rows) error) {
	t.Helper()
	found, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = found.Close() }()
	for found.Next() {
		if err := scan(found); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	if err := found.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func (s *stack) readJournal(sessions map[string]*sessionHistory) {
	s.t.Helper()
	db := openSQL(s.t, "sqlite3", "file:"+s.journal()+"?_pragma=busy_timeout(5000)&_pragma=query_only(1)")
	rows(s.t, db, `SELECT session_id, epoch, seq, event_id, turn_id, type, body, part, frame_epoch, frame
		FROM events ORDER BY session_id, epoch, seq`, func(r *sql.Rows) error {
		var session string
		var e event
		var frame protocol.StreamID
		err := r.Scan(&session, &e.Cursor.Epoch, &e.Cursor.Seq, &e.ID, &e.TurnID, &e.Type, &e.Body, &e.Part,
			&frame.Epoch, &frame.Offset)
		if frame.Offset > 0 {
			e.Frame = frame.String()
		}
		if h := sessions[session]; h != nil {
			h.Journal = append(h.Journal, e)
		}
		return err
	})
	rows(s.t, db, `SELECT session_id, id, state, started_at > 0, reason FROM turns`, func(r *sql.Rows) error {
		var session string
		var t hostTurn
		err := r.Scan(&session, &t.ID, &t.State, &t.Started, &t.Reason)
		if h := sessions[session]; h != nil {
			h.HostTurns = append(h.HostTurns, t)
		}
		return err
	})
}

func (s *stack) readDatabase(sessions map[string]*sessionHistory) {
	s.t.Helper()
	db := s.openDB()
	of := func(id string, do func(*sessionHistory)) {
		if h := sessions[id]; h != nil {
			do(h)
		}
	}
	rows(s.t, db,
		`SELECT task_id, COALESCE(epoch, 0), COALESCE(seq, 0), event_id, turn_id, type, body, late FROM events`, func(
			r *sql.Rows,
		) error {
			var task string
			var e event
			err := r.Scan(&task, &e.Cursor.Epoch, &e.Cursor.Seq, &e.ID, &e.TurnID, &e.Type, &e.Body, &e.Late)
			of(task, func(h *sessionHistory) { h.Rows = append(h.Rows, e) })
			return err
		})
	rows(s.t, db, `SELECT id, epoch, seq, open_turn, open_questions, rev FROM tasks`, func(r *sql.Rows) error {
		var task, open string
		var at protocol.Cursor
		var asks int
		var rev int64
		err := r.Scan(&task, &at.Epoch, &at.Seq, &open, &asks, &rev)
		of(task, func(h *sessionHistory) { h.BrokerAt, h.OpenTurn, h.OpenAsks, h.Rev = at, open, asks, rev })
		return err
	})
	rows(s.t, db, `SELECT task_id, id, message_id, state, finish_reason, reason FROM turns`, func(r *sql.Rows) error {
		var task string
		var t brokerTurn
		err := r.Scan(&task, &t.ID, &t.MessageID, &t.State, &t.Finish, &t.Reason)
		of(task, func(h *sessionHistory) { h.BrokerTurns = append(h.BrokerTurns, t) })
		return err
	})
	rows(s.t, db,
		`SELECT task_id, id, seq, rev, turn_id, role, status, message, artifacts, event_id FROM messages ORDER BY task_id, seq`, func(r *sql.Rows) error {
			var m protocol.Message
			var artifacts string
			if err := r.Scan(&m.TaskID, &m.ID, &m.Seq, &m.Rev, &m.TurnID, &m.Role, &m.Status, &m.Message, &artifacts,
				&m.EventID); err != nil {
				return err
			}
			err := json.Unmarshal([]byte(artifacts), &m.Artifacts)
			of(m.TaskID, func(h *sessionHistory) { h.Messages = append(h.Messages, m) })
			return err
		})
	rows(s.t, db, `SELECT task_id, what, event_id, body FROM audit`, func(r *sql.Rows) error {
		var task, what, id, body string
		err := r.Scan(&task, &what, &id, &body)
		of(task, func(h *sessionHistory) { h.Refused = append(h.Refused, strings.Join([]string{what, id, body}, " ")) })
		return err
	})
}

// quiescent reports whether everything has arrived: the host has no unacknowledged event and no
// open turn, and the broker has no open turn.
func (s *stack) quiescent(tasks []string) bool {
	var status agenthost.HostStatus
	if s.askHost(http.MethodGet, "/status", &status) != http.StatusOK {
		return false
	}
	for _, row := range status.Sessions {
		if slices.Contains(tasks, row.ID) && (row.Unacknowledged > 0 || row.OpenTurn != "") {
			return false
		}
	}
	for _, id := range tasks {
		task, err := s.user().Task(s.t.Context(), id)
		if err != nil || task.OpenTurn != nil || task.AgentStatus == protocol.StatusBusy {
			return false
		}
	}
	return true
}
