package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/internal/jsonlines"
	"bellhop/protocol"
)

type mcpCommand struct {
	Dev   string      `placeholder:"DIR" help:"Use the 'bellhop dev' that keeps its data there."`
	URL   string      `env:"BELLHOP_URL" default:"http://127.0.0.1:7700" placeholder:"URL" help:"The broker (${default})."`
	Token seal.Secret `env:"BELLHOP_TOKEN" secret:"" placeholder:"TOKEN" help:"API token of kind agent; make one with 'bellhop tokens create --kind agent'."`
}

// Help is shown by --help.
func (mcpCommand) Help() string {
	return `For editors whose agents speak MCP on stdio only; others use <broker>/mcp directly. In their configuration:

  {"command": "bellhop", "args": ["mcp", "--url", "https://bellhop.example.com"], "env": {"BELLHOP_TOKEN": "bhp_…"}}`
}

const (
	maxMCPMessage = 4 << 20
	maxMCPAnswer  = 16 << 20
	mcpTimeout    = time.Minute
	mcpAtOnce     = 16
)

// Run passes messages on until the end of input.
func (c mcpCommand) Run(env *environment) error {
	bridge, err := c.bridge(env)
	if err != nil {
		return err
	}
	return bridge.run(env.ctx, env.stdin)
}

func (c mcpCommand) bridge(env *environment) (*bridge, error) {
	url, token := c.URL, c.Token
	if c.Dev != "" {
		content, err := os.ReadFile(filepath.Join(c.Dev, "dev.json"))
		if err != nil {
			return nil, fmt.Errorf("--dev: %w (is 'bellhop dev' running with --data %s?)", err, c.Dev)
		}
		var dev app.DevFile
		if err := json.Unmarshal(content, &dev); err != nil {
			return nil, fmt.Errorf("--dev: %w", err)
		}
		url = dev.BrokerURL
		if token.IsZero() {
			token = seal.NewSecret(dev.APIToken)
		}
	}
	if token.IsZero() {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "no API token",
			Hint: "Set BELLHOP_TOKEN; make one with 'bellhop tokens create --kind agent --agent NAME', or use --dev.",
		}
	}
	return &bridge{url: strings.TrimRight(url, "/") + "/mcp", token: token, out: env.stdout, http: &http.Client{Timeout: mcpTimeout}}, nil
}

// bridge posts each message of stdin and prints its answer. It changes none, so
// that whatever version of MCP both ends speak passes through.
type bridge struct {
	url   string
	token seal.Secret
	http  *http.Client

	mu      sync.Mutex
	out     io.Writer
	version string // that initialize agreed on
}

// mcpMessage is what the bridge has to know of one.
type mcpMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

func (b *bridge) run(ctx context.Context, in io.Reader) error {
	ended := make(chan error, 1)
	go func() { ended <- b.read(ctx, in) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done(): // a read of stdin cannot be interrupted; the process ends
		return nil
	}
}

func (b *bridge) read(ctx context.Context, in io.Reader) error {
	var pending sync.WaitGroup
	defer pending.Wait()
	slots := make(chan struct{}, mcpAtOnce)
	lines := jsonlines.NewReader(in, maxMCPMessage)
	for {
		line, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, jsonlines.ErrTooLong):
			_ = b.fail(nil, -32700, fmt.Sprintf("the message is larger than %d bytes", maxMCPMessage))
			continue
		case err != nil:
			return err
		case len(bytes.TrimSpace(line)) == 0:
			continue
		}
		message := bytes.Clone(line)
		slots <- struct{}{}
		pending.Add(1)
		work := func() {
			defer func() { <-slots; pending.Done() }()
			b.pass(ctx, message)
		}
		// What follows initialize depends on it; notifications keep their place.
		if m := peek(message); m.Method == "initialize" || m.ID == nil {
			work()
		} else {
			go work()
		}
	}
}

func peek(raw []byte) (m mcpMessage) {
	_ = json.Unmarshal(raw, &m) // the server says what is wrong with it
	return m
}

func (b *bridge) pass(ctx context.Context, message []byte) {
	m := peek(message)
	answer, err := b.post(ctx, message)
	switch {
	case err != nil && m.ID != nil:
		_ = b.fail(m.ID, -32603, err.Error())
	case err != nil || len(answer) == 0 || m.ID == nil:
	default:
		if m.Method == "initialize" {
			b.remember(answer)
		}
		_ = b.print(answer)
	}
}

func (b *bridge) post(ctx context.Context, message []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url, bytes.NewReader(message))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+b.token.Reveal())
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	b.mu.Lock()
	if b.version != "" {
		r.Header.Set("Mcp-Protocol-Version", b.version)
	}
	b.mu.Unlock()
	resp, err := b.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("cannot reach Bellhop: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxMCPAnswer))
	if err != nil {
		return nil, fmt.Errorf("cannot read Bellhop's answer: %w", err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return nil, refusal(resp.StatusCode, body)
	}
	return body, nil
}

func refusal(status int, body []byte) error {
	var e protocol.ErrorBody
	if json.Unmarshal(body, &e) != nil || e.Error == "" {
		return fmt.Errorf("the broker answered %d: %s", status, bytes.TrimSpace(body[:min(len(body), 200)]))
	}
	if e.Hint != "" {
		e.Error += " (" + e.Hint + ")"
	}
	return fmt.Errorf("the broker answered %d: %s", status, e.Error)
}

func (b *bridge) remember(answer []byte) {
	var initialized struct {
		Result struct {
			ProtocolVersion string `json:"protocolVersion"`
		} `json:"result"`
	}
	if json.Unmarshal(answer, &initialized) == nil {
		b.mu.Lock()
		b.version = initialized.Result.ProtocolVersion
		b.mu.Unlock()
	}
}

func (b *bridge) fail(id json.RawMessage, code int, message string) error {
	if id == nil {
		id = json.RawMessage("null")
	}
	raw, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message},
	})
	if err != nil {
		return err
	}
	return b.print(raw)
}

// print writes one message as one line.
func (b *bridge) print(raw []byte) error {
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
