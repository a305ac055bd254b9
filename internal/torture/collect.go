//go:build linux

package torture

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"
	_ "github.com/ncruces/go-sqlite3/driver"

	"bellhop/internal/torture/check"
)

// hostStatus has the members that are read from a host's GET /status.
type hostStatus struct {
	Sessions []struct {
		ID             string       `json:"id"`
		OpenTurn       string       `json:"openTurn"`
		Cursor         check.Cursor `json:"cursor"`
		Acknowledged   check.Cursor `json:"acknowledged"`
		Unacknowledged int64        `json:"unacknowledged"`
	} `json:"sessions"`
	DeadLetters []struct {
		SessionID string `json:"sessionId"`
	} `json:"deadLetters"`
}

func (c *cluster) status(ctx context.Context, h *agentHost) (hostStatus, error) {
	var out hostStatus
	status, body, err := c.request(ctx, http.MethodGet, h.url+"/status", hostPassword, nil)
	if err != nil {
		return out, err
	}
	if status != http.StatusOK {
		return out, fmt.Errorf("%s: GET /status: %d", h.name, status)
	}
	return out, json.Unmarshal(body, &out)
}

// quiet reports what still keeps the cluster from being quiet; "" = nothing.
func (c *cluster) quiet(ctx context.Context, l *load) string {
	for _, h := range c.hosts {
		status, err := c.status(ctx, h)
		if err != nil {
			return err.Error()
		}
		for _, s := range status.Sessions {
			if s.Unacknowledged > 0 || s.OpenTurn != "" {
				return fmt.Sprintf("session %s of %s has %d unacknowledged events, open turn %q", s.ID, h.name,
					s.Unacknowledged, s.OpenTurn)
			}
		}
	}
	for _, u := range l.users {
		var task struct{ OpenTurn, AgentStatus string }
		if err := c.call(ctx, http.MethodGet, c.brokers[0].url+"/api/tasks/"+u.task, nil, &task); err != nil {
			return err.Error()
		}
		if task.OpenTurn != "" || task.AgentStatus == "busy" {
			return fmt.Sprintf("task %s is %s, open turn %q", u.task, task.AgentStatus, task.OpenTurn)
		}
	}
	n, err := queryInt(ctx, c.db.directURL(), "SELECT count(*) FROM messages WHERE status = 'SENDING'")
	if err != nil || n > 0 {
		return fmt.Sprintf("%d messages are SENDING, %v", n, err)
	}
	return ""
}

// collect reads everything that the checker needs. The servers run while HTTP is read and have
// ended when the files are.
func (c *cluster) collect(ctx context.Context, l *load) (*check.Observation, error) {
	all := &check.Observation{}
	sessions := map[string]*check.Session{}
	for _, u := range l.users {
		s := &check.Session{
			ID: u.task, Sent: u.sent, Trespasses: u.trespasses, Readings: u.readings, JournalRestores: u.host.restores, DatabaseRestores: c.db.restores,
		}
		s.Forgotten, s.Unsent = u.host.forgotten[u.task], u.host.unsent[u.task]
		c.mu.Lock()
		s.Receipts = slices.Clone(c.receipts[u.task])
		c.mu.Unlock()
		sessions[u.task] = s
		all.Sessions = append(all.Sessions, s)
	}
	for _, read := range []func(context.Context, map[string]*check.Session) error{
		c.readHosts, c.readBrokers, c.stopServers, c.readJournals, c.readDatabase,
	} {
		if err := read(ctx, sessions); err != nil {
			return nil, err
		}
	}
	return all, c.readLedgers(l, sessions)
}

func (c *cluster) stopServers(ctx context.Context, _ map[string]*check.Session) error {
	var err error
	for _, s := range c.servers() {
		err = errors.Join(err, s.terminate(ctx))
	}
	return err
}

func (c *cluster) readHosts(ctx context.Context, sessions map[string]*check.Session) error {
	for _, h := range c.hosts {
		status, err := c.status(ctx, h)
		if err != nil {
			return err
		}
		for _, row := range status.Sessions {
			s := sessions[row.ID]
			if s == nil {
				return fmt.Errorf("%s has a session %s that no user opened", h.name, row.ID)
			}
			s.Cursor, s.Acknowledged = row.Cursor, row.Acknowledged
			if err := c.readServed(ctx, h, s); err != nil {
				return err
			}
		}
		for _, letter := range status.DeadLetters {
			if s := sessions[letter.SessionID]; s != nil {
				s.DeadLetters++
			}
		}
	}
	return nil
}

const pageSize = 200

// operatorKey is that of the host's data, which opens the sessions of its brokers.
func (h *agentHost) operatorKey() (string, error) {
	content, err := os.ReadFile(filepath.Join(h.disk.dir, "operator-key"))
	return strings.TrimSpace(string(content)), err
}

// readServed reads GET /session/:id/events page by page.
func (c *cluster) readServed(ctx context.Context, h *agentHost, s *check.Session) error {
	key, err := h.operatorKey()
	if err != nil {
		return err
	}
	for after := int64(0); ; {
		status, body, err := c.requestAs(ctx, key, http.MethodGet,
			fmt.Sprintf("%s/session/%s/events?after=%d&limit=%d", h.url, s.ID, after, pageSize), hostPassword, nil)
		if err != nil {
			return err
		}
		var page struct {
			Epoch     int64             `json:"epoch"`
			Events    []json.RawMessage `json:"events"`
			NextAfter int64             `json:"nextAfter"`
		}
		if err := json.Unmarshal(body, &page); err != nil || status != http.StatusOK {
			return fmt.Errorf("%s: events of %s: %d %w", h.name, s.ID, status, err)
		}
		for i, body := range page.Events {
			s.Served = append(s.Served, check.Event{
				At: check.Cursor{Epoch: page.Epoch, Seq: after + int64(i) + 1}, Body: string(body),
			})
		}
		if after = page.NextAfter; len(page.Events) < pageSize {
			return nil
		}
	}
}

