package broker_test

import (
	"testing"

	"bellhop/protocol"
)

// What the agent sent with a text is read with the message, and a warning with its question.
func TestARowKeepsFormatMetadataAndWarning(t *testing.T) {
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
