package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"bellhop/internal/jsonlines"
	"bellhop/internal/process"
)

// maxLine is below the SDK's own limit, beyond which it hangs up.
const maxLine = 10<<20 - 1<<10

// stdoutGrace is how long the stdout of an ended program may stay open; only
// a descendant that nobody found holds it.
const stdoutGrace = time.Second

// saying is one thing for a turn to hear; one member is set.
type saying struct {
	update   *update
	question *question
	finish   *finish
	garbage  string
}

// finish is the response to the prompt.
type finish struct {
	response sdk.PromptResponse
	err      error
}

// program is a running or ended agent program.
type program struct {
	process *process.Process
	conn    *sdk.ClientSideConnection
	log     *slog.Logger
	grace   time.Duration
	closing chan struct{} // nothing new is begun
	once    sync.Once     // closes closing and the input
	ended   chan struct{} // the program is gone and its last line delivered
	deliver func(p *program, s saying)
	stirred chan struct{} // gets a value when an update comes

	// Used by the goroutine of Run alone.
	session      sdk.SessionId
	capabilities sdk.AgentCapabilities
}

// start starts the program. deliver gets its updates in order, by one
// goroutine; ask its permission requests.
func start(command process.Command, log *slog.Logger, grace time.Duration, deliver func(*program, saying), ask asker) (*program, error) {
	child, err := process.Start(command)
	if err != nil {
		return nil, err
	}
	p := &program{
		process: child,
		log:     log,
		grace:   grace,
		closing: make(chan struct{}),
		ended:   make(chan struct{}),
		deliver: deliver,
		stirred: make(chan struct{}, 1),
	}
	read, write := io.Pipe()
	p.conn = sdk.NewClientSideConnection(&client{program: p, ask: ask}, child.Stdin(), read)
	p.conn.SetLogger(slog.New(slog.DiscardHandler)) // it logs whole messages
	go p.run(write)
	return p, nil
}

// run passes on what the program says until it is gone. A program that has
// closed its stdout has nothing to say any more: it is ended.
func (p *program) run(responses *io.PipeWriter) {
	defer close(p.ended)
	stdout := p.process.Stdout()
	read := make(chan struct{})
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		<-p.process.Done()
		wait(read, stdoutGrace)
		_ = stdout.Close()
	}()
	p.read(jsonlines.NewReader(stdout, maxLine), responses)
	close(read)
	_ = responses.Close()
	if !wait(p.process.Done(), p.grace) {
		if err := p.process.Kill(); err != nil {
			p.log.Error("agent cannot be killed", "err", err)
		}
	}
	<-closed
	<-p.conn.Done()
}

func (p *program) read(lines *jsonlines.Reader, responses io.Writer) {
	for {
		raw, err := lines.Next()
		switch {
		case errors.Is(err, jsonlines.ErrTooLong):
			p.deliver(p, saying{garbage: fmt.Sprintf("a line over %d MiB", maxLine>>20)})
		case err != nil:
			return
		case len(bytes.TrimSpace(raw)) > 0:
			p.line(raw, responses)
		}
	}
}

// line delivers an update and passes everything else to the SDK. An update is
// heard before the next line is looked at: the SDK itself would run a request
// beside the updates before it, and hang up on an agent that talks faster than
// its updates are made durable.
func (p *program) line(raw []byte, responses io.Writer) {
	var head struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	switch err := json.Unmarshal(raw, &head); {
	case err != nil || head.Method == "" && len(head.ID) == 0:
		p.deliver(p, saying{garbage: "a line that is no message: " + excerpt(raw)})
		return
	case head.Method != sdk.ClientMethodSessionUpdate:
		_, _ = responses.Write(append(bytes.Clone(raw), '\n'))
		return
	}
	select {
	case p.stirred <- struct{}{}:
	default:
	}
	var params struct {
		Update update `json:"update"`
	}
	if err := json.Unmarshal(head.Params, &params); err != nil {
		p.deliver(p, saying{garbage: "an update that cannot be read: " + excerpt(raw)})
		return
	}
	p.deliver(p, saying{update: &params.Update})
}

// quiet waits until no update has come for a time: an agent may answer
// session/load before it replays the session.
func (p *program) quiet(ctx context.Context, within, atMost time.Duration) error {
	limit := time.NewTimer(atMost)
	defer limit.Stop()
	for {
		still := time.NewTimer(within)
		select {
		case <-p.stirred:
			still.Stop()
		case <-still.C:
			return nil
		case <-limit.C:
			still.Stop()
			return nil
		case <-p.ended:
			still.Stop()
			return nil
		case <-ctx.Done():
			still.Stop()
			return ctx.Err()
		}
	}
}

// leaving reports whether the program can take no further turn.
func (p *program) leaving() bool {
	select {
	case <-p.closing:
	case <-p.process.Done():
	case <-p.ended:
	case <-p.conn.Done():
	default:
		return false
	}
	return true
}

// stop ends the program: the end of its input, then signals.
func (p *program) stop(ctx context.Context) error {
	p.once.Do(func() {
		close(p.closing)
		_ = p.process.Stdin().Close()
	})
	grace := time.NewTimer(p.grace)
	defer grace.Stop()
	select {
	case <-p.ended:
		return nil
	case <-grace.C:
	case <-ctx.Done():
	}
	if err := p.process.Stop(ctx, p.grace); err != nil {
		return err
	}
	<-p.ended
	return nil
}

// signal ends the program with signals alone; ended tells when.
func (p *program) signal(ctx context.Context) {
	if err := p.process.Stop(ctx, p.grace); err != nil {
		p.log.Error("agent cannot be stopped", "err", err)
	}
}

// epitaph says how the ended program ended, with its last words.
func (p *program) epitaph(what string) string {
	how := "it ended"
	if err := p.process.Wait(); err != nil {
		how = err.Error()
	}
	return strings.Join(append([]string{what + ": " + how}, p.process.Tail()...), "\n")
}

// excerpt is the beginning of a line, as printable text.
func excerpt(raw []byte) string {
	const most = 120
	cut := ""
	if len(raw) > most {
		raw, cut = raw[:most], "…"
	}
	return strings.Trim(fmt.Sprintf("%+q", raw), `"`) + cut
}

// wait reports whether done is closed within the time.
func wait(done <-chan struct{}, within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
