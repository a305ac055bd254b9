//go:build linux

package torture

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"bellhop/internal/sse"
	"bellhop/internal/torture/check"
)

// reading is one user's view of one turn, over all connections.
type reading struct {
	user   *user
	prompt string

	connections    []check.Connection
	last           string // the newest id
	finals         int
	interruptAfter int // final events; 0 = never
	ended          bool
	trespasses     bool // on another task
	leaveAfter     int  // frames; 0 = never
}

// follow starts or replays the turn and reads it until its end, or until the token or the
// connection no longer leads to it.
func (r *reading) follow(ctx context.Context, in *checkedIn) {
	body, err := json.Marshal(map[string]string{"prompt": r.prompt})
	if err != nil {
		return
	}
	if r.trespasses {
		r.user.trespass(ctx, in)
	}
	if !r.connect(ctx, http.MethodPost, in, body) {
		return
	}
	for !r.ended && r.last != "" && r.connect(ctx, http.MethodGet, in, nil) {
		if !pause(ctx, 20*userPause) {
			return
		}
	}
}

// connect reads one response; false when it was no stream.
func (r *reading) connect(ctx context.Context, method string, in *checkedIn, body []byte) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, in.StreamURL, bytes.NewReader(body))
	if err != nil {
		return false
	}
	req.Header.Set("Authorization", "Bearer "+in.StreamToken)
	req.Header.Set("Content-Type", "application/json")
	c := check.Connection{}
	if method == http.MethodGet {
		c.After = r.last
		req.Header.Set("Last-Event-ID", r.last)
	}
	silent := newWatchdog(cancel)
	defer silent.stop()
	resp, err := plain.RoundTrip(req)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK || !isEventStream(resp.Header) {
		_, _ = io.Copy(io.Discard, resp.Body)
		return false
	}
	frames := sse.NewReader(resp.Body)
	frames.OnBytes = silent.reset
	for !r.ended {
		frame, err := frames.Next()
		if err != nil {
			break
		}
		c.Frames = append(c.Frames, r.frame(ctx, frame, in.TurnID))
		if r.leaveAfter--; r.leaveAfter == 0 {
			break
		}
	}
	r.connections = append(r.connections, c)
	return true
}

// part has the members that are read from a frame's data.
type part struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Text string `json:"text"`
	Data struct {
		Verdict string `json:"verdict"`
	} `json:"data"`
	Event *struct {
		ID     string `json:"id"`
		TurnID string `json:"turnId"`
	} `json:"event"`
}

// frame notes a frame and acts on it.
func (r *reading) frame(ctx context.Context, f sse.Frame, turn string) check.Frame {
	var p part
	if err := json.Unmarshal(f.Data, &p); err != nil {
		return check.Frame{ID: f.ID, Type: "unreadable: " + err.Error()}
	}
	if f.ID != "" {
		r.last = f.ID
	}
	out := check.Frame{ID: f.ID, Type: p.Type, Block: p.ID, Verdict: p.Data.Verdict}
	if p.Type == "text-delta" {
		out.Text = p.Text
	}
	if p.Event != nil {
		out.Event, out.Turn = p.Event.ID, p.Event.TurnID
		r.user.load.seen.Add(1)
		if r.finals++; r.finals == r.interruptAfter {
			go r.user.interrupt(ctx, turn)
		}
	}
	switch p.Type {
	case "finish", "abort", "error":
		r.ended = p.Event == nil || p.Event.TurnID == turn
	}
	return out
}

// trespass tries the user's token on the streams of the other tasks of the host.
func (u *user) trespass(ctx context.Context, in *checkedIn) {
	for _, other := range u.load.users {
		if other == u || other.host != u.host {
			continue
		}
		url := strings.Replace(in.StreamURL, u.task, other.task, 1)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return
		}
		req.Header.Set("Authorization", "Bearer "+in.StreamToken)
		resp, err := plain.RoundTrip(req)
		if err != nil {
			continue
		}
		if resp.StatusCode == http.StatusOK && isEventStream(resp.Header) || resp.StatusCode == http.StatusNoContent {
			u.trespasses = append(u.trespasses, other.task)
		}
		_ = resp.Body.Close()
	}
}

// interrupt asks a broker once to stop a turn. A gateway may repeat that when another one is open.
func (u *user) interrupt(ctx context.Context, turn string) {
	_, _, _ = u.load.c.request(ctx, http.MethodPost, u.load.c.api.url()+"/api/agent/interrupt", u.load.c.token,
		map[string]string{"taskId": u.task, "turnId": turn})
}
