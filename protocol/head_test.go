package protocol_test

import (
	"encoding/json"
	"testing"

	"bellhop/protocol"
)

func TestAHeadIsThatOfTheEvent(t *testing.T) {
	t.Parallel()
	for raw, ok := range map[string]bool{
		`{"type":"text","eventId":"e","epoch":1,"seq":23,"text":"x","id":"i","timestamp":1}`:                                                   true,
		` { "seq" : 23 , "epoch":1, "input":{"eventId":"no","seq":[1,"]}"]}, "eventId":"e","timestamp":1,"id":"i","text":"x","type":"text" } `: true,
		`{"type":"text","eventId":"e","epoch":1,"seq":23,"text":"\"eventId\":\"no\",\\","id":"i","timestamp":1.5e3}`:                           true,
		`{"type":"te\u0078t","eventId":"e","epoch":1,"seq":23,"text":"x","timestamp":1}`:                                                       false,
		`{"type":"text","event\u0049d":"e","epoch":1,"seq":23,"text":"x","timestamp":1}`:                                                       false,
		`{"type":"text","eventId":"e","epoch":1e0,"seq":23,"text":"x","timestamp":1}`:                                                          false,
		`{"type":"text","eventId":"e","epoch":1,"seq":null,"text":"x"}`:                                                                        false,
		`{"type":"text","eventId":"e","text":"x"}`:                                                                                             false,
		`{}`: false,
	} {
		h, read := protocol.ReadHead(json.RawMessage(raw))
		if read != ok {
			t.Errorf("%s: read is %v", raw, read)
			continue
		}
		if !ok {
			continue
		}
		e, err := protocol.ParseEvent([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if string(h.EventID) != e.EventID || string(h.Type) != string(e.Type) || h.Epoch != e.Epoch || h.Seq != e.Seq {
			t.Errorf("%s: %+v, want %+v", raw, h, e)
		}
	}
}

// What ParseEvent accepts and ReadHead reads is the same.
func FuzzReadHead(f *testing.F) {
	f.Add([]byte(`{"type":"text","eventId":"e","epoch":1,"seq":23,"text":"x"}`))
	f.Add([]byte(`{"type":"tool-call","eventId":"e","epoch":1,"seq":2,"toolCallId":"c","toolName":"n","input":{"a":[1,{}]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := protocol.ParseEvent(raw)
		if err != nil {
			return
		}
		h, ok := protocol.ReadHead(raw)
		if ok &&
			(string(h.EventID) != e.EventID || string(h.Type) != string(e.Type) || h.Epoch != e.Epoch || h.Seq != e.Seq) {
			t.Errorf("%s: %+v, want %+v", raw, h, e)
		}
	})
}
