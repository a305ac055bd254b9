package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"bellhop/internal/wsline"
	"bellhop/protocol"
)

func TestTheNumberOfSessionsIsBounded(t *testing.T) {
	t.Parallel()
	s := start(t, Config{MaxSessions: 2})
	s.open("", "")
	one := s.open("", "")
	if status, _ := s.call("POST", "/sessions", "", ""); status != http.StatusTooManyRequests {
		t.Errorf("a third answers %d", status)
	}
	s.call("DELETE", "/sessions/"+one.SessionID, s.owner(), "")
	s.open("", "")
}

func TestClientsThatBreakTheRulesAreClosedWithTheRightCode(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	session := s.open("", "")
	for name, c := range map[string]struct {
		kind websocket.MessageType
		raw  string
		want websocket.StatusCode
	}{
		"a binary frame": {websocket.MessageBinary, `{"type":"interrupt"}`, websocket.StatusUnsupportedData},
		"invalid UTF-8": {
			websocket.MessageText, "{\"type\":\"input\",\"text\":\"\xff\"}", websocket.StatusInvalidFramePayloadData,
		},
		"an oversize": {websocket.MessageText, strings.Repeat("x", protocol.MaxLine+1), websocket.StatusMessageTooBig},
	} {
		t.Run(name, func(t *testing.T) {
			bad := s.dial(session, "")
			_ = bad.conn.Write(t.Context(), c.kind, []byte(c.raw)) // may fail, since the server may stop reading
			if code := bad.ending(); code != c.want {
				t.Errorf("closed with %d, want %d", code, c.want)
			}
			good := s.dial(session, "")
			good.input("help")
			if line := good.until(protocol.LineState); line.Reason != protocol.WaitingDone {
				t.Errorf("the session after it: %+v", line)
			}
		})
	}
}

func TestASlowClientIsDisconnectedAndTheSessionContinues(t *testing.T) {
	t.Parallel()
	s := start(t, Config{Limits: wsline.Limits{QueueLines: 8}, Times: wsline.Times{Write: time.Hour}})
	session := s.open("", "")
	slow, good := s.dial(session, ""), s.dial(session, "&replay=all")
	// More than the buffers of the connection and the queue hold.
	big := strings.Repeat("x", 1<<20)
	for range 32 {
		s.server.Notice("info", big)
		if line := good.until(protocol.LineStatus); len(line.Message) != len(big) {
			t.Fatal("a line is cut")
		}
	}
	good.input("help")
	good.until(protocol.LineState)
	if code := slow.ending(); code != websocket.StatusPolicyViolation {
		t.Errorf("the slow client is closed with %d", code)
	}
}
