//go:build linux

package torture

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"bellhop/internal/torture/check"
)

// load is a set of users, each with one task, who run turns while faults happen.
type load struct {
	c     *cluster
	users []*user
	stop  chan struct{} // closed: no new turns
	group sync.WaitGroup
	seen  atomic.Int64 // final events that readers saw, repetitions included
	turns atomic.Int64
}

// user works on one task.
type user struct {
	load *load
	task string
	host *agentHost
	rng  *rand.Rand
	n    int

	sent     []check.Sent
	readings []check.Reading

	trespasses []string
}

func newLoad(ctx context.Context, c *cluster, tasks int, seed uint64) (*load, error) {
	l := &load{c: c, stop: make(chan struct{})}
	for i := range tasks {
		host := c.hosts[i%len(c.hosts)]
		var task struct{ ID string }
		err := c.call(ctx, http.MethodPost, c.brokers[0].url+"/api/tasks", map[string]any{
			"title": fmt.Sprintf("task %d", i+1), "agent": agentName, "hostId": host.id,
		}, &task)
		if err != nil {
			return nil, err
		}
		l.users = append(l.users, &user{load: l, task: task.ID, host: host, rng: rand.New(rand.NewPCG(seed, uint64(i)))})
	}
	return l, nil
}

func (l *load) start(ctx context.Context) {
	for i, u := range l.users {
		l.group.Go(func() {
			for ctx.Err() == nil && !l.stopping() {
				u.turn(ctx, i)
			}
		})
	}
}

func (l *load) stopping() bool {
	select {
	case <-l.stop:
		return true
	default:
		return false
	}
}

// finish waits for the current turns.
func (l *load) finish() {
	close(l.stop)
	l.group.Wait()
}

// call makes a request with the user's token, past every gateway.
func (c *cluster) call(ctx context.Context, method, url string, in, out any) error {
	status, body, err := c.request(ctx, method, url, c.token, in)
	if err != nil {
		return err
	}
	if status >= 300 {
		return fmt.Errorf("%s %s: %d %s", method, url, status, body)
	}
	return json.Unmarshal(body, out)
}

func (c *cluster) request(ctx context.Context, method, url, token string, in any) (status int, body []byte, err error) {
	return c.requestAs(ctx, "", method, url, token, in)
}

// requestAs is request with the key of a session; "" for none.
func (c *cluster) requestAs(
	ctx context.Context, key, method, url, token string, in any,
) (status int, body []byte, err error) {
	limit := startLimit
	if _, bounded := ctx.Deadline(); bounded { // by who tries it again
		limit = 15 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	content := []byte{}
	if in != nil {
		if content, err = json.Marshal(in); err != nil {
			return 0, nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(content))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Bellhop-Session-Key", key)
	}
	resp, err := plain.RoundTrip(req)
	if err != nil {
		return 0, nil, err
	}
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, errors.Join(err, resp.Body.Close())
}

// checkedIn is a broker's answer to a check-in.
type checkedIn struct {
	MessageID   string `json:"messageId"`
	TurnID      string `json:"turnId"`
	StreamToken string `json:"streamToken"`
	StreamURL   string `json:"streamUrl"`
}

// patience is how long a user tries to see the end of one turn.
const patience = 90 * time.Second

// turn checks a message in until that succeeds, and reads its turn to the end, in as many
// connections as it takes.
func (u *user) turn(ctx context.Context, number int) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	u.n++
	s := script{
		label: fmt.Sprintf("t%d-%d", number+1, u.n), steps: 4 + u.rng.IntN(24),
		pause: time.Duration(u.rng.IntN(60)) * time.Millisecond,
	}
	message := check.Sent{MessageID: "m-" + s.label, Label: s.label, Text: s.prompt(), Expected: s.expected(), Tokens: s.tokens()}
	r := &reading{user: u, prompt: message.Text, trespasses: u.rng.IntN(6) == 0}
	if u.rng.IntN(3) == 0 {
		r.leaveAfter = 2 + u.rng.IntN(30)
	}
	if u.rng.IntN(8) == 0 {
		message.Interrupted = true
		r.interruptAfter = 1 + u.rng.IntN(10)
	}
	for ctx.Err() == nil && !r.ended {
		in, err := u.checkIn(ctx, &message)
		if err != nil {
			pause(ctx, 50*time.Millisecond)
			continue
		}
		r.follow(ctx, in)
	}
	if len(message.Turns) > 0 {
		u.sent = append(u.sent, message)
		u.readings = append(u.readings, check.Reading{Connections: r.connections})
	}
	if r.ended {
		u.load.turns.Add(1)
	}
}

// checkIn is one attempt. An answer that does not name the message is not a broker's.
func (u *user) checkIn(ctx context.Context, m *check.Sent) (*checkedIn, error) {
	status, body, err := u.load.c.request(ctx, http.MethodPost, u.load.c.api.url()+"/api/agent", u.load.c.token,
		map[string]any{"taskId": u.task, "message": m.Text, "messageId": m.MessageID, "bindPrompt": u.rng.IntN(2) == 0})
	if err != nil {
		return nil, err
	}
	var in checkedIn
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	if in.MessageID == m.MessageID && in.TurnID != "" && (len(m.Turns) == 0 || m.Turns[len(m.Turns)-1] != in.TurnID) {
		m.Turns = append(m.Turns, in.TurnID) // a 502 names them, too: the message is stored
	}
	if status != http.StatusOK || in.MessageID != m.MessageID || in.StreamToken == "" {
		return nil, fmt.Errorf("check-in: %d %s", status, body)
	}
	return &in, nil
}

// isEventStream distinguishes the host's stream from what a gateway says with a 200.
func isEventStream(h http.Header) bool {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && media == "text/event-stream"
}
