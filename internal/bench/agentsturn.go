package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"time"

	"bellhop/internal/sse"
	"bellhop/protocol"
)

// agentSession is a workspace of the host with an agent in it.
type agentSession struct {
	host  *agentHost
	agent subject
	id    string
	token string
}

func (h *agentHost) openAgent(ctx context.Context, a subject) (*agentSession, error) {
	model := map[string]string{"opencode": "openai-compatible/mock-1", "codex": "gpt-5.5"}[a.name]
	s := &agentSession{host: h, agent: a, id: protocol.NewID()}
	answer, err := h.open(ctx, &protocol.OpenSessionRequest{SessionID: s.id, WebhookURL: h.hook.url + "/webhook", Agent: a.name, Model: model})
	if err != nil {
		return nil, err
	}
	s.token = answer.Token
	return s, nil
}

// leave ends the sessions' programs. Sessions that do not end do so with the host.
func (h *agentHost) leave(sessions []*agentSession) {
	for _, s := range sessions {
		if resp, err := h.send(context.Background(), http.MethodDelete, "/session/"+s.id, hostPassword, nil); err == nil {
			_ = resp.Body.Close()
		}
	}
}

// turn reads a turn to its end.
func (s *agentSession) turn(ctx context.Context, prompt string, see func(p *protocol.Part, at time.Time)) error {
	resp, err := s.host.send(ctx, http.MethodPost, "/stream/"+url.PathEscape(s.id), s.token, &protocol.PromptRequest{Prompt: prompt})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for in := sse.NewReader(resp.Body); ; {
		frame, err := in.Next()
		at := time.Now()
		if errors.Is(err, io.EOF) {
			return errors.New("the turn has no end")
		}
		if err != nil {
			return err
		}
		var p protocol.Part
		if err := json.Unmarshal(frame.Data, &p); err != nil {
			return err
		}
		see(&p, at)
		if !p.Terminal() {
			continue
		}
		if p.Type != protocol.PartFinish {
			return fmt.Errorf("the turn ended with %s", frame.Data)
		}
		return nil
	}
}

// latency has all sessions count at once, and asks the host for its health beside.
func (h *agentHost) latency(ctx context.Context, sessions []*agentSession, pieces int) (added, bare *histogram, err error) {
	added, bare = &histogram{}, &histogram{}
	asking, stop := context.WithCancel(ctx)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		h.healths(asking, bare)
	}()
	matched := make([]int, len(sessions))
	err = together(ctx, len(sessions), len(sessions), func(ctx context.Context, i int) error {
		said, told, err := sessions[i].counts(ctx, pieces)
		if err == nil {
			matched[i] = said.lags(told, added)
		}
		return err
	})
	stop()
	<-asked
	for i, n := range matched {
		if err == nil && n < pieces*9/10 {
			err = fmt.Errorf("session %s: %d pieces of %d were seen on both sides", sessions[i].id, n, pieces)
		}
	}
	return added, bare, err
}

// healths takes as many round trips as there are pieces.
func (h *agentHost) healths(ctx context.Context, into *histogram) {
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

// forget empties the notes of the session's tee, if it has one.
func (s *agentSession) forget() error {
	err := os.Truncate(stampsOf(s.host.dir, s.id), 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// counts tells when the numbers were said by the agent, and when read here.
func (s *agentSession) counts(ctx context.Context, pieces int) (said, told *stamps, err error) {
	told = newStamps()
	if err := s.forget(); err != nil { // the rounds before have the same numbers
		return nil, nil, err
	}
	hear := func() (*stamps, error) { return readStamps(stampsOf(s.host.dir, s.id)) }
	if s.agent.tick {
		if hear, err = s.listen(ctx); err != nil {
			return nil, nil, err
		}
	}
	err = s.turn(ctx, fmt.Sprintf(s.agent.count, pieces), func(p *protocol.Part, at time.Time) {
		if p.Type != protocol.PartTextDelta || p.Text == nil {
			return
		}
		for _, found := range s.agent.mark.FindAllStringSubmatch(`"`+*p.Text+`"`, -1) {
			told.see(found[1], at.UnixNano())
		}
	})
	said, heard := hear()
	return said, told, errors.Join(err, heard)
}
