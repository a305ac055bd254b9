package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"bellhop/agenthost/api"
	"bellhop/protocol"
)

func TestLinesAndStreamShowTheSameTurn(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	id, token := h.headless("")
	lines := h.watch(id, token)
	stream := h.stream(request{"GET", "/stream/" + id + "?follow=true&token=" + token, "", nil})
	lines.send(`{"type":"input","text":"text Hello \ntext world\nconfirm shell {\"command\":\"ls\"}\nask Which colour?\nend"}`)
	confirm := lines.readUntil(protocol.LineConfirm)
	lines.send(fmt.Sprintf(`{"type":"confirmation","request_id":%q,"value":true}`, confirm.RequestID))
	ask := lines.readUntil(protocol.LineAsk)
	lines.send(fmt.Sprintf(`{"type":"answer","request_id":%q,"text":"blue"}`, ask.RequestID))
	lines.readUntil(protocol.StateWaitingForInput)

	if confirm.ToolName != "shell" || string(confirm.Args) != `{"command":"ls"}` || ask.Prompt != "Which colour?" {
		t.Errorf("questions: %+v, %+v", confirm, ask)
	}
	var texts, parts strings.Builder
	for _, l := range lines.seen {
		if l.SessionID != id {
			t.Errorf("a line of session %q: %+v", l.SessionID, l)
		}
		if l.Type == protocol.LineChunk {
			texts.WriteString(*l.Content)
		}
	}
	events := map[string]bool{}
	for {
		p, err := stream.next()
		if err != nil {
			t.Fatal(err)
		}
		if p.Type == protocol.PartTextDelta {
			parts.WriteString(*p.Text)
		}
		if p.Event != nil {
			events[p.Event.ID] = true
		}
		if p.Terminal() {
			break
		}
	}
	if texts.String() != parts.String() || !strings.Contains(texts.String(), "Hello world") {
		t.Errorf("lines texts %q, the stream %q", texts.String(), parts.String())
	}
	for _, l := range lines.seen {
		var metadata struct {
			EventID string `json:"event_id"`
		}
		if l.Type == protocol.LineMessage && (json.Unmarshal(l.Metadata, &metadata) != nil || !events[metadata.EventID]) {
			t.Errorf("message %s is no event of the stream", l.Metadata)
		}
	}
	lines.expect("state:thinking", "chunk", "message:Hello world",
		"tool_start", "confirm", "state:waiting_for_input:asked", "resolved", "state:executing_tool",
		`tool_message:{"ok":true}`,
		"state:thinking", "ask", "state:waiting_for_input:asked", "resolved", "state:thinking", "chunk",
		"message:You answered: blue\n",
		"state:waiting_for_input:done")
}

