package agent

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/protocol"
)

func TestLinesThatBreakARuleGetAStatusAndChangeNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ line, want string }{
		"no JSON":     {`hello`, `Invalid JSON: invalid character 'h' at start of value (at byte 0)`},
		"half a line": {`{"type":"input","text":"list"`, `Invalid JSON: unexpected EOF (at byte 29)`},
		"an array":    {`[]`, `The body must be a JSON object`},
		"null":        {`null`, `The body must be a JSON object`},
		"two objects": {
			`{"type":"interrupt"}{}`, `Invalid JSON: invalid character '{' after top-level value (at byte 20)`,
		},
		"a duplicate member": {
			`{"type":"input","text":"a","text":"b"}`, `Invalid JSON: duplicate member name (at byte 27)`,
		},
		"invalid UTF-8":          {"{\"type\":\"input\",\"text\":\"\xff\"}", `Invalid JSON: invalid UTF-8 (at byte 24)`},
		"a nesting bomb":         {strings.Repeat("[", 100_000), `The body is nested deeper than 64 levels`},
		"no type":                {`{"text":"list"}`, `type is required`},
		"a type of another case": {`{"Type":"input","text":"list"}`, `Unknown member Type. Its name is type`},
		"another spelling": {
			`{"type":"input","sessionId":"s1","text":"list"}`, `Unknown member sessionId. Its name is session_id`,
		},
		"an unknown type": {
			`{"type":"inputs","text":"list"}`, `Unknown type "inputs". Known are input, answer, confirmation and interrupt`,
		},
		"a type of the agent": {
			`{"type":"chunk","content":"x"}`, `Unknown type "chunk". Known are input, answer, confirmation and interrupt`,
		},
		"a number for a text":  {`{"type":"input","text":5}`, `text must be a string`},
		"another session's id": {`{"type":"input","session_id":"s2","text":"list"}`, `This is not session "s2"`},
		"another's interrupt":  {`{"type":"interrupt","session_id":"s2"}`, `This is not session "s2"`},
		"input without text":   {`{"type":"input"}`, `An input needs text or attachments`},
		"input of white space": {`{"type":"input","text":" \n","attachments":[]}`, `An input needs text or attachments`},
		"an attachment's type": {
			`{"type":"input","attachments":[{"type":"video","data":"AAAA"}]}`,
			`attachments[0].type must be "image" or "document". Send PNG, JPEG, GIF or WebP as type image, or text and PDF as type document`,
		},
		"an attachment's member": {
			`{"type":"input","attachments":[{"type":"image","media_type":"image/png","data":"AAAA"}]}`,
			`Unknown member attachments.media_type. Its name is attachments.mediaType`,
		},
		"an attachment's data": {
			`{"type":"input","attachments":[{"type":"image","data":"%"}]}`,
			`attachments[0].data must be base64, and not empty`,
		},
		"an answer to nothing":    {`{"type":"answer","text":"x"}`, `request_id is required`},
		"an unknown request_id":   {`{"type":"answer","request_id":"id-99","text":"x"}`, `No open question "id-99"`},
		"an unknown confirmation": {`{"type":"confirmation","request_id":"id-99","value":true}`, `No open question "id-99"`},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := serve(t, Options{SessionID: "s1"})
			c2.send(c.line)
			got := c2.until(protocol.LineStatus)
			if got.Message != c.want || got.Level != "error" || got.SessionID != "s1" || got.Code == "" || len(c2.seen) != 1 {
				t.Errorf("got %+v", got)
			}
			c2.input("help")
			c2.waiting(protocol.WaitingDone)
			c2.ends()
			if c2.answered() != 1 {
				t.Errorf("the turn after it:\n%s", strings.Join(c2.seen, "\n"))
			}
		})
	}
}

func TestASessionBeginsWithHelloAndIgnoresBlankLines(t *testing.T) {
	t.Parallel()
	c := serve(t, Options{SessionID: "s1", Version: "v9"})
	for _, blank := range []string{"", "  ", "\t"} {
		c.send(blank)
	}
	c.input("help")
	c.waiting(protocol.WaitingDone)
	c.ends()
	if c.hello.Version != "v9" || c.hello.SessionID != "s1" || !slices.Contains(c.hello.Tools, ToolReadFile) {
		t.Errorf("hello: %+v", c.hello)
	}
	for _, line := range c.seen {
		if strings.Contains(line, `"status"`) {
			t.Errorf("a blank line was answered: %s", line)
		}
	}
}

