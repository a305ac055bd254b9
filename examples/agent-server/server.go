// A complete agent server for Bellhop: go run server.go (PORT, AGENT_PASSWORD).
package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

type event map[string]any

type body struct{ SessionID, WebhookURL, Prompt string }

var sessions sync.Map // stream token → body of /session

// post sends an event to the broker, and again while the broker cannot take it.
func post(s body, e event) {
	e["sessionId"], e["timestamp"] = s.SessionID, time.Now().UnixMilli()
	data, _ := json.Marshal(e)
	for wait := time.Second / 2; wait < 10*time.Second; wait *= 2 {
		r, err := http.Post(s.WebhookURL, "application/json", strings.NewReader(string(data))) //nolint:noctx // it outlives the request
		if err == nil && r.Body.Close() == nil && r.StatusCode < 429 {
			return
		}
		time.Sleep(wait) // a pause that grows, because the broker may be restarting
	}
}

func answer(r *http.Request, s body, words []string, show func(event) error) {
	id, shown := rand.Text(), 0
	_ = show(event{"type": "text-start", "id": id})
	// Your agent goes here. It stops when the reader leaves.
	for ; shown < len(words) && r.Context().Err() == nil; shown++ {
		_ = show(event{"type": "text-delta", "id": id, "text": words[shown]})
		time.Sleep(20 * time.Millisecond) // stands for the work of an agent
	}
	post(s, event{"type": "text", "id": id, "text": strings.Join(words[:shown], "")})
	_ = show(event{"type": "text-end", "id": id})
	post(s, event{"type": "finish", "finishReason": "stop"}) // ends the turn, even if no frontend reads the stream
	_ = show(event{"type": "finish", "finishReason": "stop"})
}

func serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Access-Control-Allow-Headers", "content-type")
	in, token := body{}, rand.Text()
	_ = json.NewDecoder(r.Body).Decode(&in)
	found, _ := sessions.Load(r.URL.Query().Get("token"))
	switch s, known := found.(body); {
	case r.URL.Path == "/session" && r.Header.Get("Authorization") == "Bearer "+os.Getenv("AGENT_PASSWORD"):
		sessions.Store(token, in)
		_ = json.NewEncoder(w).Encode(event{"token": token})
	case r.Method == http.MethodOptions: // a page of another origin asks first
	case known && r.URL.Path == "/stream/"+s.SessionID:
		w.Header().Set("Content-Type", "text/event-stream")
		answer(r, s, strings.SplitAfter("You said: "+in.Prompt, " "), func(part event) error {
			data, _ := json.Marshal(part)
			_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
			return http.NewResponseController(w).Flush()
		})
	default:
		http.Error(w, "Wrong password or token", http.StatusUnauthorized)
	}
}

func main() { panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), http.HandlerFunc(serve))) }
