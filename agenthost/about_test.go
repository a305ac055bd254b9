package agenthost_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/protocol"
)

func endMessage(final string, about agenthost.TextAbout) step {
	return func(_ context.Context, out agenthost.Output) error { return out.EndMessage(final, about) }
}

// What an agent sends with a text is the same in the stream, in the webhook event and in the
// history; without a timestamp the host's counts.
func TestFormatMetadataAndTimestampPassThrough(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	about := agenthost.TextAbout{
		Format: "text", Metadata: json.RawMessage(`{"latency_ms":7,"source_documents":[{"title":"t"}]}`),
		Timestamp: json.RawMessage("1700000000123"),
	}
	tooLong := agenthost.TextAbout{Metadata: json.RawMessage(`{"x":"` + strings.Repeat("y", 65<<10) + `"}`)}
	frames := r.turn("s1", "t1", endMessage("one", about), endMessage("two", tooLong),
		endMessage("three", agenthost.TextAbout{}))
	var ends []protocol.Part
	for _, f := range frames {
		if f.part.Type == protocol.PartTextEnd {
			ends = append(ends, f.part)
		}
	}
	if len(ends) != 3 || len(ends[1].Metadata) > 0 || len(ends[2].Metadata) > 0 {
		t.Fatalf("the stream has %+v", ends)
	}
	same := func(where, format string, metadata, timestamp json.RawMessage) {
		t.Helper()
		if format != about.Format || string(metadata) != string(about.Metadata) ||
			string(timestamp) != string(about.Timestamp) {
			t.Errorf("%s: %s %s %s", where, format, metadata, timestamp)
		}
	}
	same("the stream", ends[0].Format, ends[0].Metadata, ends[0].Timestamp)
	page, err := r.host.Events(t.Context(), "s1", agenthost.EventsQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range page.Events {
		e, err := protocol.ParseEvent(raw)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case e.Type == protocol.EventText && *e.Text == "one":
			same("the event", e.Format, e.Metadata, e.Timestamp)
		case len(e.Timestamp) == 0, string(e.Timestamp) == string(about.Timestamp):
			t.Errorf("the timestamp of %s", raw)
		}
	}
	lines, err := r.host.History(t.Context(), "s1")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if line.Content != nil && *line.Content == "one" {
			own := map[string]json.RawMessage{}
			if err := json.Unmarshal(line.Metadata, &own); err != nil || len(own["event_id"]) == 0 {
				t.Errorf("metadata %s, %v", line.Metadata, err)
			}
			delete(own, "event_id")
			delete(own, "turn_id")
			metadata, _ := json.Marshal(own)
			same("the history", line.Format, metadata, line.Timestamp)
		}
	}
}

// The warning is a member of its own, also if the policy adds a sentence.
func TestAPermissionHasPromptWarningAndExpiryApart(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	question := agenthost.Question{Prompt: "Remove?", ToolName: "rm", Level: "CRITICAL", Warning: "It is gone then."}
	r.agent.script(func(ctx context.Context, out agenthost.Output) error {
		_, err := out.Confirm(ctx, question)
		return err
	})
	stream, err := r.host.Start(t.Context(), r.announce("s1", "t1"), &protocol.PromptRequest{Prompt: "go"})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for {
		frames := r.readN(stream, 1)
		if len(frames) == 0 {
			t.Fatal("the stream ended without a permission")
		}
		p := frames[0].part
		if p.Type != protocol.PartToolApprovalRequest {
			continue
		}
		want := protocol.SecurityWarning{Level: "CRITICAL", Message: "It is gone then."}
		if p.Prompt != "Remove?" || p.SecurityWarning == nil || *p.SecurityWarning != want || p.ExpiresAt == "" {
			t.Errorf("the part is %s", frames[0].json)
		}
		return
	}
}