// An error names the command that it answers, and its question.
func TestAnErrorNamesItsCommand(t *testing.T) {
	t.Parallel()
	c := serve(t, Options{SessionID: "s1"})
	for sent, want := range map[string]protocol.Line{
		`{"type":"answer","request_id":"q","text":"x"}`: {Code: protocol.CodeNotFound, Command: "answer", RequestID: "q"},
		`{"type":"input"}`:                                 {Code: protocol.CodeInvalid, Command: "input"},
		`{"type":"confirmation","requestId":"q"}`:          {Code: protocol.CodeInvalid, Command: "confirmation"},
		`{"type":"interrupt"`:                              {Code: protocol.CodeInvalid},
		`{"type":"interrupt","session_id":"another-one"} `: {Code: protocol.CodeNotFound, Command: "interrupt"},
	} {
		c.send(sent)
		got := c.until(protocol.LineStatus)
		if got.Code != want.Code || got.Command != want.Command || got.RequestID != want.RequestID {
			t.Errorf("%s: %+v", sent, got)
		}
	}
	c.ends()
}

func TestLinesThatBreakARuleWhileAQuestionIsOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ line, want string }{
		"input while one runs": {
			`{"type":"input","text":"list"}`, `An input is being worked on. Wait for waiting_for_input, or send interrupt`,
		},
		"a confirm is no ask": {
			`{"type":"answer","request_id":"id-2","text":"yes"}`, `Question id-2 is answered by type "confirmation"`,
		},
		"no value":               {`{"type":"confirmation","request_id":"id-2"}`, `A confirmation needs value`},
		"a value that is a text": {`{"type":"confirmation","request_id":"id-2","value":"true"}`, `value must be a boolean`},
		"an unknown remember": {
			`{"type":"confirmation","request_id":"id-2","value":true,"remember":"ever"}`,
			`remember must be "session" or absent`,
		},
		"another session's reply": {
			`{"type":"confirmation","session_id":"s2","request_id":"id-2","value":true}`, `This is not session "s2"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := workspace(t)
			a := serve(t, Options{Dir: dir, SessionID: "s1"})
			a.input("write new.txt: x")
			a.until(protocol.LineConfirm)
			a.send(c.line)
			if got := a.until(protocol.LineStatus); got.Level != "error" || got.Message != c.want {
				t.Errorf("got %q, want %q", got.Message, c.want)
			}
			if _, err := os.Stat(filepath.Join(dir, "new.txt")); err == nil {
				t.Error("the file was written")
			}
			a.send(`{"type":"confirmation","request_id":"id-2","value":true}`)
			a.send(`{"type":"confirmation","request_id":"id-2","value":false}`)
			if got := a.until(protocol.LineStatus); got.Message != `No open question "id-2"` {
				t.Errorf("a second confirmation: %q", got.Message)
			}
			a.waiting(protocol.WaitingDone)
			a.ends()
			if content, err := os.ReadFile(filepath.Join(dir, "new.txt")); string(content) != "x" {
				t.Errorf("wrote %q, %v", content, err)
			}
		})
	}
}

func TestAWrongLineDoesNotBindTheSession(t *testing.T) {
	t.Parallel()
	c := serve(t, Options{})
	c.send(`{"type":"input","session_id":"wrong"}`)
	c.until(protocol.LineStatus)
	c.send(`{"type":"input","session_id":"right","text":"help"}`)
	c.waiting(protocol.WaitingDone)
	c.ends()
	for _, line := range c.seen[1:] {
		if !strings.Contains(line, `"session_id":"right"`) {
			t.Errorf("without the session: %s", line)
		}
	}
}

func TestALineOverTheLimitIsRefusedAndTheStreamContinues(t *testing.T) {
	t.Parallel()
	c := serve(t, Options{})
	go func() {
		_, _ = io.WriteString(c.in, `{"type":"input","text":"`)
		for block, sent := strings.Repeat("x", 1<<20), 0; sent < 3*protocol.MaxLine; sent += len(block) {
			_, _ = io.WriteString(c.in, block)
		}
		_, _ = io.WriteString(c.in, "\"}\n{\"type\":\"input\",\"text\":\"help\"}\n")
	}()
	if got := c.until(protocol.LineStatus); got.Message != "The line is over 12 MiB" {
		t.Errorf("got %q", got.Message)
	}
	c.waiting(protocol.WaitingDone)
	c.ends()
	if n := strings.Count(strings.Join(c.seen, "\n"), `"type":"status"`); n != 1 {
		t.Errorf("%d status lines", n)
	}
}

func TestInterruptEndsEveryStateOfATurn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prompt string
		until  string
		answer string // before the interrupt
	}{
		"text":         {"slow 36000", protocol.LineChunk, ""},
		"a question":   {"ask Which floor?", protocol.LineAsk, ""},
		"a permission": {"write new.txt: x", protocol.LineConfirm, ""},
		"a command": {
			"run trap '' INT TERM; (sleep 1000) & echo ready >fifo; sleep 1000", protocol.LineConfirm,
			`{"type":"confirmation","request_id":"id-2","value":true}`,
		},
		"the commands behind": {"slow 36000 then list then list", protocol.LineChunk, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := workspace(t)
			ready := fifo(t, dir)
			a := serve(t, Options{Dir: dir})
			a.input(c.prompt)
			a.until(c.until)
			if c.answer != "" {
				a.send(c.answer)
				a.next() // executing_tool
				awaitReady(t, ready)
			}
			var rapid sync.WaitGroup
			rapid.Go(func() { _, _ = io.WriteString(a.in, strings.Repeat("{\"type\":\"interrupt\"}\n", 1000)) })
			a.waiting(protocol.WaitingInterrupted)
			rapid.Wait()
			starts, results := 0, 0
			for _, line := range a.seen {
				starts += strings.Count(line, `"type":"tool_start"`)
				results += strings.Count(line, `"type":"tool_message"`)
			}
			if starts != results {
				t.Errorf("%d tool calls with %d results", starts, results)
			}
			a.input("help")
			a.waiting(protocol.WaitingDone)
			a.ends()
			if a.answered() != 2 {
				t.Errorf("two inputs had %d ends", a.answered())
			}
		})
	}
}

