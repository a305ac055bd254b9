package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/internal/jsonlines"
	"bellhop/protocol"
)

type mcpCommand struct {
	devFlag `embed:""`

	URL   string      `env:"BELLHOP_URL" default:"http://127.0.0.1:7700" placeholder:"URL" help:"URL of the broker (${default})."`
	Token seal.Secret `name:"token-file" env:"BELLHOP_TOKEN" secret:"" placeholder:"FILE" help:"File with the API token of kind agent. Create one with 'bellhop tokens create --kind agent'."`
}

// Help is shown by --help.
func (mcpCommand) Help() string {
	return `For editors whose agents speak MCP only on stdio. Others use <broker>/mcp directly. Configuration of the editor:

  {"command": "bellhop", "args": ["mcp", "--url", "https://bellhop.example.com"], "env": {"BELLHOP_TOKEN": "bhp_…"}}`
}

const (
	maxMCPMessage    = 4 << 20
	maxMCPResponse   = 16 << 20
	mcpTimeout       = time.Minute
	maxConcurrentMCP = 16
)

// Run forwards messages until the end of input.
func (c mcpCommand) Run(env *environment) error {
	bridge, err := c.bridge(env)
	if err != nil {
		return err
	}
	return bridge.run(env.ctx, env.stdin)
}

func (c mcpCommand) bridge(env *environment) (*bridge, error) {
	to, err := c.connect(connection{c.URL, c.Token}, func(dev app.DevFile) connection {
		if c.Token.IsZero() {
			return connection{dev.BrokerURL, seal.NewSecret(dev.APIToken)}
		}
		return connection{dev.BrokerURL, c.Token}
	}, &protocol.Error{
		Code: protocol.CodeInvalid, Message: "no API token",
		Hint: "Create a token with 'bellhop tokens create --kind agent --agent NAME' and set BELLHOP_TOKEN, or use --dev.",
	})
	if err != nil {
		return nil, err
	}
	return &bridge{
		url: strings.TrimRight(to.url, "/") + "/mcp", token: to.secret, out: env.stdout,
		http: &http.Client{Timeout: mcpTimeout},
	}, nil
}

// bridge posts each message of stdin to the broker and prints the response. It
// changes no message, so every version of MCP works.
type bridge struct {
	url   string
	token seal.Secret
	http  *http.Client

	mu              sync.Mutex
	out             io.Writer
	protocolVersion string // result of initialize; "" before
}

// mcpMessage holds the members that the bridge reads.
type mcpMessage struct {
	ID     json.RawMessage // nil: there is none, or the line is no message
	Method string
}

// isNotification reports whether the editor expects no answer.
func (m mcpMessage) isNotification() bool { return m.ID == nil && m.Method != "" }

func (b *bridge) run(ctx context.Context, in io.Reader) error {
	done := make(chan error, 1)
	go func() { done <- b.forwardLines(ctx, in) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done(): // forwardLines may block in a read of stdin until the process ends
		return nil
	}
}

func (b *bridge) forwardLines(ctx context.Context, in io.Reader) error {
	var pending sync.WaitGroup
	defer pending.Wait()
	slots := make(chan struct{}, maxConcurrentMCP)
	lines := jsonlines.NewReader(in, maxMCPMessage)
	for {
		line, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, jsonlines.ErrTooLong):
			_ = b.printFailure(nil, -32700, fmt.Sprintf("the message is larger than %d bytes", maxMCPMessage))
			continue
		case err != nil:
			return err
		case len(bytes.TrimSpace(line)) == 0:
			continue
		}
		message := bytes.Clone(line)
		slots <- struct{}{}
		pending.Add(1)
		handle := func() {
			defer func() { <-slots; pending.Done() }()
			b.forward(ctx, message)
		}
		// Later messages depend on initialize, and notifications must keep their order.
		if m := parseMessage(message); m.Method == "initialize" || m.ID == nil {
			handle()
		} else {
			go handle()
		}
	}
}

// parseMessage reads a line, whose names must match exactly, as in the broker. The broker refuses lines that are no
// messages.
func parseMessage(raw []byte) (m mcpMessage) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) == nil {
		m.ID = members["id"]
		_ = json.Unmarshal(members["method"], &m.Method)
	}
	return m
}

func (b *bridge) forward(ctx context.Context, message []byte) {
	m := parseMessage(message)
	answer, err := b.post(ctx, message)
	switch {
	case m.isNotification():
	case err != nil:
		_ = b.printFailure(m.ID, -32603, err.Error())
	case len(answer) == 0: // of a response, which the broker only accepts
	default:
		if m.Method == "initialize" {
			b.rememberVersion(answer)
		}
		if b.printMessage(answer) != nil {
			_ = b.printFailure(m.ID, -32603, "the broker's answer is no message, or is too large")
		}
	}
}

func (b *bridge) post(ctx context.Context, message []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url, bytes.NewReader(message))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+b.token.Reveal())
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	b.mu.Lock()
	if b.protocolVersion != "" {
		request.Header.Set("Mcp-Protocol-Version", b.protocolVersion)
	}
	b.mu.Unlock()
	response, err := b.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("cannot reach Bellhop: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxMCPResponse))
	if err != nil {
		return nil, fmt.Errorf("cannot read Bellhop's answer: %w", err)
	}
	if response.StatusCode >= http.StatusMultipleChoices && !isRPCError(response.StatusCode, body) {
		return nil, responseError(response.StatusCode, body)
	}
	return body, nil
}

// isRPCError reports whether body refuses the message itself, as the broker's 400 does.
func isRPCError(status int, body []byte) bool {
	var response struct {
		Version string `json:"jsonrpc"`
		Error   struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	return status == http.StatusBadRequest && json.Unmarshal(body, &response) == nil &&
		response.Version == "2.0" && response.Error.Code != 0
}

func responseError(status int, body []byte) error {
	var e protocol.ErrorBody
	var rpc struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &rpc) == nil {
		e.Error = rpc.Error.Message
	} else if json.Unmarshal(body, &e) != nil {
		e.Error = ""
	}
	if e.Error == "" {
		return fmt.Errorf("the broker answered %d: %s", status, bytes.TrimSpace(body[:min(len(body), 200)]))
	}
	if e.Hint != "" {
		e.Error += " (" + e.Hint + ")"
	}
	return fmt.Errorf("the broker answered %d: %s", status, e.Error)
}

func (b *bridge) rememberVersion(answer []byte) {
	var initialized struct {
		Result struct {
			ProtocolVersion string `json:"protocolVersion"`
		} `json:"result"`
	}
	if json.Unmarshal(answer, &initialized) == nil {
		b.mu.Lock()
		b.protocolVersion = initialized.Result.ProtocolVersion
		b.mu.Unlock()
	}
}

func (b *bridge) printFailure(id json.RawMessage, code int, message string) error {
	if id == nil {
		id = json.RawMessage("null")
	}
	raw, err := protocol.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message},
	})
	if err != nil {
		return err
	}
	return b.printMessage(raw)
}

// printMessage writes one message as one line.
func (b *bridge) printMessage(raw []byte) error {
	var line bytes.Buffer
	if err := json.Compact(&line, raw); err != nil {
		return err
	}
	line.WriteByte('\n')
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := b.out.Write(line.Bytes())
	return err
}
