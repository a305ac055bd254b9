package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"bellhop/protocol"
)

func TestChatTakesASessionOverOnRequest(t *testing.T) {
	broker := startChatBroker(t)
	broker.capabilities = []string{protocol.CapabilityResume}
	var forced []bool
	broker.prompted = func(w http.ResponseWriter, _ *http.Request, prompt *protocol.PromptRequest) {
		if forced = append(forced, prompt.Force); prompt.Force {
			endTurn(w)
			return
		}
		w.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(w).Encode(protocol.ErrorBody{Error: "A terminal client is attached", Code: protocol.CodeAttached})
	}
	code, stdout, stderr := runCommand(t, broker.chatArgs("-m", "hi")...)
	if code != 1 || !strings.Contains(stdout+stderr, "A terminal client is attached") {
		t.Errorf("without --take-over: exit %d, %s%s", code, stdout, stderr)
	}
	code, _, stderr = runCommand(t, broker.chatArgs("-m", "hi", "--take-over")...)
	if code != 0 || !slices.Equal(forced, []bool{false, true}) {
		t.Errorf("with --take-over: exit %d, %v, %s", code, forced, stderr)
	}
}
