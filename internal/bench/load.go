package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"bellhop/protocol"
)

// loadRole posts webhooks with minimal HTTP, because on the same cores a heavy
// client would measure itself.
type loadRole struct{ tasks []*Target }

// Target is a task that receives events. Each target belongs to one client.
type Target struct {
	ID, Turn, Webhook string
	Seq               int64
}

// PostOrder is the configuration of the posting clients.
type PostOrder struct {
	Address string
	Clients int
	Batch   int // 0 = single events without a batch
	For     time.Duration
}

// PostResult describes the acknowledged events.
type PostResult struct {
	Events  int64
	Elapsed time.Duration
	Latency spread
}

// Tasks sets the tasks that receive events.
func (l *loadRole) Tasks(tasks []*Target, _ *bool) error { //nolint:unparam // net/rpc wants it
	l.tasks = tasks
	return nil
}

// Post makes every client cycle through its own tasks until the time is over.
func (l *loadRole) Post(o PostOrder, out *PostResult) error {
	var times samples
	start := time.Now()
	err := parallel(context.Background(), o.Clients, o.Clients, func(ctx context.Context, c int) {
		conn := must((&net.Dialer{}).DialContext(ctx, "tcp", o.Address))
		defer conn.Close()
		p := &poster{conn: conn, in: bufio.NewReader(conn), host: o.Address}
		for i := c; time.Since(start) < o.For && ctx.Err() == nil; i = (i + o.Clients) % len(l.tasks) {
			before := time.Now()
			p.post(l.tasks[i], o.Batch)
			times.add(time.Since(before))
		}
	})
	*out = PostResult{Elapsed: time.Since(start), Latency: times.spread()}
	out.Events = int64(out.Latency.Count * max(o.Batch, 1))
	return err
}

// poster is one connection.
type poster struct {
	conn      net.Conn
	in        *bufio.Reader
	host      string
	body, out []byte
}

// post returns when the request was acknowledged.
func (p *poster) post(t *Target, batch int) {
	p.body = p.body[:0]
	if batch == 0 {
		p.body = t.event(p.body, `"sessionId":"`+t.ID+`",`)
	} else {
		p.body = fmt.Appendf(p.body, `{"sessionId":"%s","events":[`, t.ID)
		for range batch {
			p.body = append(t.event(p.body, ""), ',')
		}
		p.body = append(p.body[:len(p.body)-1], "]}"...)
	}
	p.out = fmt.Appendf(p.out[:0], "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		t.Webhook, p.host, len(p.body))
	must(p.conn.Write(append(p.out, p.body...)))
	body := must(successful(http.ReadResponse(p.in, nil)))
	must(io.Copy(io.Discard, body))
	check(body.Close())
}

var words = strings.Repeat("a few words ", 12)

// event adds the task's next event to b.
func (t *Target) event(b []byte, first string) []byte {
	t.Seq++
	b = append(append(b, '{'), first...)
	return fmt.Appendf(b, `"type":"text","id":"txt_%d","text":"%s","timestamp":%d,"eventId":"%s","epoch":1,"seq":%d,"turnId":"%s"}`,
		t.Seq, words, time.Now().UnixMilli(), protocol.NewID(), t.Seq, t.Turn)
}
