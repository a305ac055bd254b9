package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
	"bellhop/protocol"
)

// The replay of a loaded session has ended when no update has come for replayQuiet,
// or after replayMax.
const (
	replayQuiet = 300 * time.Millisecond
	replayMax   = 10 * time.Second
)

// message is an input of a turn. Exactly one member is set.
type message struct {
	update   *update
	question *question
	finish   *finish
}

// finish is the response to the prompt.
type finish struct {
	response sdk.PromptResponse
	err      error
}

// connection implements stdio.Connection. The SDK handles requests and responses.
type connection struct {
	*program
	child     *stdio.Child
	deliver   func(message) bool
	rpc       *sdk.Connection
	responses *io.PipeWriter                // to the SDK
	updated   chan struct{}                 // receives a value at each update
	unsent    atomic.Pointer[chan struct{}] // to be closed when the next prompt was sent

	// Only the goroutine of Run uses these.
	session      sdk.SessionId
	capabilities sdk.AgentCapabilities
	spent        spending
}

func connect(p *program, child *stdio.Child, deliver func(message) bool) *connection {
	c := &connection{program: p, child: child, deliver: deliver, updated: make(chan struct{}, 1)}
	read, write := io.Pipe()
	c.responses = write
	c.rpc = sdk.NewConnection(c.request, c, read)
	c.rpc.SetLogger(slog.New(slog.DiscardHandler)) // the SDK logs complete messages
	go func() {                                    // the SDK may close the connection by itself
		<-c.rpc.Done()
		child.CloseInput()
		_ = read.Close()
	}()
	return c
}

// Write sends a line of the SDK to the program.
func (c *connection) Write(line []byte) (int, error) {
	n, err := c.child.Write(line)
	var head struct {
		Method string `json:"method"`
	}
	if unsent := c.unsent.Load(); unsent != nil && json.Unmarshal(line, &head) == nil && head.Method == sdk.AgentMethodSessionPrompt {
		c.unsent.Store(nil)
		close(*unsent)
	}
	return n, err
}

// Decode returns an update, and passes all other messages to the SDK. The turn
// handles an update before the next line is read. The SDK would run a request
// concurrently with earlier updates, and would close the connection of an agent
// that sends updates faster than they are stored.
func (c *connection) Decode(line []byte) (message, error) {
	var head struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	switch err := json.Unmarshal(line, &head); {
	case err != nil || head.Method == "" && len(head.ID) == 0:
		return message{}, errors.New("a line that is no message: " + stdio.Excerpt(line))
	case head.Method != sdk.ClientMethodSessionUpdate:
		_, _ = c.responses.Write(append(bytes.Clone(line), '\n'))
		return message{}, stdio.ErrConsumed
	}
	select {
	case c.updated <- struct{}{}:
	default:
	}
	var params struct {
		Update update `json:"update"`
	}
	if err := json.Unmarshal(head.Params, &params); err != nil {
		return message{}, errors.New("an update that cannot be read: " + stdio.Excerpt(line))
	}
	c.noteCommands(&params.Update)
	return message{update: &params.Update}, nil
}

// noteCommands notifies the host of the slash commands in an update, which agents also send between turns.
func (c *connection) noteCommands(u *update) {
	if u.Kind != "available_commands_update" || c.spec.ReportCommands == nil {
		return
	}
	list := make([]protocol.Command, len(u.Commands))
	for i, found := range u.Commands {
		list[i] = protocol.Command{Name: found.Name, Description: found.Description, Arguments: found.Input.Hint}
	}
	c.spec.ReportCommands(list)
}

// HangUp implements stdio.HangUp.
func (c *connection) HangUp() {
	_ = c.responses.Close()
	<-c.rpc.Done()
}

// Reject drops an update between turns, such as the replay of a loaded session.
func (c *connection) Reject(message) {}

// Begin implements stdio.Connection.
func (c *connection) Begin(t *stdio.Turn) stdio.Exchange[message] {
	return &turn{Turn: t, connection: c, blocks: blocks{out: t.Out}, sent: make(chan struct{})}
}

// Open loads the session, or creates a new one if the agent cannot load it.
func (c *connection) Open(
	ctx context.Context, sessionID string, out agenthost.Output,
) (id string, memoryLost bool, err error) {
	hello, err := send[sdk.InitializeResponse](ctx, c, sdk.AgentMethodInitialize, sdk.InitializeRequest{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		ClientInfo:      &sdk.Implementation{Name: "bellhop", Version: "1"},
	})
	if err != nil {
		return "", false, err
	}
	c.capabilities = hello.AgentCapabilities
	c.reported.takes(hello.AgentCapabilities.PromptCapabilities.Image)
	models, err := c.load(ctx, sessionID)
	if err != nil {
		return "", false, err
	}
	if c.session == "" {
		memoryLost = sessionID != ""
		created, err := send[sdk.NewSessionResponse](ctx, c, sdk.AgentMethodSessionNew, sdk.NewSessionRequest{
			Meta: distrust(c.spec.Dir), Cwd: c.spec.Dir, McpServers: c.servers(),
		})
		if err != nil {
			return "", false, err
		}
		c.session, models = created.SessionId, created.Models
		c.spent = spending{known: true}
		c.reported.update(created.Models, created.Modes)
	}
	return string(c.session), memoryLost, c.configure(ctx, models, out)
}