// message has the members that are read from a message, by HTTP and from a row's
// artifacts.
type message struct {
	ID        string     `json:"id"`
	Seq       int64      `json:"seq"`
	TurnID    string     `json:"turnId"`
	Role      string     `json:"role"`
	Status    string     `json:"status"`
	Message   string     `json:"message"`
	EventID   string     `json:"eventId"`
	Artifacts []artifact `json:"artifacts"`
}

type artifact struct {
	Type    string `json:"type"`
	Content struct {
		ToolCallID string          `json:"toolCallId"`
		State      string          `json:"state"`
		Output     json.RawMessage `json:"output"`
	} `json:"content"`
}

func (m message) observed() check.Message {
	out := check.Message{
		ID: m.ID, Seq: m.Seq, Turn: m.TurnID, Role: m.Role, Status: m.Status, Text: m.Message, EventID: m.EventID,
	}
	for _, a := range m.Artifacts {
		if a.Type == "TOOL_USE" {
			out.Tools = append(out.Tools, check.Tool{
				Call: a.Content.ToolCallID, State: a.Content.State, Output: string(a.Content.Output),
			})
		}
	}
	return out
}

// readBrokers reads the messages of every task as users do.
func (c *cluster) readBrokers(ctx context.Context, sessions map[string]*check.Session) error {
	for id, s := range sessions {
		for after := int64(0); ; {
			var page struct {
				Messages  []message `json:"messages"`
				NextAfter int64     `json:"nextAfter"`
			}
			url := fmt.Sprintf("%s/api/tasks/%s/messages?after=%d&limit=%d", c.brokers[1].url, id, after, pageSize)
			if err := c.call(ctx, http.MethodGet, url, nil, &page); err != nil {
				return err
			}
			for _, m := range page.Messages {
				s.Displayed = append(s.Displayed, m.observed())
			}
			if after = page.NextAfter; len(page.Messages) < pageSize {
				break
			}
		}
		var used struct {
			Turns int
			Usage struct{ OutputTokens int64 }
		}
		if err := c.call(ctx, http.MethodGet, c.brokers[1].url+"/api/tasks/"+id+"/usage", nil, &used); err != nil {
			return err
		}
		s.Used = check.Used{Turns: used.Turns, Tokens: used.Usage.OutputTokens}
	}
	return nil
}

func (c *cluster) readJournals(ctx context.Context, sessions map[string]*check.Session) error {
	for _, h := range c.hosts {
		found, err := readJournal(ctx, h.journal())
		if err != nil {
			return fmt.Errorf("journal of %s: %w", h.name, err)
		}
		for id, j := range found {
			if s := sessions[id]; s != nil {
				s.Journal, s.HostTurns = j.events, j.turns
			}
		}
	}
	return nil
}

// journal is what a host's file holds of one session.
type journal struct {
	acknowledged check.Cursor
	events       []check.Event
	turns        []check.HostTurn
}

// readJournal reads a journal of a host that does not run.
func readJournal(ctx context.Context, path string) (map[string]*journal, error) {
	db, err := sql.Open("sqlite3", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=query_only(1)")
	if err != nil {
		return nil, err
	}
	found := map[string]*journal{}
	err = errors.Join(
		eachRow(ctx, db, "SELECT id, acked_epoch, acked_seq FROM sessions", func(scan func(...any) error) error {
			var id string
			j := &journal{}
			err := scan(&id, &j.acknowledged.Epoch, &j.acknowledged.Seq)
			found[id] = j
			return err
		}),
		eachRow(ctx, db,
			"SELECT session_id, epoch, seq, event_id, turn_id, type, body FROM events ORDER BY session_id, epoch, seq",
			func(scan func(...any) error) error {
				var id string
				var e check.Event
				err := scan(&id, &e.At.Epoch, &e.At.Seq, &e.ID, &e.Turn, &e.Type, &e.Body)
				if j := found[id]; j != nil {
					j.events = append(j.events, e)
				}
				return err
			}),
		eachRow(ctx, db, "SELECT session_id, id, state, started_at > 0 FROM turns", func(scan func(...any) error) error {
			var id string
			var t check.HostTurn
			err := scan(&id, &t.ID, &t.State, &t.Started)
			if j := found[id]; j != nil {
				j.turns = append(j.turns, t)
			}
			return err
		}))
	return found, errors.Join(err, db.Close())
}

func eachRow(ctx context.Context, db *sql.DB, query string, do func(scan func(...any) error) error) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := do(rows.Scan); err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
	}
	return rows.Err()
}

func (c *cluster) readLedgers(l *load, sessions map[string]*check.Session) error {
	times := map[string]int{}
	for _, h := range c.hosts {
		content, err := os.ReadFile(h.ledger)
		if err != nil {
			return err
		}
		for label := range strings.FieldsSeq(string(content)) {
			times[label]++
		}
	}
	for _, u := range l.users {
		for _, m := range u.sent {
			if n := times[m.Label]; n > 0 {
				s := sessions[u.task]
				s.Prompts = append(s.Prompts, check.LedgerEntry{Label: m.Label, Times: n})
			}
		}
	}
	return nil
}
