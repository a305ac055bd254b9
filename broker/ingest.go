package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"bellhop/broker/sequencer"
	"bellhop/internal/failpoint"
	"bellhop/internal/generations"
	"bellhop/internal/observe"
	"bellhop/protocol"
)

// Ingest applies the effects of hosts' events. No other code does, whether an event
// comes by the webhook or through the Reconciler.
type Ingest struct {
	Store      IngestStore
	Updater    *Updater
	Reconciler *Reconciler // woken after a gap; may be nil

	Incarnation *Incarnation // of the database; may be nil

	Lives *HostLives // nil: events of every life are accepted

	Now func() time.Time
	Log *slog.Logger

	Observer observe.Observer // may be nil

	Remember *int // tasks in each cache; nil = DefaultRemembered

	caches sync.Once
	cached remembered
}

// DefaultRemembered is the number of tasks whose keys, tokens and last states a broker remembers.
const DefaultRemembered = 20_000

// remembered saves Ingest queries. It changes no result.
type remembered struct {
	secrets *secretCache
	last    lastSeen
}

func (s *Ingest) remembered() *remembered {
	s.caches.Do(func() {
		limit := DefaultRemembered
		if s.Remember != nil {
			limit = *s.Remember
		}
		s.cached.secrets = generations.New[string, cachedKeys](limit)
		s.cached.last.tasks = generations.New[string, Task](limit)
	})
	return &s.cached
}

// IngestStore is what Ingest stores besides the changes of a task.
type IngestStore interface {
	AppendStore
	// Write runs fn in a transaction, and again after a deadlock.
	Write(ctx context.Context, fn func(ctx context.Context) error) error
	// LockTask locks the task's row. It also finds deleted tasks.
	LockTask(ctx context.Context, id string) (*Task, error)
	// KnownEvents returns the stored events with one of these ids.
	KnownEvents(ctx context.Context, taskID string, ids []string) ([]StoredEvent, error)
	// AddRefused records a refused event (reliability IN-6).
	AddRefused(ctx context.Context, a *RefusedEvent) error
	// WebhookKeys returns the task's webhook secret, also of a deleted task, and the passwords
	// that its host signs with.
	WebhookKeys(ctx context.Context, taskID string, now time.Time) (*WebhookKeys, error)
}

// Inbound is an event in two forms: the JSON that was sent, and the decoded value.
type Inbound struct {
	Raw    json.RawMessage
	Event  *protocol.Event
	Prompt *protocol.TurnPrompt // of the event's turn, if the host sent it
}

// Ingest stores events and their effects in one transaction, all or nothing.
// claimTurn is the turn of the webhook token. Errors are those of protocol section
// 1.4; in a batch Index names the first invalid event. Two kinds of refusal store
// something: events of an ended epoch are kept as late, and different content under
// a known id is recorded.
//
// A program that is not the host may have its webhook token. If an event begins an epoch,
// the host is asked for its epoch; CodeUnavailable when it cannot be asked.
func (s *Ingest) Ingest(
	ctx context.Context, taskID, claimTurn string, events []Inbound,
) (*protocol.IngestResponse, error) {
	response, err := s.ingest(ctx, taskID, claimTurn, 0, events)
	if protocol.CodeOf(err) != protocol.CodeUnverified {
		return response, err
	}
	epoch, unknown := s.hostEpoch(ctx, taskID)
	if unknown != nil {
		return nil, unknown
	}
	if response, err = s.ingest(ctx, taskID, claimTurn, epoch, events); protocol.CodeOf(err) == protocol.CodeUnverified {
		s.Log.WarnContext(ctx, "event refused: its host has not begun its epoch", "task", taskID, "host_epoch", epoch)
	}
	return response, err
}

// verifyTimeout limits how long the sender of an event waits for the task's host.
const verifyTimeout = 5 * time.Second

