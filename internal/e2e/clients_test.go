package e2e

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"bellhop/internal/testenv/faultproxy"
)

// clientCases are what a client of any language can do with a broker and a host. Connections to the host's streams are
// cut after 1,500 bytes each.
var clientCases = []struct {
	name string
	run  func(d *driver)
}{
	{"a token signs in", signsIn},
	{"a turn is streamed, and its messages are stored", streamsATurn},
	{"a stream that is cut arrives once and whole", continuesACutStream},
	{"another program finds the open turn, and stops it", findsTheOpenTurn},
	{"a permission is allowed", func(d *driver) { answersAPermission(d, true) }},
	{"a permission is denied", func(d *driver) { answersAPermission(d, false) }},
	{"a question is answered", answersAQuestion},
	{"a message is stored once, however often it is sent", repeatsAMessage},
	{"a turn is streamed through the broker", streamsThroughTheBroker},
	{"refusals have code and hint", showsRefusals},
}

// The clients do the same with the same broker and host, each in its own process.
func TestClientsOfEveryLanguage(t *testing.T) {
	t.Parallel()
	s := newStack(t, sqlite)
	s.toStream.Set(faultproxy.CutAnswerAfter(1500))
	for language, cmd := range drivers(t, s.dir) {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			d := drive(t, s, cmd)
			for _, c := range clientCases {
				t.Run(c.name, func(t *testing.T) { c.run(d.on(t)) })
			}
		})
	}
	t.Run("python alone", func(t *testing.T) {
		t.Parallel()
		testPythonAlone(t, s)
	})
}

// counted is the text of "slow n".
func counted(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = strconv.Itoa(i + 1)
	}
	return strings.Join(words, " ")
}

func signsIn(d *driver) {
	var me struct{ User struct{ Email string } }
	d.call("request", args{"method": "GET", "path": "/api/auth/me"}, &me)
	if me.User.Email != userEmail {
		d.t.Errorf("signed in as %q", me.User.Email)
	}
	d.signIn("bhp_wrong")
	d.refused("request", args{"method": "GET", "path": "/api/auth/me"}, 401, "unauthorized")
	d.signIn(d.stack.token)
}

// storedMessage is a message of a task's history.
type storedMessage struct{ Role, Message, EventID string }

// history waits for the end of a turn at the broker and returns the messages of its task.
func (d *driver) history(task, turn string) []storedMessage {
	d.t.Helper()
	var list struct{ Messages []storedMessage }
	d.call("messages", args{"taskId": task, "turnId": turn}, &list)
	return list.Messages
}

// agentTexts returns the ids of the events with the agent's texts, as streamed and as stored.
func agentTexts(read *readTurn, stored []storedMessage) (streamed, kept []string) {
	for _, p := range read.of("text-end") {
		streamed = append(streamed, p.Event.ID)
	}
	for _, m := range stored {
		if m.Role == "ASSISTANT" && m.Message != "" { // others are of tools
			kept = append(kept, m.EventID)
		}
	}
	return streamed, kept
}

func streamsATurn(d *driver) {
	task := d.task()
	turn := d.prompt(task, "list")
	read := d.read(nil)
	if len(read.of("tool-result")) != 1 || read.last().Type != "finish" || read.last().FinishReason != "stop" {
		d.t.Errorf("%+v", read.Parts)
	}
	stored := d.history(task, turn)
	if len(stored) < 3 || stored[0].Role != "USER" || stored[0].Message != "list" {
		d.t.Errorf("stored %+v", stored)
	}
	if streamed, kept := agentTexts(read, stored); len(kept) == 0 || !slices.Equal(streamed, kept) {
		d.t.Errorf("streamed %v, stored %v", streamed, kept)
	}
}

func continuesACutStream(d *driver) {
	task := d.task()
	turn := d.prompt(task, "slow 40")
	read := d.read(nil)
	if read.Reconnects == 0 {
		d.t.Error("the stream was not cut")
	}
	if got := read.text(); got != counted(40) {
		d.t.Errorf("read %q", got)
	}
	for _, p := range read.of("data-resume") {
		if p.Data.Verdict != "ok" {
			d.t.Errorf("continued with %q", p.Data.Verdict)
		}
	}
	var last int64
	for _, p := range read.Parts {
		if p.Event != nil && p.Event.Seq <= last {
			d.t.Errorf("event %d came after %d", p.Event.Seq, last)
		} else if p.Event != nil {
			last = p.Event.Seq
		}
	}
	if streamed, kept := agentTexts(read, d.history(task, turn)); len(kept) == 0 || !slices.Equal(streamed, kept) {
		d.t.Errorf("streamed %v, stored %v", streamed, kept)
	}
}

