package core_test

import (
	"testing"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

func TestATurnFromPromptToFinish(t *testing.T) {
	r := opened(t)
	r.want("opened", shown(r.last), "SetTimer CountPending Post StopTimer")
	r.want("prompted", shown(r.do(core.Prompted{TurnID: "t1", Request: protocol.PromptRequest{Prompt: "go"}})),
		"1/1 status StopTimer StopTimer StopTimer SetTimer StartAgent Post")
	r.want("text", shown(r.do(core.AgentText{TurnID: "t1", Text: "hi"})), "#text-start #text-delta")
	r.want("ended", shown(r.do(core.AgentEnded{TurnID: "t1"})),
		"1/2 text 1/3 finish 1/4 status #text-end #finish StopTimer EndTurn SetTimer Post")
}
