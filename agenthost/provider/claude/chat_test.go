package claude_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/claude"
	"bellhop/agenthost/provider/providertest"
)

// playChat is the variable that makes this test binary a Claude Code which answers
// every prompt.
const playChat = "CLAUDE_TEST_CHAT"

// chatLine is one line from the host.
type chatLine struct {
	Type      string `json:"type"`
	RequestID string `json:"request_id"`
	Request   struct {
		Subtype string `json:"subtype"`
	} `json:"request"`
	Response struct {
		Response struct {
			Behavior string `json:"behavior"`
			Message  string `json:"message"`
		} `json:"response"`
	} `json:"response"`
	Message struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"message"`
}

// chat answers prompts until the end of its input.
func chat() {
	lines := make(chan chatLine)
	go func() {
		in := bufio.NewReader(os.Stdin)
		for {
			raw, err := in.ReadBytes('\n')
			if err != nil {
				close(lines)
				return
			}
			var line chatLine
			_ = json.Unmarshal(raw, &line)
			lines <- line
		}
	}()
	for line := range lines {
		switch line.Type {
		case "control_request":
			fmt.Printf(`{"type":"control_response","response":{"subtype":"success","request_id":%q}}`+"\n", line.RequestID)
			fmt.Println(idle)
		case "user":
			fmt.Println(works + "\n" + begins)
			end := reply(line.Message.Content[0].Text, lines)
			fmt.Println(end + "\n" + idle)
		}
	}
}

// reply plays one turn and returns its result.
func reply(prompt string, lines <-chan chatLine) string {
	switch prompt {
	case "fail":
		return `{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","result":"API Error: 500"}`
	case "crash":
		fmt.Println(delta("I am about to die. "))
		fmt.Fprintln(os.Stderr, "panic: oh no")
		os.Exit(3)
	case "crash asking":
		fmt.Println(wants("r1", "a", "W", `{"p":1}`))
		fmt.Println(wants("r2", "b", "AskUserQuestion", `{"questions":[{"question":"Colour?"}]}`))
		os.Exit(3)
	case "tool":
		fmt.Println(use("null", "a", "ls") + "\n" + gives("a", `,"content":"x"`))
	case "endless":
		return endless(lines)
	case "confirm":
		return requested("W", `{"p":1}`, lines)
	case "ask":
		return requested("AskUserQuestion", `{"questions":[{"question":"Colour?"}]}`, lines)
	}
	fmt.Println(delta("hello ") + "\n" + delta("you") + "\n" + fullText("hello you"))
	return ends
}

func endless(lines <-chan chatLine) string {
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case line, open := <-lines:
			if !open {
				os.Exit(0)
			}
			if line.Request.Subtype == "interrupt" {
				return strings.ReplaceAll(taken, "interrupt", line.RequestID) + "\n" + cut
			}
		case <-ticker.C:
			fmt.Println(delta("on and "))
		}
	}
}

func requested(tool, input string, lines <-chan chatLine) string {
	fmt.Println(wants("r1", "a", tool, input))
	for line := range lines {
		switch {
		case line.Request.Subtype == "interrupt":
			return `{"type":"control_cancel_request","request_id":"r1"}` + "\n" + taken + "\n" + cut
		case line.Type == "control_response":
			fmt.Println(gives("a", fmt.Sprintf(`,"content":"done","is_error":%v`, line.Response.Response.Behavior == "deny")))
			fmt.Println(fullText("so be it"))
			return ends
		}
	}
	os.Exit(0)
	return ""
}

func TestTheContract(t *testing.T) {
	t.Parallel()
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		return providertest.Subject{
			Provider: claude.New(claude.Options{
				Find: found(os.Args[0]), Env: []string{playChat + "=1", providertest.EndsAtOnce},
			}),
			CannotStart: claude.New(claude.Options{Find: found(filepath.Join(t.TempDir(), "no-such-program"))}),
			Spec:        agenthost.AgentSpec{Env: []string{providertest.Mark(t)}},
			Prompts: providertest.Prompts{
				Text: "hello", Tool: "tool", Confirm: "confirm", Ask: "ask", Endless: "endless",
				Crash: "crash", Fail: "fail", LastLines: "panic: oh no", CrashAsking: "crash asking",
			},
			Running: providertest.Running(t),
		}
	})
}