func TestATurnAsLinesAndAsHistory(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	id, token := h.headless(`{"instructions":"agent-session n1"}`)
	lines := h.watch(id, token)
	lines.send(`{"type":"input","session_id":"` + id +
		`","text":"text a\ntool read {\"path\":\"x\"}\nnotice warning careful\ntext b"}`)
	lines.readUntil(protocol.StateWaitingForInput)
	lines.expect("state:thinking", "chunk", "message:a", "tool_start", "state:executing_tool", `tool_message:{"ok":true}`,
		"state:thinking", "status:warning:careful", "chunk", "message:b", "state:waiting_for_input:done")
	if got := h.fake.Prompts()[0].Text; !strings.HasPrefix(got, "agent-session n1\n\ntext a") {
		t.Errorf("the agent received %q", got)
	}
	lines.send(`{"type":"input","text":"fail broken"}`)
	lines.readUntil(protocol.StateWaitingForInput)
	if got := h.fake.Prompts()[1].Text; got != "fail broken" {
		t.Errorf("the agent received %q", got)
	}

	var history struct {
		SessionID string          `json:"session_id"`
		Lines     []protocol.Line `json:"lines"`
	}
	_, _, body := h.call(request{"GET", "/sessions/" + id + "/history", "", []string{"Authorization: Bearer " + token}})
	if err := json.Unmarshal([]byte(body), &history); err != nil || history.SessionID != id {
		t.Fatalf("history: %s", body)
	}
	want := []string{
		"input:text a\ntool read {\"path\":\"x\"}\nnotice warning careful\ntext b", "message:a", "tool_start",
		`tool_message:{"ok":true}`, "message:b", "state:waiting_for_input:done",
		"input:fail broken", "status:error:broken", "state:waiting_for_input:error",
	}
	if got := outline(history.Lines); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestAReconnectedClientGetsOnlyTheOpenQuestion(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	id, token := h.headless("")
	first := h.watch(id, token)
	first.send(`{"type":"input","text":"confirm a\nconfirm b\ntext done"}`)
	answered := first.readUntil(protocol.LineConfirm)
	first.send(fmt.Sprintf(`{"type":"confirmation","request_id":%q,"value":false,"reason":"no"}`, answered.RequestID))
	open := first.readUntil(protocol.LineConfirm)
	_ = first.conn.CloseNow() // disconnected with a question open, which stays open

	second := h.watch(id, token)
	if got := second.readUntil(protocol.LineConfirm); got.RequestID != open.RequestID {
		t.Fatalf("shown question %s, open is %s", got.RequestID, open.RequestID)
	}
	second.send(fmt.Sprintf(`{"type":"confirmation","request_id":%q,"value":true}`, open.RequestID))
	second.readUntil(protocol.StateWaitingForInput)
	third := h.watch(id, token)
	second.send(fmt.Sprintf(`{"type":"confirmation","request_id":%q,"value":true}`, open.RequestID))
	if got := second.next(); got.Level != "error" || !strings.Contains(got.Message, "No open question") {
		t.Errorf("a second answer: %+v", got)
	}
	third.send("{}")
	third.next()
	third.expect("status:error:type is required") // an idle session shows neither a turn nor errors of other clients
}

func TestInvalidLinesHaveNoEffect(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	id, token := h.headless("")
	other, otherToken := h.headless("")
	foreign := h.watch(other, otherToken)
	foreign.send(`{"type":"input","text":"ask Other?"}`)
	theirs := foreign.readUntil(protocol.LineAsk).RequestID
	c := h.watch(id, token)
	c.send(`{"type":"input","text":"ask Colour?"}`)
	mine := c.readUntil(protocol.LineAsk).RequestID
	c.next() // the state: it waits for the answer
	for name, line := range map[string]string{
		"not JSON":                       `nonsense`,
		"no type":                        `{}`,
		"an unknown type":                `{"type":"dance"}`,
		"the agent's own type":           `{"type":"chunk","content":"x"}`,
		"an input while one runs":        `{"type":"input","text":"x"}`,
		"an input of nothing":            `{"type":"input"}`,
		"an image that is none":          `{"type":"input","attachments":[{"type":"image","data":"%"}]}`,
		"no request id":                  `{"type":"answer","text":"x"}`,
		"an unknown request id":          `{"type":"answer","request_id":"x","text":"x"}`,
		"another session's request id":   `{"type":"answer","request_id":"` + theirs + `","text":"x"}`,
		"a confirmation of an ask":       `{"type":"confirmation","request_id":"` + mine + `","value":true}`,
		"an answer without text":         `{"type":"answer","request_id":"` + mine + `"}`,
		"another session's id":           `{"type":"interrupt","session_id":"` + other + `"}`,
		"a reminder of an unknown scope": `{"type":"answer","request_id":"` + mine + `","text":"x","remember":"ever"}`,
		"duplicate members":              `{"type":"interrupt","type":"interrupt"}`,
		"force of another type":          `{"type":"input","text":"x","force":"yes"}`,
		"force in another spelling":      `{"type":"input","text":"x","Force":true}`,
	} {
		t.Run(name, func(t *testing.T) {
			c.send(line)
			if got := c.next(); got.Type != protocol.LineStatus || got.Level != "error" || got.SessionID != id {
				t.Errorf("got %+v", got)
			}
		})
	}
	c.send(`{"type":"answer","request_id":"` + mine + `","text":"blue"}`)
	c.readUntil(protocol.StateWaitingForInput)
	foreign.send(`{"type":"answer","request_id":"` + theirs + `","text":"red"}`)
	foreign.readUntil(protocol.StateWaitingForInput)
	if strings.Contains(foreign.String(), "error") {
		t.Errorf("the other session: %s", foreign)
	}
}

func TestAThousandInterruptsEndOneTurnOnce(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	id, token := h.headless("")
	c := h.watch(id, token)
	c.send(`{"type":"input","text":"hang"}`)
	c.readUntil(protocol.StateThinking)
	for range 1000 {
		c.send(`{"type":"interrupt"}`)
	}
	c.readUntil(protocol.StateWaitingForInput)
	c.send(`{"type":"input","text":"text on"}`)
	c.readUntil(protocol.StateWaitingForInput)
	c.expect("state:thinking", "state:waiting_for_input:interrupted", "state:thinking", "chunk", "message:on",
		"state:waiting_for_input:done")
}

func TestALineStartsTheTurnOfACheckIn(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	token := h.announce("s1", "t1")
	c := h.watch("s1", token)
	c.send(`{"type":"input","text":"text hi"}`)
	c.readUntil(protocol.StateWaitingForInput)
	c.send(`{"type":"input","text":"text hi"}`)
	c.next()
	c.expect("state:thinking", "chunk", "message:hi", "state:waiting_for_input:done",
		"status:error:The turn of this token is over. Check in for a new turn")
	reader := h.watch("s1", h.open("s1", `"attach":true`))
	reader.send(`{"type":"input","text":"text hi"}`)
	if got := reader.next(); got.Level != "error" {
		t.Errorf("an attach token prompts: %+v", got)
	}
}

func TestCloseCodes(t *testing.T) {
	t.Parallel()
	var served *api.API
	h := newHost(t, func(a *api.API, _ *http.Server) { served = a })
	id, token := h.headless("")
	binary := h.watch(id, token)
	if err := binary.conn.Write(binary.ctx, websocket.MessageBinary, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if got := binary.readToClose(); got != websocket.StatusUnsupportedData {
		t.Errorf("a binary frame: %v", got)
	}
	garbled := h.watch(id, token)
	garbled.send("\xff")
	if got := garbled.readToClose(); got != websocket.StatusInvalidFramePayloadData {
		t.Errorf("invalid UTF-8: %v", got)
	}
	huge := h.watch(id, token)
	// The connection closes during the write.
	_ = huge.conn.Write(huge.ctx, websocket.MessageText, make([]byte, protocol.MaxLine+1))
	if got := huge.readToClose(); got != websocket.StatusMessageTooBig && got != -1 {
		t.Errorf("an overlong line: %v", got)
	}
	revoked := h.watch(id, token)
	h.call(request{"POST", "/session/" + id + "/revoke", "", []string{bearerPassword}})
	if got := revoked.readToClose(); got != websocket.StatusPolicyViolation {
		t.Errorf("revoked: %v", got)
	}
	_, _, fresh := h.call(request{"POST", "/sessions", `{"session_id":"` + id + `"}`, []string{bearerPassword}})
	var again struct{ Token string }
	if err := json.Unmarshal([]byte(fresh), &again); err != nil {
		t.Fatal(err)
	}
	deleted := h.watch(id, again.Token)
	if status, _, body := h.call(request{
		"DELETE", "/sessions/" + id, "", []string{bearerPassword},
	}); status != http.StatusNoContent {
		t.Errorf("delete: %d %s", status, body)
	}
	if got := deleted.readToClose(); got != websocket.StatusNormalClosure {
		t.Errorf("deleted: %v", got)
	}
	last, lastToken := h.headless("")
	stopped := h.watch(last, lastToken)
	stopped.send("{}")
	stopped.next() // the message was received
	served.End()
	h.stop()
	if got := stopped.readToClose(); got != websocket.StatusGoingAway {
		t.Errorf("stopped: %v", got)
	}
	served.Wait(stopped.ctx)
}

func TestASystemNoticeReachesAllClients(t *testing.T) {
	t.Parallel()
	var served *api.API
	h := newHost(t, func(a *api.API, _ *http.Server) { served = a })
	id, token := h.headless("")
	other, otherToken := h.headless("")
	one, two := h.watch(id, token), h.watch(other, otherToken)
	stream := h.stream(request{"GET", "/stream/" + id + "?follow=true&token=" + token, "", nil})
	one.send(`{}`) // the response shows that both have joined
	one.next()
	two.send(`{}`)
	two.next()
	served.Host.Notice("warning", "Back at noon")
	for _, c := range []*lineReader{one, two} {
		if got := c.next(); got.SessionID != "" || got.Level != "warning" || got.Message != "Back at noon" {
			t.Errorf("got %+v", got)
		}
	}
	if p, err := stream.next(); err != nil || p.Type != protocol.PartDataNotice ||
		string(p.Data) != `{"level":"warning","message":"Back at noon","system":true}` {
		t.Errorf("the stream: %+v, %v", p, err)
	}
}

func TestHelloNamesTheToolsOfTheAgent(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	id, token := h.headless("")
	first := h.watch(id, token)
	if first.tools != nil {
		t.Errorf("before the agent's program ran: %q", first.tools)
	}
	first.send(`{"type":"input","text":"text a"}`)
	first.readUntil(protocol.StateWaitingForInput)
	report := h.fake.Specs()[0].ReportTools
	report([]string{"Read", "mcp__x__y", "", "Read", "a\x00b", strings.Repeat("n", 600)})
	want := []string{"Read", "mcp__x__y"}
	second := h.watch(id, token)
	if len(second.tools) != 4 || !slices.Equal(second.tools[:2], want) || len(second.tools[3]) > protocol.MaxID {
		t.Errorf("tools: %q", second.tools)
	}
	report(make([]string, 0))
	if third := h.watch(id, token); third.tools != nil {
		t.Errorf("the program has none any more: %q", third.tools)
	}
	other, otherToken := h.headless("")
	if o := h.watch(other, otherToken); o.tools != nil {
		t.Errorf("another session: %q", o.tools)
	}
}