// load loads an earlier session, if there is one and the agent supports it. It
// returns when the agent has sent its replay of the session.
func (c *connection) load(ctx context.Context, sessionID string) (*sdk.SessionModelState, error) {
	if sessionID == "" || !c.capabilities.LoadSession {
		return nil, nil
	}
	loaded, err := send[sdk.LoadSessionResponse](ctx, c, sdk.AgentMethodSessionLoad, sdk.LoadSessionRequest{
		Meta: distrust(c.spec.Dir), SessionId: sdk.SessionId(sessionID), Cwd: c.spec.Dir, McpServers: c.servers(),
	})
	switch {
	case err != nil && (c.child.IsEnding() || ctx.Err() != nil):
		return nil, err
	case err != nil:
		c.child.Log.Warn("agent cannot load its session", "agent", c.options.Name, "err", err)
		return nil, nil
	}
	c.session = sdk.SessionId(sessionID)
	c.reported.update(loaded.Models, loaded.Modes)
	return loaded.Models, c.awaitReplay(ctx)
}

// awaitReplay waits until no update has arrived for a while, because an agent may
// answer session/load before it replays the session.
func (c *connection) awaitReplay(ctx context.Context) error {
	limit := time.NewTimer(replayMax)
	defer limit.Stop()
	quiet := time.NewTimer(replayQuiet)
	defer quiet.Stop()
	for {
		select {
		case <-c.updated:
			quiet.Reset(replayQuiet)
		case <-quiet.C:
			return nil
		case <-limit.C:
			return nil
		case <-c.child.Ended():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// hostServer is the name of the host's MCP server, the only one of the session.
const hostServer = "bellhop"

// servers returns the MCP servers of the session: the host's server, if the agent
// supports MCP over HTTP.
func (c *connection) servers() []sdk.McpServer {
	if c.spec.Local == nil || !c.capabilities.McpCapabilities.Http {
		return []sdk.McpServer{}
	}
	return []sdk.McpServer{{Http: &sdk.McpServerHttpInline{
		Type: "http", Name: hostServer, Url: c.spec.Local.MCPURL,
		Headers: []sdk.HttpHeader{{Name: "Authorization", Value: "Bearer " + c.spec.Local.Secret}},
	}}}
}

// configure sets the mode and the model. A loaded session keeps its own.
func (c *connection) configure(ctx context.Context, models *sdk.SessionModelState, out agenthost.Output) error {
	if mode := c.options.Mode; mode != "" {
		request := sdk.SetSessionModeRequest{SessionId: c.session, ModeId: sdk.SessionModeId(mode)}
		if err := c.set(ctx, sdk.AgentMethodSessionSetMode, request); err != nil {
			return fmt.Errorf("set the mode %q: %w", mode, err)
		}
	}
	model := c.spec.Model
	switch {
	case model == "":
		return nil
	case models == nil:
		c.child.Log.Warn("agent does not support choosing a model", "agent", c.options.Name)
		out.Notice("warning", "The agent cannot use the model "+model+"; it uses its own")
		return nil
	case string(models.CurrentModelId) == model:
		return nil
	}
	request := sdk.UnstableSetSessionModelRequest{SessionId: c.session, ModelId: sdk.UnstableModelId(model)}
	if err := c.set(ctx, sdk.AgentMethodSessionSetModel, request); err != nil {
		return fmt.Errorf("set the model %q: %w", model, err)
	}
	return nil
}

func (c *connection) set(ctx context.Context, method string, params any) error {
	_, err := sdk.SendRequest[struct{}](c.rpc, ctx, method, params)
	return readable(err)
}

// send sends a request. Its error is readable and begins with the method.
func send[T any](ctx context.Context, c *connection, method string, params any) (T, error) {
	result, err := sdk.SendRequest[T](c.rpc, ctx, method, params)
	if err != nil {
		err = fmt.Errorf("%s: %w", method, readable(err))
	}
	return result, err
}

// request answers a request of the agent. The host supports only permission
// requests and advertises nothing else.
func (c *connection) request(ctx context.Context, method string, params json.RawMessage) (any, *sdk.RequestError) {
	if method != sdk.ClientMethodSessionRequestPermission {
		return nil, sdk.NewMethodNotFound(method)
	}
	var request sdk.RequestPermissionRequest
	err := json.Unmarshal(params, &request)
	if err == nil {
		err = request.Validate()
	}
	if err != nil {
		return nil, sdk.NewInvalidParams(map[string]any{"error": err.Error()})
	}
	return sdk.RequestPermissionResponse{Outcome: c.permission(ctx, request)}, nil
}
