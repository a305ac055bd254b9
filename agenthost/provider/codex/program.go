package codex

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"bellhop/internal/jsonlines"
	"bellhop/internal/process"
	"bellhop/protocol"
)

// queued is how many lines wait for a program that does not read.
const queued = 64

// stdoutGrace is how long the stdout of an ended program may stay open; only
// a descendant that nobody found holds it.
const stdoutGrace = time.Second

var errGone = errors.New("the agent ended")

// saying is one message of the program, or what was wrong with a line.
type saying struct {
	message
	garbage string // "" for a line that can be used
}

// program is a running or ended app server.
type program struct {
	process *process.Process
	log     *slog.Logger
	grace   time.Duration
	outbox  chan message
	closing chan struct{}              // the input ends; nothing new is begun
	once    sync.Once                  // closes closing
	ended   chan struct{}              // the program is gone and its last line delivered
	deliver func(p *program, s saying) // called by one goroutine, in order

	mu      sync.Mutex
	last    int64
	waiting map[string]chan message // id → who called

	// Of the thread it has open; used by the goroutine of Run alone.
	thread string
	spent  tokens // the thread's total at the end of the last turn
	counts bool   // spent is known
}

func start(command process.Command, log *slog.Logger, grace time.Duration, deliver func(*program, saying)) (*program, error) {
	child, err := process.Start(command)
	if err != nil {
		return nil, err
	}
	p := &program{
		process: child,
		log:     log,
		grace:   grace,
		outbox:  make(chan message, queued),
		closing: make(chan struct{}),
		ended:   make(chan struct{}),
		deliver: deliver,
		waiting: map[string]chan message{},
	}
	go p.write()
	go p.run()
	return p, nil
}

// send queues a message; it gives up when the program is gone or ctx ends.
func (p *program) send(ctx context.Context, m message) {
	select {
	case p.outbox <- m:
	case <-p.process.Done():
	case <-ctx.Done():
	}
}

// request sends a request whose response is delivered like everything else.
func (p *program) request(ctx context.Context, method string, params any) string {
	p.mu.Lock()
	p.last++
	id := strconv.FormatInt(p.last, 10)
	p.mu.Unlock()
	p.send(ctx, message{ID: json.RawMessage(id), Method: method, Params: encode(params)})
	return id
}

// call sends a request and waits for its result. The error is a *refusal if the
// program said no.
func (p *program) call(ctx context.Context, method string, params, result any) error {
	answer := make(chan message, 1)
	p.mu.Lock()
	p.last++
	id := strconv.FormatInt(p.last, 10)
	p.waiting[id] = answer
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.waiting, id)
	}()
	p.send(ctx, message{ID: json.RawMessage(id), Method: method, Params: encode(params)})
	select {
	case m := <-answer:
		switch {
		case m.Error != nil:
			return fmt.Errorf("%s: %w", method, m.Error)
		case result == nil:
			return nil
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		return nil
	case <-p.ended:
		return fmt.Errorf("%s: %w", method, errGone)
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	}
}

// write passes queued messages on. The end of the program ends a blocked write.
func (p *program) write() {
	defer func() { _ = p.process.Stdin().Close() }()
	writer := jsonlines.NewWriter(p.process.Stdin())
	for {
		select {
		case m := <-p.outbox:
			if err := writer.Write(m); err != nil {
				p.log.Warn("agent does not read", "err", err)
				return
			}
		case <-p.closing:
			return
		case <-p.process.Done():
			return
		}
	}
}

// run delivers what the program says until it is gone. A program that has
// closed its stdout has nothing to say any more: it is ended.
func (p *program) run() {
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
	p.read(jsonlines.NewReader(stdout, protocol.MaxLine))
	close(read)
	if !wait(p.process.Done(), p.grace) {
		if err := p.process.Kill(); err != nil {
			p.log.Error("agent cannot be killed", "err", err)
		}
	}
	<-closed
}

func (p *program) read(lines *jsonlines.Reader) {
	for {
		raw, err := lines.Next()
		switch {
		case errors.Is(err, jsonlines.ErrTooLong):
			p.deliver(p, saying{garbage: fmt.Sprintf("a line over %d MiB", protocol.MaxLine>>20)})
		case err != nil:
			return
		case len(bytes.TrimSpace(raw)) > 0:
			p.heard(parse(raw))
		}
	}
}

// heard gives a response to its caller and delivers anything else.
func (p *program) heard(s saying) {
	if s.garbage == "" && s.Method == "" {
		p.mu.Lock()
		answer := p.waiting[string(s.ID)]
		delete(p.waiting, string(s.ID))
		p.mu.Unlock()
		if answer != nil {
			answer <- s.message
			return
		}
	}
	p.deliver(p, s)
}

// leaving reports whether the program can take no further turn.
func (p *program) leaving() bool {
	select {
	case <-p.closing:
	case <-p.process.Done():
	case <-p.ended:
	default:
		return false
	}
	return true
}

// stop ends the program: the end of its input, then signals.
func (p *program) stop(ctx context.Context) error {
	p.once.Do(func() { close(p.closing) })
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

// parse reads one line. It is copied: the reader uses its buffer again.
func parse(raw []byte) saying {
	var s saying
	if err := json.Unmarshal(raw, &s.message); err != nil || s.Method == "" && len(s.ID) == 0 {
		return saying{garbage: "a line that is no message: " + excerpt(raw)}
	}
	return s
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
