package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"bellhop/client"
	"bellhop/internal/wait"
	"bellhop/protocol"
)

// load is a set of workers that run turns while faults happen.
type load struct {
	s     *stack
	tasks []string

	stop    chan struct{} // closed: no new turns
	workers sync.WaitGroup

	mu       sync.Mutex
	sent     map[string][]sent
	readings map[string][]*reader
	feeds    map[string]*feed
	turns    int

	followers     sync.WaitGroup
	stopFollowing context.CancelFunc
}

// reader is a reading in progress.
type reader struct {
	name       string
	turn       string
	recorder   *recorder
	ended      bool
	failure    string
	transcript client.Transcript
}

func newLoad(s *stack, workers int) *load {
	l := &load{
		s: s, stop: make(chan struct{}), sent: map[string][]sent{},
		readings: map[string][]*reader{}, feeds: map[string]*feed{},
	}
	for i := range workers {
		l.tasks = append(l.tasks, s.task(fmt.Sprintf("worker %d", i)))
	}
	return l
}

// start makes every worker run turns on its task until finish.
func (l *load) start(ctx context.Context, seed uint64) {
	following, stop := context.WithCancel(ctx)
	l.stopFollowing = stop
	for _, task := range l.tasks {
		f := &feed{Messages: map[string]protocol.Message{}}
		l.feeds[task] = f
		l.followers.Go(func() { l.follow(following, task, f) })
	}
	for i, task := range l.tasks {
		l.workers.Go(func() {
			w := &worker{load: l, task: task, rng: rand.New(rand.NewPCG(seed, uint64(i)+1))}
			w.run(ctx)
		})
	}
}

// finish waits for the current turns. A server that has ended by itself fails the test: users would check in for ever.
func (l *load) finish() {
	l.s.t.Helper()
	close(l.stop)
	over := make(chan struct{})
	go func() {
		l.workers.Wait()
		close(over)
	}()
	eventually(l.s.t, "the current turns end", func() bool {
		for _, n := range []*node{l.s.host, l.s.broker} {
			if n.dead(0) {
				l.s.t.Fatalf("%s has ended by itself", n.name)
			}
		}
		select {
		case <-over:
			return true
		default:
			return false
		}
	})
}

// follow reads the broker's feed of a task across all reconnects.
func (l *load) follow(ctx context.Context, task string, f *feed) {
	for change, err := range l.s.user().FollowTask(ctx, task, 0) {
		if err != nil {
			return
		}
		l.mu.Lock()
		f.Revs = append(f.Revs, change.Rev)
		if change.Message != nil {
			f.Messages[change.Message.ID] = *change.Message
		}
		if change.Reset {
			f.Resets++
		}
		l.mu.Unlock()
	}
}

// followed reports whether the feeds have delivered everything.
func (l *load) followed() bool {
	for _, id := range l.tasks {
		task, err := l.s.user().Task(l.s.t.Context(), id)
		if err != nil {
			return false
		}
		l.mu.Lock()
		revs := l.feeds[id].Revs
		current := len(revs) > 0 && revs[len(revs)-1] >= task.Rev
		l.mu.Unlock()
		if !current {
			return false
		}
	}
	return true
}

func (l *load) stopping() bool {
	select {
	case <-l.stop:
		return true
	default:
		return false
	}
}

// addTo adds the users' records to the history.
func (l *load) addTo(h *history) {
	for _, s := range h.Sessions {
		s.Sent, s.Feed = l.sent[s.ID], l.feeds[s.ID]
		for _, r := range l.readings[s.ID] {
			var texts []string
			for _, b := range r.transcript.Blocks {
				if b.Kind == client.BlockText && b.Done {
					texts = append(texts, b.Text)
				}
			}
			s.Readings = append(s.Readings, reading{
				Name: r.name, Turn: r.turn, Conns: r.recorder.connections(), Ended: r.ended, Error: r.failure, Texts: texts,
			})
		}
	}
}

// worker is a user of one task, with all readers of its turns.
type worker struct {
	*load
	task  string
	rng   *rand.Rand
	count int
}

func (w *worker) run(ctx context.Context) {
	for ctx.Err() == nil && !w.stopping() {
		w.turn(ctx)
	}
}

// prompt returns a prompt for the demo agent, sometimes one that leads to a question.
func (w *worker) prompt() string {
	w.count++
	prompts := []string{
		fmt.Sprintf("slow %d", 4+w.rng.IntN(12)),
		"list",
		fmt.Sprintf("write note-%d.txt: line one\nzwei, drei — ünd 🙂 %d", w.count, w.count),
		"run echo hi",
		"read note-1.txt",
		"ask Which colour?",
		"fail",
		fmt.Sprintf("What is in here? %d", w.count),
		"list then write a.txt: x then slow 4 then read a.txt",
	}
	return prompts[w.rng.IntN(len(prompts))]
}

