package agenthost

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// ActRecord is an act that a broker asked for, and how it was answered.
type ActRecord = core.ActRecord

// actLimit bounds what an act takes. It goes on when the request ends.
const actLimit = 5 * time.Minute

// Acts lets what brokers ask for have its effect once. The journal keeps each act for protocol.ActKept: a later copy of
// its request gets the same answer.
type Acts struct {
	kept Journal
	time func() time.Time

	running *runningActs
}

type runningActs struct {
	mu  sync.Mutex
	all map[actKey]chan struct{} // closed when the act has its answer
}

type actKey struct{ session, id string }

type byAct struct{}

// WithAct returns a context whose request is this act.
func WithAct(ctx context.Context, act *ActRecord) context.Context {
	return context.WithValue(ctx, byAct{}, act)
}

// ActOf returns the act of a request, nil if it has none.
func ActOf(ctx context.Context) *ActRecord {
	act, _ := ctx.Value(byAct{}).(*ActRecord)
	return act
}

func newActs(journal Journal, now func() time.Time) Acts {
	return Acts{journal, now, &runningActs{all: map[actKey]chan struct{}{}}}
}

// Once runs do for an act, unless it ran, and returns the status and the body that do returned. An act whose answer is
// 429 or 5xx has not happened: its copy is another attempt. The same holds for an act that the end of a host's process
// cut off, if again. CodeConflict: an act of this id asked for something else, is older than protocol.ActKept, or was
// cut off.
func (a Acts) Once(ctx context.Context, act *ActRecord, again bool, do func(ctx context.Context)) error {
	done, err := a.begin(ctx, act, again)
	if done == nil || err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(WithAct(context.WithoutCancel(ctx), act), actLimit)
	defer cancel()
	do(ctx)
	write := &core.Write{SessionID: act.SessionID, Acts: []ActRecord{*act}}
	if act.Status == http.StatusTooManyRequests || act.Status >= http.StatusInternalServerError {
		write = &core.Write{SessionID: act.SessionID, DropAct: act.ID}
	}
	// Without this write a copy is refused as one of an act that was cut off, which is as safe.
	_ = a.kept.Write(ctx, write)
	return nil
}

// begin makes it durable that an act begins. Without a function and without an error, act has its answer.
func (a Acts) begin(ctx context.Context, act *ActRecord, again bool) (done func(), err error) {
	if done, err = a.running.enter(ctx, actKey{act.SessionID, act.ID}); err != nil {
		return nil, err
	}
	if known, err := a.answered(ctx, act, again); known || err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// enter waits until no act of the key runs. The returned function ends this one.
func (r *runningActs) enter(ctx context.Context, key actKey) (leave func(), err error) {
	for {
		r.mu.Lock()
		other, busy := r.all[key]
		if !busy {
			ended := make(chan struct{})
			r.all[key] = ended
			r.mu.Unlock()
			return func() {
				r.mu.Lock()
				delete(r.all, key)
				r.mu.Unlock()
				close(ended)
			}, nil
		}
		r.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// answered fills in the answer of an act that has one. Of another it makes it durable that it begins.
func (a Acts) answered(ctx context.Context, act *ActRecord, again bool) (known bool, err error) {
	found, err := a.find(ctx, act)
	switch {
	case err != nil:
		return false, err
	case found == nil:
		return false, a.kept.Write(ctx, &core.Write{
			SessionID: act.SessionID, Acts: []ActRecord{*act}, DropActs: a.time().Add(-protocol.ActKept),
		})
	case found.Status != 0:
		act.Status, act.Answer = found.Status, found.Answer
		return true, nil
	case again:
		act.Seen = found.Seen
		return false, nil
	}
	return false, &protocol.Error{
		Code: protocol.CodeConflict, Message: "The agent host ended while it did this",
		Hint: "It may be done, or done in part. Look at the state of the task, and decide again",
	}
}

// find returns what is stored of an act, nil for a new one.
func (a Acts) find(ctx context.Context, act *ActRecord) (*ActRecord, error) {
	found, err := a.kept.Act(ctx, act.SessionID, act.ID)
	switch {
	case protocol.CodeOf(err) == protocol.CodeNotFound && act.Seen.Before(a.time().Add(-protocol.ActKept)):
		return nil, &protocol.Error{
			Code: protocol.CodeConflict, Message: "The request is older than a week",
			Hint: "Nothing was done. Look at the state of the task, and decide again",
		}
	case protocol.CodeOf(err) == protocol.CodeNotFound:
		return nil, nil
	case err != nil:
		return nil, err
	case !bytes.Equal(found.Digest, act.Digest):
		return nil, &protocol.Error{
			Code: protocol.CodeConflict, Message: "Another request had this " + protocol.HeaderAct,
			Hint: "Give each act a key of its own",
		}
	}
	return found, nil
}

// checkLatest returns CodeConflict for a copy of an act after which the session had another.
func (a Acts) checkLatest(ctx context.Context, act *ActRecord) error {
	found, err := a.find(ctx, act)
	if found == nil || err != nil {
		return err
	}
	latest, err := a.kept.LatestAct(ctx, act.SessionID)
	if err != nil {
		return err
	}
	if latest.ID != act.ID {
		return &protocol.Error{
			Code: protocol.CodeConflict, Message: "This is a copy of an earlier request, and another came after it",
			Hint: "Nothing was done",
		}
	}
	return nil
}
