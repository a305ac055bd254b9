package broker_test

import (
	"slices"
	"testing"

	"bellhop/broker"
	"bellhop/protocol"
)

// The format and the metadata of a text are read with its message, a warning with its question.
func TestARowKeepsFormatMetadataAndWarning(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	in := k.checkIn(task.ID, "go")
	k.mustSend(task.ID, in.TurnID,
		`{'type':'text','id':'a','text':'x','timestamp':7,'format':'text','metadata':{'source_documents':[{'title':'t'}],'latency_ms':7}}`)
	k.mustSend(task.ID, in.TurnID, `{`+opens+`,'level':'WARN','warning':'careful','timestamp':8}`)
	rows := k.messages(task.ID)
	got := rows[len(rows)-1]
	const want = `{"source_documents":[{"title":"t"}],"latency_ms":7}`
	if got.Message != "x" || got.Format != "text" || string(got.Metadata) != want || string(got.Timestamp) != "7" {
		t.Errorf("the message is %+v", got)
	}
	open, err := k.questions.List(k.ctx, k.user.UserID, string(protocol.InteractionOpen), 10)
	if err != nil || len(open) != 1 || open[0].Warning != "careful" || open[0].Level != "WARN" {
		t.Errorf("the question is %+v, %v", open, err)
	}
}

// The host reports a turn of its agent's terminal client as a whole, with its prompt.
func TestATurnOfATerminalIsInTheHistory(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	k.mustSend(task.ID, "", seqd(1, 1, "terminal-1", `'type':'text','id':'a','text':'before'`),
		seqd(1, 2, "terminal-1", finishStop))
	events := inbound(t, seqd(1, 3, "terminal-2", `'type':'text','id':'b','text':'done','origin':'terminal'`),
		seqd(1, 4, "terminal-2", `'type':'finish','finishReason':'stop','origin':'terminal'`))
	broker.AttachPrompts(events, []protocol.TurnPrompt{{TurnID: "terminal-2", Text: "do it"}})
	_, err := k.ingest.Ingest(k.ctx, task.ID, "", events)
	k.must(err)
	var got []string
	for _, m := range k.messages(task.ID) {
		got = append(got, string(m.Role)+" "+m.Message+" "+m.Origin)
	}
	if want := []string{"ASSISTANT before ", "USER do it ", "ASSISTANT done terminal"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if read := k.get(task.ID); read.OpenTurn != nil || read.AgentStatus != protocol.StatusIdle ||
		read.LastTurn.ID != "terminal-2" {
		t.Errorf("the task is %+v", read)
	}
}
