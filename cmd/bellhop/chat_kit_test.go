package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"bellhop/protocol"
)

// chatBroker is a broker with the task "t", and the host of its session.
type chatBroker struct {
	url       string
	tokenFile string
	// prompted answers a prompt; nil: with endTurn.
	prompted     func(w http.ResponseWriter, r *http.Request, prompt *protocol.PromptRequest)
	capabilities []string           // of the host
	lastTurn     *protocol.LastTurn // of the task
	checkIns     []protocol.CheckInRequest
	created      []protocol.CreateTaskRequest
}

func startChatBroker(t *testing.T) *chatBroker {
	b := &chatBroker{tokenFile: writeSecret(t, "bhp_x")}
	mux := http.NewServeMux()
	reply := func(v any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(v) }
	}
	mux.HandleFunc("GET /api/tasks/t", func(w http.ResponseWriter, r *http.Request) {
		reply(protocol.Task{ID: "t", Title: "T", LastTurn: b.lastTurn})(w, r)
	})
	mux.HandleFunc("POST /api/tasks", func(w http.ResponseWriter, r *http.Request) {
		var req protocol.CreateTaskRequest
		_ = json.NewDecoder(r.Body).Decode(&req)
		b.created = append(b.created, req)
		reply(protocol.Task{ID: "t", Title: req.Title})(w, r)
	})
	mux.HandleFunc("GET /api/tasks/t/messages", reply(protocol.MessageList{}))
	mux.HandleFunc("POST /api/agent/interrupt", reply(protocol.InterruptResponse{Success: true, CloseStream: true}))
	mux.HandleFunc("POST /api/agent", func(w http.ResponseWriter, r *http.Request) {
		var req protocol.CheckInRequest
		_ = json.NewDecoder(r.Body).Decode(&req)
		b.checkIns = append(b.checkIns, req)
		reply(protocol.CheckInResponse{
			Success: true, SessionID: "t", StreamToken: "s", StreamURL: b.url + "/stream/t", TurnID: "turn",
			Capabilities: b.capabilities,
		})(w, r)
	})
	mux.HandleFunc("POST /stream/t", func(w http.ResponseWriter, r *http.Request) {
		var prompt protocol.PromptRequest
		_ = json.NewDecoder(r.Body).Decode(&prompt)
		if b.prompted != nil {
			b.prompted(w, r, &prompt)
			return
		}
		endTurn(w)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	b.url = server.URL
	return b
}

// endTurn answers a prompt with a turn that ends at once.
func endTurn(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "id: 1-1\ndata: {\"type\":\"finish\",\"finishReason\":\"stop\"}\n\n")
}

// chatArgs are the arguments of a chat on the task.
func (b *chatBroker) chatArgs(more ...string) []string {
	return append([]string{"chat", "--url", b.url, "--token-file", b.tokenFile, "--task", "t"}, more...)
}
