package basic_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"bellhop/internal/testenv/basic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Host, Broker and Frontend run the original flow. A real broker adds only the check-in.
func TestTheOriginalFlow(t *testing.T) {
	t.Parallel()
	host, broker := &basic.Host{Password: "pw"}, &basic.Broker{Strict: true}
	brokerURL := serveOriginal(t, host, broker)
	frontend := &basic.Frontend{BrokerURL: brokerURL, Token: "bhp_x"}
	for range 2 {
		want := "start,start-step,text-start text-1,text-delta text-1,text-delta text-1,text-end " +
			"text-1,tool-call,tool-result,finish-step,start-step,text-start text-1,text-delta text-1,text-delta " +
			"text-1,text-end text-1,finish-step,finish"
		if got := ask(t, frontend); got != want {
			t.Errorf("parts\n got %s\nwant %s", got, want)
		}
	}
	checkEvents(t, broker.Events())
	if got := len(host.Posted()); got != 8 || broker.Received() != 8 {
		t.Errorf("%d events posted, %d received, want 8", got, broker.Received())
	}
	if got := len(host.Opened()); got != 2 {
		t.Errorf("opened %d times, want 2", got)
	}
	for _, body := range host.Opened() {
		if want := `{"sessionId":"t","webhookUrl":"` + brokerURL + `/webhook?token=e30.e30.e30"}`; string(body) != want {
			t.Errorf("opened with %s, want %s", body, want)
		}
	}
}

func serveOriginal(t *testing.T, host *basic.Host, broker *basic.Broker) (brokerURL string) {
	t.Helper()
	hostServer := httptest.NewServer(host)
	t.Cleanup(hostServer.Close)
	mux := http.NewServeMux()
	mux.Handle("/webhook", broker)
	mux.HandleFunc("POST /api/agent", func(w http.ResponseWriter, r *http.Request) {
		var req struct{ TaskID, Message string }
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || r.Header.Get("Authorization") != "Bearer bhp_x" {
			t.Errorf("check-in: %v", err)
		}
		token, err := broker.Open(r.Context(), hostServer.URL, "pw", req.TaskID)
		if err != nil {
			t.Error(err)
		}
		_ = json.NewEncoder(w).Encode(basic.CheckIn{
			Success: true, SessionID: req.TaskID, StreamToken: token, StreamURL: hostServer.URL + "/stream/" + req.TaskID,
		})
	})
	brokerServer := httptest.NewServer(mux)
	t.Cleanup(brokerServer.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	broker.URL = brokerServer.URL
	return brokerServer.URL
}

func ask(t *testing.T, frontend *basic.Frontend) string {
	t.Helper()
	var types []string
	for data, err := range frontend.Ask(t.Context(), "t", "hi") {
		var part struct{ Type, ID string }
		if err != nil || json.Unmarshal(data, &part) != nil {
			t.Fatal(string(data), err)
		}
		types = append(types, strings.TrimSpace(part.Type+" "+part.ID))
	}
	return strings.Join(types, ",")
}

// checkEvents expects the four events of the turn, twice, with distinct timestamps and without
// members that the original contract does not have.
func checkEvents(t *testing.T, events []json.RawMessage) {
	t.Helper()
	turn := []string{
		`{"id":"text-1","sessionId":"t","text":"Let me look.","type":"text"}`,
		`{"input":{"path":"."},"sessionId":"t","toolCallId":"call-1","toolName":"list_dir","type":"tool-call"}`,
		`{"output":["main.go"],"sessionId":"t","toolCallId":"call-1","toolName":"list_dir","type":"tool-result"}`,
		`{"id":"text-1","sessionId":"t","text":"You said: hi","type":"text"}`,
	}
	var got []string
	times := map[any]bool{}
	for _, raw := range events {
		event := map[string]any{}
		if err := json.Unmarshal(raw, &event); err != nil {
			t.Fatal(err)
		}
		times[event["timestamp"]] = true
		delete(event, "timestamp")
		rest, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(rest))
	}
	if want := append(turn, turn...); !reflect.DeepEqual(got, want) || len(times) != len(want) {
		t.Errorf("events\n got %q\nwant %q\n(%d timestamps)", got, want, len(times))
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	host := httptest.NewServer(&basic.Host{Password: "pw"})
	t.Cleanup(host.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	broker := &basic.Broker{Strict: true}
	if _, err := broker.Open(t.Context(), host.URL, "wrong", "t"); err == nil {
		t.Error("a wrong password opened a session")
	}
	frontend := &basic.Frontend{}
	for _, err := range frontend.Stream(t.Context(), &basic.CheckIn{StreamToken: "x", StreamURL: host.URL + "/stream/t"},
		"hi") {
		if err == nil {
			t.Error("a wrong token opened a stream")
		}
	}
	for body, want := range map[string]int{
		`{"sessionId":"t","type":"text","id":"a","text":"x","timestamp":1}`:     200,
		`{"sessionId":"t","type":"finish","finishReason":"stop","timestamp":1}`: 400,
		`{"sessionId":"t","events":[]}`:                                         400,
		`{"sessionId":"t","type":"text","id":"a","text":"x","timestamp":"now"}`: 400,
	} {
		w := httptest.NewRecorder()
		broker.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/webhook", strings.NewReader(body)))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", body, w.Code, want)
		}
	}
}
