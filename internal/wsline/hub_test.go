package wsline

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"bellhop/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newHub(limits Limits) *Hub {
	return NewHub(limits, func() time.Time { return time.Unix(1, 0) })
}

func content(kind, text string) protocol.Line { return protocol.Line{Type: kind, Content: &text} }

func state(s string) protocol.Line { return protocol.Line{Type: protocol.LineState, State: s} }

func question(id string) protocol.Line {
	return protocol.Line{Type: protocol.LineConfirm, RequestID: id, Prompt: "?"}
}

// taken returns the lines that a client gets without waiting.
func taken(w *Watcher) []string {
	var lines []string
	for {
		line, _ := w.take()
		if line == nil {
			return lines
		}
		lines = append(lines, string(line))
	}
}

func history(h *Hub) string {
	var lines []string
	for _, raw := range h.History() {
		lines = append(lines, string(raw))
	}
	return strings.Join(lines, "\n")
}

func watch(t interface{ Fatal(...any) }, h *Hub, all bool) *Watcher {
	w, err := h.Watch(all)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

const waiting = protocol.StateWaitingForInput

func TestTheTranscript(t *testing.T) {
	t.Parallel()
	chunk, message := protocol.LineChunk, protocol.LineMessage
	input := protocol.Line{Type: protocol.LineInput}
	for name, c := range map[string]struct {
		lines   []protocol.Line // input and answers are a client's
		history string          // line feeds between
		turn    string          // the lines replayed to a new client
	}{
		"chunks that a message repeats": {
			[]protocol.Line{input, content(chunk, "a"), content(chunk, "b"), content(message, "ab")},
			"{\"type\":\"input\"}\n{\"type\":\"message\",\"content\":\"ab\"}", `{"type":"message","content":"ab"}`,
		},
		"chunks without a message": {
			[]protocol.Line{input, content(chunk, "a"), content(chunk, "<b>"), state("thinking")},
			"{\"type\":\"input\"}\n{\"type\":\"chunk\",\"content\":\"a<b>\"}\n{\"type\":\"state\",\"state\":\"thinking\"}",
			"{\"type\":\"chunk\",\"content\":\"a<b>\"}\n{\"type\":\"state\",\"state\":\"thinking\"}",
		},
		"an open block": {
			[]protocol.Line{input, content(chunk, "a"), content(chunk, "b")},
			"{\"type\":\"input\"}\n{\"type\":\"chunk\",\"content\":\"ab\"}", `{"type":"chunk","content":"ab"}`,
		},
		"a status does not end a block": {
			[]protocol.Line{
				input, content(chunk, "a"),
				{Type: protocol.LineStatus, Message: "m"},
				content(chunk, "b"), content(message, "ab"),
			},
			"{\"type\":\"input\"}\n{\"type\":\"status\",\"message\":\"m\"}\n{\"type\":\"message\",\"content\":\"ab\"}",
			"{\"type\":\"status\",\"message\":\"m\"}\n{\"type\":\"message\",\"content\":\"ab\"}",
		},
		"an open question": {
			[]protocol.Line{input, question("q")},
			"{\"type\":\"input\"}\n{\"type\":\"confirm\",\"request_id\":\"q\",\"prompt\":\"?\"}",
			`{"type":"confirm","request_id":"q","prompt":"?"}`,
		},
		"an answered question": {
			[]protocol.Line{input, question("q"), {Type: protocol.LineConfirmation, RequestID: "q"}, state("thinking")},
			"{\"type\":\"input\"}\n{\"type\":\"confirm\",\"request_id\":\"q\",\"prompt\":\"?\"}\n" +
				"{\"type\":\"confirmation\",\"request_id\":\"q\"}\n{\"type\":\"state\",\"state\":\"thinking\"}",
			`{"type":"state","state":"thinking"}`,
		},
		"a turn that is over": {
			[]protocol.Line{input, question("q"), state(waiting)},
			"{\"type\":\"input\"}\n{\"type\":\"confirm\",\"request_id\":\"q\",\"prompt\":\"?\"}\n" +
				"{\"type\":\"state\",\"state\":\"waiting_for_input\"}", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(Limits{})
			for _, line := range c.lines {
				if line.Type == protocol.LineInput || line.Type == protocol.LineConfirmation {
					h.Accepted(line, nil)
				} else {
					h.Publish(line)
				}
			}
			if got := history(h); got != c.history {
				t.Errorf("history\n%s\nwant\n%s", got, c.history)
			}
			want := c.turn
			if want != "" { // the input comes before the lines of the open turn
				want = "{\"type\":\"input\"}\n" + want
			}
			if got := strings.Join(taken(watch(t, h, false)), "\n"); got != want {
				t.Errorf("shown\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestAnInputIsShownToTheOtherClients(t *testing.T) {
	t.Parallel()
	h := newHub(Limits{})
	h.Greet(state("hello"))
	sender, other := watch(t, h, false), watch(t, h, false)
	text := "go"
	h.Accepted(protocol.Line{Type: protocol.LineInput, Text: &text}, sender)
	h.Accepted(protocol.Line{Type: protocol.LineConfirmation, RequestID: "q"}, sender)
	for name, c := range map[string]struct {
		w    *Watcher
		want int
	}{"the sender": {sender, 1}, "another": {other, 2}, "a later one": {watch(t, h, false), 2}} {
		if got := taken(c.w); len(got) != c.want || !strings.Contains(got[0], "hello") {
			t.Errorf("%s got %v", name, got)
		}
	}
}

func TestAClosedQuestionIsNotReplayed(t *testing.T) {
	t.Parallel()
	h := newHub(Limits{})
	h.Publish(question("q"))
	if s := h.Status(); s.Questions != 1 || !s.Busy {
		t.Errorf("got %+v", s)
	}
	h.QuestionClosed("q")
	if got := taken(watch(t, h, false)); got != nil || h.Status().Questions != 0 {
		t.Errorf("shown %v", got)
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	h := newHub(Limits{QueueLines: 3, QueueBytes: 100, Clients: 2, Transcript: 200})
	slow, quick := watch(t, h, false), watch(t, h, false)
	if _, err := h.Watch(false); protocol.CodeOf(err) != protocol.CodeTooManyRequests {
		t.Errorf("a third client: %v", err)
	}
	for i := range 4 {
		h.Publish(state(fmt.Sprint(i)))
		if got := taken(quick); len(got) != 1 {
			t.Errorf("the quick client got %v", got)
		}
	}
	if line, ended := slow.take(); line != nil || !ended || slow.code != websocket.StatusPolicyViolation {
		t.Errorf("the slow client got %s, %v %d", line, ended, slow.code)
	}
	quick.Send(state(strings.Repeat("x", 500)))
	if _, ended := quick.take(); ended {
		t.Error("a single long line cuts")
	}
	if !h.Status().Full == (h.lines.size >= 200) {
		t.Errorf("%d bytes, full %v", h.lines.size, h.Status().Full)
	}
	slow.Leave()
	slow.Leave()
	if got := h.Status().Clients; got != 1 {
		t.Errorf("%d clients", got)
	}
	h.End(websocket.StatusNormalClosure, "over")
	if _, err := h.Watch(false); protocol.CodeOf(err) != protocol.CodeGone {
		t.Errorf("after the end: %v", err)
	}
	if _, ended := quick.take(); !ended || quick.reason != "over" {
		t.Error("the client is not ended")
	}
}

// TestSessionsAreIsolated interleaves many sessions and clients at random. Each client gets,
// from its arrival on and in order, the lines of its session and the notices, and nothing else.
func TestSessionsAreIsolated(t *testing.T) {
	t.Parallel()
	type viewer struct {
		of   int
		w    *Watcher
		want []string
		got  []string
	}
	rapid.Check(t, func(t *rapid.T) {
		hubs := make([]*Hub, rapid.IntRange(2, 5).Draw(t, "sessions"))
		turns := make([][]string, len(hubs)) // the open turn's lines
		for i := range hubs {
			hubs[i] = newHub(Limits{})
		}
		var viewers []*viewer
		number := 0
		pick := func() int { return rapid.IntRange(0, len(hubs)-1).Draw(t, "session") }
		each := func(of int, raw string) {
			for _, v := range viewers {
				if of < 0 || v.of == of {
					v.want = append(v.want, raw)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"publish": func(*rapid.T) {
				i := pick()
				number++
				line := protocol.Line{Type: protocol.LineToolStart, SessionID: fmt.Sprint(i), ID: fmt.Sprint(number)}
				hubs[i].Publish(line)
				raw := string(encode(line))
				turns[i] = append(turns[i], raw)
				each(i, raw)
			},
			"end a turn": func(*rapid.T) {
				i := pick()
				line := state(waiting)
				line.SessionID = fmt.Sprint(i)
				hubs[i].Publish(line)
				turns[i] = nil
				each(i, string(encode(line)))
			},
			"notice": func(*rapid.T) {
				number++
				line := protocol.Line{Type: protocol.LineStatus, Message: fmt.Sprint(number)}
				for _, h := range hubs {
					h.Notice(line)
				}
				each(-1, string(encode(line)))
			},
			"join": func(t *rapid.T) {
				i := pick()
				if hubs[i].Status().Clients < 60 {
					viewers = append(viewers, &viewer{of: i, w: watch(t, hubs[i], false), want: slices.Clone(turns[i])})
				}
			},
			"reply to one": func(*rapid.T) {
				if len(viewers) == 0 {
					return
				}
				v := viewers[rapid.IntRange(0, len(viewers)-1).Draw(t, "client")]
				number++
				line := protocol.Line{Type: protocol.LineStatus, SessionID: fmt.Sprint(v.of), Message: fmt.Sprint(number)}
				v.w.Send(line)
				v.want = append(v.want, string(encode(line)))
			},
			"read": func(*rapid.T) {
				for _, v := range viewers {
					v.got = append(v.got, taken(v.w)...)
				}
			},
			"": func(t *rapid.T) {
				for i, h := range hubs {
					for _, raw := range h.History() {
						if !strings.Contains(string(raw), fmt.Sprintf(`"session_id":"%d"`, i)) {
							t.Fatalf("session %d's history holds %s", i, raw)
						}
					}
				}
			},
		})
		for n, v := range viewers {
			v.got = append(v.got, taken(v.w)...)
			if !slices.Equal(v.got, v.want) {
				t.Fatalf("client %d of session %d got\n%s\nwant\n%s", n, v.of, strings.Join(v.got, "\n"),
					strings.Join(v.want, "\n"))
			}
		}
	})
}