func findsTheOpenTurn(d *driver) {
	task := d.task()
	var found *struct{ TurnID string }
	if d.call("resume", args{"taskId": task}, &found); found != nil {
		d.t.Errorf("a task without a turn has the turn %q", found.TurnID)
	}
	turn := d.prompt(task, "slow 3000")
	d.read(args{"leave": true})
	d.signIn(d.stack.token) // as another program
	if d.call("resume", args{"taskId": task}, &found); found == nil || found.TurnID != turn {
		d.t.Fatalf("found %+v, want the turn %q", found, turn)
	}
	read := d.read(args{"interrupt": true})
	if !strings.HasPrefix(read.text(), "1 ") || read.last().Type != "abort" {
		d.t.Errorf("read %q, then %+v", read.text(), read.last())
	}
	d.history(task, turn)
	found = nil
	if d.call("resume", args{"taskId": task}, &found); found != nil {
		d.t.Errorf("the turn %q is still open", found.TurnID)
	}
}

func answersAPermission(d *driver, allowed bool) {
	task := d.task()
	turn := d.prompt(task, "write a.txt: hi")
	read := d.read(args{"approve": allowed})
	asked := read.of("tool-approval-request")
	if len(asked) != 1 {
		d.t.Fatalf("asked %d times", len(asked))
	}
	ends := map[bool]string{true: "tool-result", false: "tool-output-denied"}
	if len(read.of(ends[allowed])) != 1 || len(read.of(ends[!allowed])) != 0 {
		d.t.Errorf("%+v", read.Parts)
	}
	again := args{"id": asked[0].ApprovalID, "approved": allowed}
	d.call("answer", again, nil)
	d.refused("answer", args{"id": asked[0].ApprovalID, "approved": !allowed}, 409, "answered")

	d.history(task, turn)
	var diff struct {
		Message *struct {
			Artifacts []struct {
				Content struct{ Files []struct{ Path string } }
			}
		}
	}
	d.call("request", args{"method": "POST", "path": "/api/agent/diff", "body": args{"taskId": task}}, &diff)
	if wrote := diff.Message != nil && len(diff.Message.Artifacts) > 0; wrote != allowed {
		d.t.Errorf("the diff is %+v", diff.Message)
	}
}

func answersAQuestion(d *driver) {
	d.prompt(d.task(), "ask Which?")
	read := d.read(args{"text": "this one"})
	if len(read.of("data-ask")) != 1 || !strings.Contains(read.text(), "this one") {
		d.t.Errorf("%+v", read.Parts)
	}
}

func repeatsAMessage(d *driver) {
	task := d.task()
	message := args{"taskId": task, "message": "list", "messageId": "m-1"}
	var first, again struct{ TurnID string }
	d.call("prompt", message, &first)
	one := d.read(nil).text()
	d.call("prompt", message, &again)
	if again.TurnID != first.TurnID {
		d.t.Errorf("the turns %q and %q", first.TurnID, again.TurnID)
	}
	if two := d.read(nil).text(); two != one {
		d.t.Errorf("read %q, then %q", one, two)
	}
	users := 0
	for _, m := range d.history(task, first.TurnID) {
		if m.Role == "USER" {
			users++
		}
	}
	if users != 1 {
		d.t.Errorf("the message is stored %d times", users)
	}
	message["message"] = "another"
	d.refused("prompt", message, 409, "conflict")
}

func streamsThroughTheBroker(d *driver) {
	d.call("open", args{"url": d.stack.api, "token": d.stack.token, "relay": true}, nil)
	d.prompt(d.task(), "slow 20")
	if read := d.read(nil); read.text() != counted(20) || read.Reconnects != 0 {
		d.t.Errorf("read %q on %d further connections", read.text(), read.Reconnects)
	}
	d.signIn(d.stack.token)
}

func showsRefusals(d *driver) {
	d.refused("messages", args{"taskId": "no-such-task", "turnId": "t"}, 404, "not_found")
	empty := d.refused("prompt", args{"taskId": d.task(), "message": ""}, 400, "invalid")
	if empty.Hint != "It may be empty only beside an artifact" {
		d.t.Errorf("the hint is %q", empty.Hint)
	}
	token := strings.TrimSpace(d.stack.administer("tokens", "create", "--email", userEmail, "--name", d.t.Name(),
		"--scopes", "tasks:read"))
	d.signIn(token)
	limited := d.refused("create", args{"title": "t", "hostId": d.stack.hostID}, 403, "forbidden")
	if !strings.Contains(limited.Message, "tasks:write") || !strings.Contains(limited.Hint, "bellhop tokens create") {
		d.t.Errorf("%+v", limited)
	}
	d.call("open", args{"url": "http://127.0.0.1:1", "token": token}, nil)
	if lost := d.try("request", args{"method": "GET", "path": "/api/auth/me"}, nil); lost == nil ||
		!strings.Contains(lost.Network, "127.0.0.1:1") {
		d.t.Errorf("%+v", lost)
	}
	d.signIn(d.stack.token)
}
