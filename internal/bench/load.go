package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"bellhop/protocol"
)

// loadRole posts webhooks, as lean as HTTP allows: on the same cores, a heavy
// client would measure itself.
type loadRole struct {
	tasks []*target
}

// target is a task that events are posted to, by one client at a time.
type target struct {
	ID      string `json:"id"`
	Turn    string `json:"turn"`
	Webhook string `json:"webhook"`

	mu  sync.Mutex
	seq int64
}

type loadOrder struct {
	Address string        `json:"address"`
	Clients int           `json:"clients"`
	Batch   int           `json:"batch"` // 0 = one event, not in a batch
	For     time.Duration `json:"for"`
}

type loadResult struct {
	Events  int64         `json:"events"`
	Elapsed time.Duration `json:"elapsed"`
	Latency spread        `json:"latency"`
}

func (l *loadRole) close() error { return nil }

func (l *loadRole) obey(ctx context.Context, do string, with json.RawMessage) (any, error) {
	switch do {
	case "tasks":
		tasks, err := decode[[]*target](with)
		l.tasks = tasks
		return nil, err
	case "post":
		o, err := decode[loadOrder](with)
		if err != nil {
			return nil, err
		}
		return l.post(ctx, o)
	}
	return nil, fmt.Errorf("cannot %s", do)
}

// post has every client go round its own tasks until the time is over.
func (l *loadRole) post(ctx context.Context, o loadOrder) (*loadResult, error) {
	var times histogram
	counts := make([]int64, o.Clients)
	start := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for c := range o.Clients {
		group.Go(func() error {
			p, err := dialPoster(ctx, o.Address)
			if err != nil {
				return err
			}
			defer p.conn.Close()
			for i := c; time.Since(start) < o.For; i = (i + o.Clients) % len(l.tasks) {
				before := time.Now()
				if err := p.post(l.tasks[i], o.Batch); err != nil {
					return err
				}
				times.add(time.Since(before))
				counts[c] += int64(max(o.Batch, 1))
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	result := &loadResult{Elapsed: time.Since(start), Latency: times.spread()}
	for _, n := range counts {
		result.Events += n
	}
	return result, nil
}

// poster is one connection.
type poster struct {
	conn net.Conn
	in   *bufio.Reader
	head *textproto.Reader
	host string
	body []byte
	out  []byte
}

func dialPoster(ctx context.Context, address string) (*poster, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReader(conn)
	return &poster{conn: conn, in: in, head: textproto.NewReader(in), host: address}, nil
}

func (p *poster) post(t *target, batch int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.body = p.body[:0]
	if batch == 0 {
		p.body = t.event(p.body, true)
	} else {
		p.body = fmt.Appendf(p.body, `{"sessionId":"%s","events":[`, t.ID)
		for i := range batch {
			if i > 0 {
				p.body = append(p.body, ',')
			}
			p.body = t.event(p.body, false)
		}
		p.body = append(p.body, "]}"...)
	}
	p.out = fmt.Appendf(p.out[:0], "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		t.Webhook, p.host, len(p.body))
	if _, err := p.conn.Write(append(p.out, p.body...)); err != nil {
		return err
	}
	return p.answer()
}

var words = strings.Repeat("a few words ", 12)

// event adds the task's next event to b.
func (t *target) event(b []byte, alone bool) []byte {
	t.seq++
	b = append(b, '{')
	if alone {
		b = append(append(append(b, `"sessionId":"`...), t.ID...), `",`...)
	}
	return fmt.Appendf(b, `"type":"text","id":"txt_%d","text":"%s","timestamp":%d,"eventId":"%s","epoch":1,"seq":%d,"turnId":"%s"}`,
		t.seq, words, time.Now().UnixMilli(), protocol.NewID(), t.seq, t.Turn)
}

// answer reads one and insists on success.
func (p *poster) answer() error {
	status, err := p.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	ok := bytes.HasPrefix(status, []byte("HTTP/1.1 200"))
	said := strings.TrimSpace(string(status))
	length := 0
	for {
		line, err := p.head.ReadLineBytes()
		if err != nil {
			return err
		}
		if len(line) == 0 {
			break
		}
		if name, value, _ := strings.Cut(string(line), ": "); strings.EqualFold(name, "Content-Length") {
			if length, err = strconv.Atoi(value); err != nil {
				return err
			}
		}
	}
	if ok {
		_, err := p.in.Discard(length)
		return err
	}
	body, err := io.ReadAll(io.LimitReader(p.in, int64(length)))
	if err != nil {
		return err
	}
	return fmt.Errorf("the webhook answered %s: %s", said, body)
}
