package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"time"

	"bellhop/internal/sse"
	"bellhop/protocol"
)

// agentSession is a workspace of the host with an agent in it.
type agentSession struct {
	*session
	on    *agentHost
	agent subject
}

func (h *agentHost) openAgent(ctx context.Context, a subject) *agentSession {
	model := map[string]string{"opencode": "openai-compatible/mock-1", "codex": "gpt-5.5"}[a.name]
	opened := h.open(ctx, &protocol.OpenSessionRequest{WebhookURL: h.hook.hook, Agent: a.name, Model: model})
	return &agentSession{session: opened, on: h, agent: a}
}

// leave ends the sessions' programs. A session that does not end now ends with the
// host.
func (h *agentHost) leave(sessions []*agentSession) {
	for _, s := range sessions {
		_ = caught(func() {
			check(h.send(context.Background(), http.MethodDelete, "/session/"+s.id, hostPassword, nil).Close())
		})
	}
}

// turn reads the events of a turn until its end.
func (s *agentSession) turn(ctx context.Context, prompt string, see func(p *protocol.Part, at time.Time)) {
	body := s.prompt(ctx, prompt)
	defer body.Close()
	for in := sse.NewReader(body); ; {
		frame, err := in.Next()
		at := time.Now()
		if errors.Is(err, io.EOF) {
			err = errors.New("the turn has no end")
		}
		check(err)
		var p protocol.Part
		check(json.Unmarshal(frame.Data, &p))
		see(&p, at)
		if !p.Terminal() {
			continue
		}
		if p.Type != protocol.PartFinish {
			check(fmt.Errorf("the turn ended with %s", frame.Data))
		}
		return
	}
}

// latency makes all sessions count at once, and meanwhile requests the host's
// health.
func (h *agentHost) latency(sessions []*agentSession, pieces int) (added, bare *samples) {
	added, bare = &samples{}, &samples{}
	asking, stop := context.WithCancel(h.ctx)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		h.healths(asking, bare)
	}()
	defer func() {
		stop()
		<-asked
	}()
	h.parallel(len(sessions), len(sessions), func(ctx context.Context, i int) {
		written, read := sessions[i].counts(ctx, pieces)
		if n := written.lags(read, added); n < pieces*9/10 {
			check(fmt.Errorf("session %s: %d pieces of %d were seen on both sides", sessions[i].id, n, pieces))
		}
	})
	return added, bare
}

// healths measures a round trip every 50 ms.
func (h *agentHost) healths(ctx context.Context, into *samples) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		start := time.Now()
		if answers(ctx, h.url+"/healthz") {
			into.add(time.Since(start))
		}
	}
}

// counts returns when the agent wrote the numbers, and when they were read here.
func (s *agentSession) counts(ctx context.Context, pieces int) (written, read *stamps) {
	read = newStamps()
	notes := stampsOf(s.on.dir, s.id)
	if err := os.Truncate(notes, 0); !errors.Is(err, fs.ErrNotExist) { // the earlier rounds have the same numbers
		check(err)
	}
	collect := func() *stamps { return must(readStamps(notes)) }
	if s.agent.tick {
		collect = s.listen(ctx)
	}
	err := caught(func() {
		s.turn(ctx, fmt.Sprintf(s.agent.count, pieces), func(p *protocol.Part, at time.Time) {
			if p.Type != protocol.PartTextDelta || p.Text == nil {
				return
			}
			for _, found := range s.agent.mark.FindAllStringSubmatch(`"`+*p.Text+`"`, -1) {
				read.see(found[1], at.UnixNano())
			}
		})
	})
	written = collect() // ends the subscription, if there is one
	check(err)
	return written, read
}