// turn checks a message in until that succeeds, and reads its turn to the end.
func (w *worker) turn(ctx context.Context) {
	text := w.prompt()
	me := &reader{recorder: &recorder{}}
	c := client.New(w.s.api, patient(w.s.token, me.recorder))
	req := &protocol.CheckInRequest{
		TaskID: w.task, Message: text, MessageID: protocol.NewID(), BindPrompt: w.rng.IntN(2) == 0,
	}
	stream := w.checkIn(ctx, c, req)
	if stream == nil {
		return
	}
	me.name = fmt.Sprintf("starter of %s (%q)", stream.TurnID, text)
	turnCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	side := &sideline{worker: w, ctx: turnCtx}
	if w.rng.IntN(4) == 0 {
		side.interruptAfter = 1 + w.rng.IntN(12)
	}
	side.watch = w.rng.IntN(2) == 0
	side.approve = w.rng.IntN(3) > 0
	w.read(turnCtx, me, stream, side.part)
	me.turn = stream.TurnID
	cancel()
	side.group.Wait()
	w.keep(me)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turns++
	w.sent[w.task] = append(w.sent[w.task], sent{MessageID: req.MessageID, TurnID: stream.TurnID, Text: text})
}

func (w *worker) keep(r *reader) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.readings[w.task] = append(w.readings[w.task], r)
}

func (w *worker) checkIn(ctx context.Context, c *client.Client, req *protocol.CheckInRequest) *client.Stream {
	for {
		stream, err := c.Send(ctx, req)
		if err == nil {
			return stream
		}
		if !pause(ctx, 50*time.Millisecond) {
			return nil
		}
	}
}

func (w *worker) read(ctx context.Context, r *reader, stream *client.Stream, seen func(*protocol.Part)) {
	r.ended = true
	for event, err := range stream.Events(ctx) {
		if err != nil {
			r.ended, r.failure = false, err.Error()
			break
		}
		r.transcript.Apply(event)
		if event.Part != nil && seen != nil {
			seen(event.Part)
		}
	}
}

// pause waits between two attempts; false when ctx has ended.
var pause = wait.For

// sideline holds the events during the reading of a turn: another reader, answers
// to questions, an interrupt.
type sideline struct {
	*worker
	ctx            context.Context // ends with the turn
	group          sync.WaitGroup
	parts          int
	interruptAfter int
	watch          bool
	approve        bool
	asked          map[string]bool
}

func (s *sideline) part(p *protocol.Part) {
	s.parts++
	if s.watch {
		s.watch = false
		s.group.Go(s.attach)
	}
	if s.parts == s.interruptAfter {
		s.group.Go(func() {
			s.until(func(c *client.Client) error {
				// It is not cut off at the end of the turn: the broker would still execute it, perhaps upon the next turn.
				_, err := c.Interrupt(context.WithoutCancel(s.ctx), s.task)
				return err
			})
		})
	}
	question := p.ApprovalID
	if p.Type == protocol.PartDataAsk {
		question = p.ID
	}
	if question == "" || s.asked[question] || p.Type == protocol.PartToolApprovalResponse {
		return
	}
	if s.asked == nil {
		s.asked = map[string]bool{}
	}
	s.asked[question] = true
	answer := &protocol.AnswerRequest{Approved: &s.approve}
	if p.Type == protocol.PartDataAsk {
		answer = &protocol.AnswerRequest{Text: "blue"}
	}
	s.group.Go(func() { s.until(func(c *client.Client) error { return c.Answer(s.ctx, question, answer) }) })
}

// until repeats a call until it succeeds, or until its turn or its question is closed.
func (s *sideline) until(call func(*client.Client) error) {
	for {
		err := call(s.s.user())
		switch protocol.CodeOf(err) {
		case "", protocol.CodeAnswered, protocol.CodeExpired:
			return
		}
		if !pause(s.ctx, 50*time.Millisecond) {
			return
		}
	}
}

// attach is a second reader, who may start at any time. It reads to the end of the turn it
// finds, even if the starter has finished meanwhile.
func (s *sideline) attach() {
	r := &reader{recorder: &recorder{}, name: "watcher of " + s.task}
	c := client.New(s.s.api, patient(s.s.token, r.recorder))
	ctx := context.WithoutCancel(s.ctx)
	for {
		stream, err := c.Watch(ctx, s.task)
		if err == nil {
			s.read(ctx, r, stream, nil)
			s.keep(r)
			return
		}
		if !pause(s.ctx, 50*time.Millisecond) {
			return
		}
	}
}

// summary describes the extent of a run.
func (l *load) summary(h *history) string {
	events, readings, conns, gaps := 0, 0, 0, 0
	ends := map[string]int{}
	for _, s := range h.Sessions {
		events += len(s.Journal)
		readings += len(s.Readings)
		for _, r := range s.Readings {
			conns += len(r.Conns)
			for _, c := range r.Conns {
				if len(c.Frames) > 0 && partOf(c.Frames[0]).Type == protocol.PartDataResume && c.After != "" &&
					strings.Contains(c.Frames[0].Data, `"gap"`) {
					gaps++
				}
			}
		}
		for _, t := range s.BrokerTurns {
			ends[strings.TrimSpace(string(t.Finish)+" "+t.Reason)]++
		}
	}
	return fmt.Sprintf("%d turns read to their end, %d events, %d readings over %d connections, %d gaps; "+
		"turns ended with %v", l.turns, events, readings, conns, gaps, ends)
}
