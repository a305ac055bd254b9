package conformance

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"bellhop/agent"
	"bellhop/internal/jsonlines"
	"bellhop/protocol"
)

// asProgram is the argument that makes this binary an agent on stdio, with the fault that follows.
const asProgram = "program"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == asProgram {
		os.Exit(faulty(os.Args[2]))
	}
	goleak.VerifyTestMain(m)
}

// faulty runs the demo agent with one fault.
func faulty(fault string) int {
	var in io.Reader = os.Stdin
	if fault == "ignores interrupts" {
		in = without(os.Stdin, `"interrupt"`)
	}
	out := &mangler{fault: fault}
	if fault == "logs to stdout" {
		fmt.Println("starting…")
	}
	err := agent.Stdio(context.Background(), in, out, agent.Options{PieceDelay: 1})
	if err != nil || fault == "exits with an error" {
		return 3
	}
	return 0
}

// without drops lines that contain a word.
func without(in io.Reader, word string) io.Reader {
	r, w := io.Pipe()
	go func() {
		lines := jsonlines.NewReader(in, protocol.MaxLine)
		for {
			line, err := lines.Next()
			if err != nil {
				_ = w.Close()
				return
			}
			if !bytes.Contains(line, []byte(word)) {
				_, _ = w.Write(append(bytes.Clone(line), '\n'))
			}
		}
	}()
	return r
}

// mangler damages the agent's output.
type mangler struct{ fault string }

func (m *mangler) Write(p []byte) (int, error) {
	out := bufio.NewWriter(os.Stdout)
	line := string(p)
	switch {
	case m.fault == "ends a turn twice" && strings.Contains(line, "waiting_for_input"):
		line += line
	case m.fault == "forgets the session" && strings.Contains(line, `"session_id"`):
		line = strings.Replace(line, `"session_id":"conformance-1",`, "", 1)
	case m.fault == "swallows refusals" && strings.Contains(line, `"level":"error"`):
		line = ""
	case m.fault == "repeats other text in the message" && strings.Contains(line, `"type":"message"`):
		line = strings.Replace(line, `"content":"`, `"content":"Well: `, 1)
	}
	_, _ = out.WriteString(line)
	return len(p), out.Flush()
}