// hostEpoch asks the task's host for its epoch.
func (s *Ingest) hostEpoch(ctx context.Context, taskID string) (int64, error) {
	unavailable := protocol.Error{
		Code: protocol.CodeUnavailable, Message: "The agent host could not be asked for its epoch", RetryAfter: 5,
		Hint: "Check that the broker reaches the task's agent host",
	}
	if s.Reconciler == nil {
		return 0, &unavailable
	}
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	epoch, err := s.Reconciler.hostEpoch(ctx, taskID)
	if err != nil {
		unavailable.Err = err
		return 0, &unavailable
	}
	return epoch, nil
}

// ingest is Ingest with the epoch that the host has confirmed, 0 for none.
func (s *Ingest) ingest(
	ctx context.Context, taskID, claimTurn string, verified int64, events []Inbound,
) (*protocol.IngestResponse, error) {
	ctx, operation := observe.Begin(ctx, s.Observer, observe.Start{Operation: observe.Ingest})
	response, err := s.storeEvents(ctx, taskID, claimTurn, verified, events)
	out := observe.Outcome{Err: err}
	if err == nil {
		out.Accepted, out.Duplicates = response.Accepted, response.Duplicates
	}
	if out.Accepted > 0 {
		out.Lag = lagOf(events[0].Event, s.Now())
	}
	operation.End(out)
	return response, err
}

// lagOf returns how long ago a host made an event, 0 if the event has no time.
func lagOf(e *protocol.Event, now time.Time) time.Duration {
	made := madeAt(e)
	if made == 0 {
		return 0
	}
	return now.Sub(time.UnixMilli(made))
}

// madeAt returns when a host made an event, in milliseconds since 1970; 0 if the event has no time.
func madeAt(e *protocol.Event) int64 {
	made, err := strconv.ParseInt(string(e.Timestamp), 10, 64)
	if err != nil {
		return 0
	}
	return max(made, 0)
}

func (s *Ingest) storeEvents(
	ctx context.Context, taskID, claimTurn string, verified int64, events []Inbound,
) (*protocol.IngestResponse, error) {
	if len(events) == 0 {
		return nil, protocol.Errorf(protocol.CodeInvalid, "There is no event in the body")
	}
	identified, err := identify(taskID, claimTurn, events)
	if err != nil {
		return nil, err
	}
	if failpoint.Mutated("ack-before-commit") {
		go func() { _, _ = s.transact(context.WithoutCancel(ctx), taskID, verified, identified) }()
		last := identified[len(identified)-1].event
		return &protocol.IngestResponse{
			Success: true, Accepted: len(identified), Cursor: &protocol.Cursor{Epoch: last.Epoch, Seq: last.Seq},
		}, nil
	}
	done := s.append(ctx, taskID, identified)
	if done == nil {
		if done, err = s.transact(ctx, taskID, verified, identified); err != nil {
			return nil, err
		}
	}
	failpoint.Hit("ingest-after-commit")
	if done.changed() {
		s.Updater.notify(done.task)
	}
	if done.missesEvents() && s.Reconciler != nil {
		s.Reconciler.Wake(taskID)
	}
	if done.decision.Refusal != nil {
		return nil, done.decision.Refusal
	}
	return done.response(), nil
}

// ingested is a request whose transaction was committed.
type ingested struct {
	*effects
	decision sequencer.Decision
}

// missesEvents reports whether the host has events that the broker should have.
func (i *ingested) missesEvents() bool {
	return i.strayTurn || i.decision.Refusal != nil && i.decision.Refusal.Code == protocol.CodeGap
}

func (i *ingested) response() *protocol.IngestResponse {
	d := &i.decision
	response := &protocol.IngestResponse{Success: true, Accepted: len(d.Accepted), Duplicates: d.Duplicates}
	if failpoint.Mutated("duplicates-counted-as-new") {
		response.Accepted += d.Duplicates
	}
	if d.Positioned {
		response.Cursor = &d.Cursor
	}
	return response
}

// transact first assumes that events which continue at the task's cursor are new.
// If the store finds that one is not, transact looks all of them up.
func (s *Ingest) transact(
	ctx context.Context, taskID string, verified int64, events []incomingEvent,
) (*ingested, error) {
	done, err := s.attempt(ctx, taskID, verified, events, false)
	if errors.Is(err, ErrTaken) {
		done, err = s.attempt(ctx, taskID, verified, events, true)
	}
	if err != nil {
		return nil, err
	}
	if done.decision.Refusal == nil {
		s.remembered().last.tasks.Put(done.task.ID, *done.task)
	}
	return done, nil
}

