package broker_test

import (
	"fmt"
	"testing"
	"time"

	"bellhop/protocol"
)

// used is a finish event with what its turn used.
func used(usage string) string {
	return `'type':'finish','finishReason':'stop','totalUsage':` + usage
}

func TestATasksUsageIsTheSumOfItsClosedTurns(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	got := func() protocol.TaskUsage {
		sum, err := k.tasks.Usage(k.ctx, k.user.UserID, task.ID)
		k.must(err)
		return *sum
	}
	if sum := got(); sum != (protocol.TaskUsage{}) {
		t.Errorf("without a turn %+v", sum)
	}
	k.mustSend(task.ID, "",
		seqd(1, 1, "t9",
			used(`{'inputTokens':100,'outputTokens':10,'costUSD':0.1,'contextTokens':110,'contextWindow':1000}`)),
	)
	k.clock.Advance(time.Minute)
	k.mustSend(task.ID, "",
		seqd(1, 2, "t1",
			used(`{'inputTokens':200,'outputTokens':20,'costUSD':0.2,'contextTokens':300,'contextWindow':1000}`)),
		seqd(1, 3, "t5", `'type':'finish','finishReason':'stop'`),
		seqd(1, 4, "t6", used(`{'inputTokens':'many','costUSD':-1}`)),
		seqd(1, 5, "t2", text("of a turn that is open")),
	)
	want := protocol.TaskUsage{Turns: 2, Unreported: 2, Usage: protocol.Usage{
		InputTokens: 300, OutputTokens: 30, CostUSD: 0.3, ContextTokens: 300, ContextWindow: 1000,
	}}
	if sum := got(); sum != want {
		t.Errorf("got %+v, want %+v", sum, want)
	}
	if _, err := k.tasks.Usage(k.ctx, "another", task.ID); protocol.CodeOf(err) != protocol.CodeNotFound {
		t.Errorf("another user: %v", err)
	}
}

func TestTheUsageOfManyTurnsIsReadInPages(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	const turns = 1001
	events := make([]string, turns)
	for i := range events {
		events[i] = seqd(1, int64(i+1), fmt.Sprintf("t%d", i), used(`{'totalTokens':1}`))
	}
	for len(events) > 0 {
		n := min(len(events), 100)
		k.mustSend(task.ID, "", events[:n]...)
		events = events[n:]
	}
	sum, err := k.tasks.Usage(k.ctx, k.user.UserID, task.ID)
	k.must(err)
	if sum.Turns != turns || sum.Usage.TotalTokens != turns {
		t.Errorf("got %+v", sum)
	}
}