func TestInterruptOfAnIdleSessionDoesNothing(t *testing.T) {
	t.Parallel()
	c := serve(t, Options{})
	c.send(`{"type":"interrupt"}`)
	c.send(`{"type":"interrupt","session_id":"s1"}`)
	c.input("help")
	c.waiting(protocol.WaitingDone)
	c.ends()
	if c.answered() != 1 || strings.Contains(strings.Join(c.seen, ""), "status") {
		t.Errorf("got\n%s", strings.Join(c.seen, "\n"))
	}
}

func TestATaskRunsAndEndsTheSession(t *testing.T) {
	t.Parallel()
	for task, want := range map[string]string{"list": "", "fail": "The task ended with reason error"} {
		t.Run(task, func(t *testing.T) {
			c := serve(t, Options{Task: task, SessionID: "s1"})
			reason := c.until(protocol.LineState).Reason
			err := <-c.done
			if got := explainOrNothing(err); got != want {
				t.Errorf("ended with %q after %s, want %q", got, reason, want)
			}
		})
	}
}

func TestATaskMayAsk(t *testing.T) {
	t.Parallel()
	c := serve(t, Options{Task: "ask Which floor?"})
	c.send(`{"type":"answer","request_id":"` + c.until(protocol.LineAsk).RequestID + `","text":"Third"}`)
	c.waiting(protocol.WaitingDone)
	if err := <-c.done; err != nil {
		t.Error(err)
	}
}

func explainOrNothing(err error) string {
	if err == nil {
		return ""
	}
	return explain(err)
}

func TestOptionsThatCannotWork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts Options
		want string
	}{
		"an unknown model": {
			Options{Dir: t.TempDir(), Model: "gpt"}, "Unknown model gpt. The model that is built in is demo",
		},
		"no such directory": {
			Options{Dir: "/no/such"}, "The working directory /no/such is not a directory. Name an existing directory",
		},
		"a file as the directory": {
			Options{Dir: "doc.go"}, "The working directory doc.go is not a directory. Name an existing directory",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := Stdio(t.Context(), strings.NewReader(""), io.Discard, c.opts)
			if err == nil || explain(err) != c.want || protocol.CodeOf(err) != protocol.CodeInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestPiecesAreDelayed(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	for prompt, pace := range map[string]time.Duration{"help": DefaultPieceDelay, "slow 7": slowDelay} {
		synctest.Test(t, func(t *testing.T) {
			a := serve(t, Options{Dir: dir, PieceDelay: DefaultPieceDelay})
			a.input(prompt)
			began, pieces := time.Now(), 0
			for line := a.until(protocol.LineChunk, protocol.LineMessage); line.Type == protocol.LineChunk; pieces++ {
				if got := time.Since(began); got != time.Duration(pieces+1)*pace {
					t.Errorf("%s: piece %d after %s", prompt, pieces+1, got)
				}
				line = a.until(protocol.LineChunk, protocol.LineMessage)
			}
			if pieces < 4 || prompt == "slow 7" && pieces != 7 {
				t.Errorf("%s: %d pieces", prompt, pieces)
			}
			a.ends()
		})
	}
}
