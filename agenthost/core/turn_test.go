package core_test

import (
	"encoding/json"
	"testing"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

func TestATurnFromPromptToFinish(t *testing.T) {
	t.Parallel()
	r := opened(t)
	r.want("opened", shown(r.last), "SetTimer CountPending Post StopTimer")
	r.want("prompted", shown(r.do(core.Prompted{TurnID: "t1", Request: protocol.PromptRequest{Prompt: "go"}})),
		"1/1 status StopTimer StopTimer StopTimer SetTimer StartAgent Post")
	r.want("text", shown(r.do(core.AgentText{TurnID: "t1", Text: "hi"})), "#text-start #text-delta")
	r.want("ended", shown(r.do(core.AgentEnded{TurnID: "t1"})),
		"1/2 text 1/3 finish 1/4 status #text-end #finish StopTimer EndTurn SetTimer Post")
}

func TestAnInputKeepsNoImageData(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	req := protocol.PromptRequest{
		Prompt:      "look\x00",
		Attachments: []protocol.Attachment{{Type: protocol.AttachmentImage, MediaType: "image/png", Data: "AAAA"}},
	}
	x := r.do(core.HeadlessOpened{Agent: "fake"}, core.Prompted{TurnID: "t1", New: true, Request: req})
	var e protocol.Event
	if err := json.Unmarshal(x.Rows.Events[0].Body, &e); err != nil {
		t.Fatal(err)
	}
	r.want("text", *e.Text, "look\uFFFD")
	r.want("attachments", string(e.Input), `[{"type":"image","mediaType":"image/png","data":""}]`)
	if req.Attachments[0].Data != "AAAA" {
		t.Error("the agent's image is gone too")
	}
}
