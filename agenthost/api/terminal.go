package api

import (
	"context"
	"time"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// terminalRequest asks for the command of the agent's terminal client, or reports about an open one.
type terminalRequest struct {
	ID          string `param:"id" json:"-"`
	Attached    bool   `json:"attached,omitempty"`    // the terminal client is open
	Closed      bool   `json:"closed,omitempty"`      // it has ended
	WaitSeconds int    `json:"waitSeconds,omitempty"` // with Attached: answer after so long, or when a prompt takes the session over
}

// terminalResponse is the command, or the answer to a report.
type terminalResponse struct {
	agenthost.Terminal
	TakenOver bool `json:"takenOver,omitempty"` // the client has to end
}

// terminal returns the command of the agent's terminal client, including secrets.
// Callers have the agent password, so they can run the host's agents anyway.
func (a *API) terminal(ctx context.Context, req *terminalRequest) (*terminalResponse, error) {
	most := int(agenthost.MaxTerminalWait / time.Second)
	switch {
	case req.WaitSeconds < 0 || req.WaitSeconds > most:
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "waitSeconds is out of range", Hint: "Send 0 to 25, with attached",
		}
	case req.Closed:
		return &terminalResponse{}, a.Host.TerminalClosed(req.ID)
	case req.Attached && req.WaitSeconds > 0:
		taken, err := a.Host.WatchTerminal(ctx, req.ID, time.Duration(req.WaitSeconds)*time.Second)
		return &terminalResponse{TakenOver: taken}, err
	case req.Attached:
		return &terminalResponse{}, a.Host.TerminalOpen(req.ID)
	}
	terminal, err := a.Host.Terminal(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	return &terminalResponse{Terminal: *terminal}, nil
}
