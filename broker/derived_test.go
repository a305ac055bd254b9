package broker_test

import "testing"

// AI SDK 5 gives every text of a turn the same id, and some hosts count time in seconds.
func TestTwoTextsOfOneIDAndSecondAreTwoTexts(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task, turn := k.basicTask()
	a := `{'type':'text','id':'text-9','text':'one','timestamp':9}`
	b := `{'type':'text','id':'text-9','text':'two','timestamp':9}`
	for i, want := range []string{
		`{'success':true,'accepted':1,'duplicates':0,'cursor':null}`,
		`{'success':true,'accepted':1,'duplicates':0,'cursor':null}`,
		`{'success':true,'accepted':0,'duplicates':1,'cursor':null}`,
		`{'success':true,'accepted':0,'duplicates':1,'cursor':null}`,
	} {
		same(t, k.mustSend(task, turn, []string{a, b}[i%2]), want)
	}
	rows := k.messages(task)
	if n := len(rows); n != 5 || rows[3].Message != "one" || rows[4].Message != "two" {
		t.Errorf("stored are %+v", rows[3:])
	}
}

func TestTwoCallsOfOneIDAreTwoRows(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task, turn := k.basicTask()
	for _, event := range []string{
		`{'type':'tool-call','toolCallId':'x','toolName':'sh','input':'one','timestamp':9}`,
		`{'type':'tool-call','toolCallId':'x','toolName':'sh','input':'two','timestamp':9}`,
		`{'type':'tool-result','toolCallId':'x','toolName':'sh','output':1,'timestamp':9}`,
		`{'type':'tool-result','toolCallId':'x','toolName':'sh','timestamp':9}`, // its output is undefined
	} {
		k.mustSend(task, turn, event)
		k.mustSend(task, turn, event) // a redelivery
	}
	rows := k.messages(task)[3:]
	if len(rows) != 2 {
		t.Fatalf("stored are %+v", rows)
	}
	for i, want := range []string{`'input':'one','output':1,`, `'input':'two','output':null,`} {
		same(t, rows[i].Artifacts[0].Content,
			`{'toolCallId':'x','toolName':'sh',`+want+`'isError':false,'state':'done','startedAt':9,'endedAt':9}`)
	}
}
