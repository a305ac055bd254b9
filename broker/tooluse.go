package broker

import (
	"encoding/json"
	"fmt"

	"bellhop/protocol"
)

// A tool use is one message. Call and result may arrive in either order. Hosts may
// reuse an id in the same turn, so a call for a finished use adds another message,
// and so does a second result.

func (e *effects) toolCall(in *incomingEvent) error {
	m := e.toolRow(in, PhaseResult) // the result arrived first
	if m == nil {
		m = e.toolRow(in, PhaseCall) // the same call again, before any result
	}
	return e.mergeTool(in, m, func(use *protocol.ToolUse, phase ToolPhase) ToolPhase {
		use.ToolName, use.Input = in.event.ToolName, in.event.Input
		if phase == PhaseResult || phase == PhaseBoth {
			return PhaseBoth
		}
		use.State = protocol.ToolRunning
		return PhaseCall
	})
}

func (e *effects) toolResult(in *incomingEvent) error {
	return e.mergeTool(in, e.toolRow(in, PhaseCall), func(use *protocol.ToolUse, phase ToolPhase) ToolPhase {
		if use.ToolName == "" {
			use.ToolName = in.event.ToolName
		}
		use.Output, use.IsError = in.event.Output, in.event.IsError
		switch {
		case in.event.Denied:
			use.State = protocol.ToolDenied
		case in.event.IsError:
			use.State = protocol.ToolError
		default:
			use.State = protocol.ToolDone
		}
		if phase == PhaseCall {
			return PhaseBoth
		}
		return PhaseResult
	})
}

// toolRow returns the oldest row of this (turnId, toolCallId) in that phase.
func (e *effects) toolRow(in *incomingEvent, phase ToolPhase) *Message {
	for _, m := range e.tools[in.event.ToolCallID] {
		if m.TurnID == in.turn && m.Phase == phase {
			return m
		}
	}
	return nil
}

func (e *effects) mergeTool(in *incomingEvent, m *Message, merge func(*protocol.ToolUse, ToolPhase) ToolPhase) error {
	use := protocol.ToolUse{ToolCallID: in.event.ToolCallID}
	artifact := protocol.Artifact{Type: protocol.ArtifactToolUse}
	phase := PhaseNone
	if m != nil {
		if len(m.Artifacts) != 1 {
			return fmt.Errorf("message %s: a tool row with %d artifacts", m.ID, len(m.Artifacts))
		}
		artifact, phase = m.Artifacts[0], m.Phase
		if err := json.Unmarshal(artifact.Content, &use); err != nil {
			return fmt.Errorf("message %s: %w", m.ID, err)
		}
	} else {
		artifact.ID = protocol.NewID()
	}
	phase = merge(&use, phase)
	content, err := marshal(use)
	if err != nil {
		return fmt.Errorf("tool use %s: %w", use.ToolCallID, err)
	}
	artifact.Content = content
	if m != nil {
		m.Artifacts, m.Phase = []protocol.Artifact{artifact}, phase
		e.changeMessage(m)
		return nil
	}
	m = e.addMessage(Message{Phase: phase, ToolCallID: use.ToolCallID, Message: protocol.Message{
		TurnID: in.turn, Role: protocol.RoleAssistant, Status: protocol.MessageSent,
		Artifacts: []protocol.Artifact{artifact}, EventID: in.id,
	}})
	e.tools[use.ToolCallID] = append(e.tools[use.ToolCallID], m)
	return nil
}