func (s *Ingest) attempt(
	ctx context.Context, taskID string, verified int64, events []incomingEvent, lookup bool,
) (*ingested, error) {
	var done *ingested
	err := s.Store.Write(ctx, func(ctx context.Context) error {
		task, err := s.lock(ctx, taskID)
		if err != nil {
			return err
		}
		done = &ingested{effects: &effects{taskTx: s.Updater.begin(task)}}
		if done.decision, err = s.decide(ctx, task, verified, events, lookup); err != nil {
			return err
		}
		if done.decision.Refusal != nil {
			err = s.refuse(ctx, done, events)
		} else {
			err = done.accept(ctx, done.decision, events)
		}
		if err == nil {
			err = done.save(ctx)
		}
		failpoint.Hit("ingest-before-commit")
		return err
	})
	return done, err
}

// lock locks the task's row before anything else is read.
func (s *Ingest) lock(ctx context.Context, taskID string) (*Task, error) {
	task, err := s.Store.LockTask(ctx, taskID)
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		return nil, errNotConfigured()
	}
	if err == nil && task.DeletedAt != nil {
		return nil, protocol.Errorf(protocol.CodeGone, "Task deleted")
	}
	return task, err
}

// decide calls the sequencer. It accepts any epoch from a host that does not serve its events,
// because such a host cannot be asked for its epoch.
func (s *Ingest) decide(
	ctx context.Context, task *Task, verified int64, events []incomingEvent, lookup bool,
) (sequencer.Decision, error) {
	if !task.HostEvents {
		verified = protocol.MaxPosition
	}
	state := sequencer.State{Cursor: task.Cursor, Verified: verified}
	order, err := sequencerEvents(events, nil)
	if err == nil && (lookup || !state.Continues(order)) {
		if state.Known, err = s.known(ctx, task.ID, events); err == nil && len(state.Known) > 0 {
			order, err = sequencerEvents(events, state.Known)
		}
	}
	if err != nil {
		return sequencer.Decision{}, err
	}
	return sequencer.Decide(state, order), nil
}

// known loads the stored events that have the same ids as these events.
func (s *Ingest) known(ctx context.Context, taskID string, events []incomingEvent) (map[string]sequencer.Known, error) {
	ids := make([]string, 0, len(events))
	for i := range events {
		ids = append(ids, events[i].id)
	}
	found, err := s.Store.KnownEvents(ctx, taskID, ids)
	if err != nil {
		return nil, err
	}
	known := make(map[string]sequencer.Known, len(found))
	for i := range found {
		digest, err := storedDigest(&found[i])
		if err != nil {
			return nil, fmt.Errorf("task %s: stored event %s: %w", taskID, found[i].EventID, err)
		}
		known[found[i].EventID] = sequencer.Known{
			Digest: digest, Position: protocol.Cursor{Epoch: found[i].Epoch, Seq: found[i].Seq}, Late: found[i].Late,
		}
	}
	return known, nil
}

// storedDigest returns the digest of an event, "" if retention removed its body.
func storedDigest(e *StoredEvent) (string, error) {
	if e.Body == nil {
		return "", nil
	}
	return sequencer.Digest(e.Body)
}

// refuse stores the late events and the refused one.
func (s *Ingest) refuse(ctx context.Context, done *ingested, events []incomingEvent) error {
	d := &done.decision
	for _, i := range d.Late {
		done.addEvent(&events[i], true)
	}
	code := d.Refusal.Code
	if code != protocol.CodeConflict && code != protocol.CodeDiverged {
		return nil
	}
	bad := &events[d.Refused]
	s.Log.WarnContext(ctx, "event refused", "task", done.task.ID, "event", bad.id, "code", string(code))
	return s.Store.AddRefused(ctx, &RefusedEvent{
		ID: protocol.NewID(), TaskID: done.task.ID, What: string(code), EventID: bad.id, Body: bad.raw, At: done.now,
	})
}
