//go:build agents

package agents

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"

	"bellhop/client"
	"bellhop/protocol"
)

// talk is a turn as the user reads it.
type talk struct {
	t          *testing.T
	d          *dev
	task       string
	next       func() (client.Event, error, bool)
	transcript client.Transcript
	types      []string // of all parts
	deltas     int      // of text
	asked      string   // id of the question; a replay contains it again
}

// send checks a message in; nothing is read yet.
func (d *dev) send(task, message string) *talk {
	d.t.Helper()
	stream, err := d.user.Send(d.t.Context(), &protocol.CheckInRequest{TaskID: task, Message: message})
	if err != nil {
		d.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	next, stop := iter.Pull2(stream.Events(ctx))
	d.t.Cleanup(func() {
		stop()
		cancel()
	})
	return &talk{t: d.t, d: d, task: task, next: next}
}

// until reads up to the first part that satisfies is; false if the turn ended before.
func (k *talk) until(is func(*protocol.Part) bool) bool {
	k.t.Helper()
	for {
		event, err, ok := k.next()
		if !ok {
			return false
		}
		if err != nil {
			k.t.Fatalf("read the turn: %v; so far %v of %q", err, k.types, k.transcript.Text())
		}
		k.transcript.Apply(event)
		if event.Part == nil {
			continue
		}
		k.types = append(k.types, event.Part.Type)
		if event.Part.Type == protocol.PartTextDelta {
			k.deltas++
		}
		if is(event.Part) {
			return true
		}
	}
}

// question reads until the agent asks for permission.
func (k *talk) question() string {
	k.t.Helper()
	if k.ended() {
		k.t.Fatalf("the turn ended without a question: %v, %+v", k.types, k.transcript.End)
	}
	return k.asked
}

// ended reads until the turn ends; false if the agent asks for another permission before.
func (k *talk) ended() bool {
	k.t.Helper()
	return !k.until(func(p *protocol.Part) bool {
		if p.Type != protocol.PartToolApprovalRequest || p.ApprovalID == k.asked {
			return false
		}
		k.asked = p.ApprovalID
		return true
	})
}

func (k *talk) end() *client.End {
	k.t.Helper()
	if !k.ended() {
		k.t.Fatalf("the agent asks instead of ending its turn: %v, %q", k.types, k.transcript.Text())
	}
	if k.transcript.End == nil {
		k.t.Fatalf("the stream has no end: %v", k.types)
	}
	return k.transcript.End
}

// finishes expects a turn that finished without error.
func (k *talk) finishes() {
	k.t.Helper()
	if end := k.end(); end.Type != protocol.PartFinish || end.FinishReason != protocol.FinishStop {
		k.t.Fatalf("the turn ended with %+v; parts %v", end, k.types)
	}
}

// answer sends the user's answer. The stream may show the question before the broker has
// received it by webhook, so it retries.
func (d *dev) answer(id string, approved bool) error {
	d.t.Helper()
	var err error
	eventually(d.t, "the broker knows the question", func() bool {
		err = d.user.Answer(d.t.Context(), id, &protocol.AnswerRequest{Approved: &approved, Reason: "The test says so."})
		return protocol.CodeOf(err) != protocol.CodeNotFound
	})
	return err
}

func (d *dev) answers(id string, approved bool) {
	d.t.Helper()
	if err := d.answer(id, approved); err != nil {
		d.t.Fatalf("answer: %v", err)
	}
}

// requestWith returns the request to the model that contains a prompt.
func (d *dev) requestWith(prompt string) string {
	d.t.Helper()
	requests := d.llm.Requests()
	for i := range slices.Backward(requests) {
		if r := &requests[i]; strings.Contains(r.Prompt, prompt) && len(r.Tools()) > 0 {
			return string(r.Body)
		}
	}
	d.t.Fatalf("no model was asked %q", prompt)
	return ""
}
