package broker

import (
	"encoding/json"
	"fmt"

	"bellhop/protocol"
)

// A tool use is one message. Its halves come in whichever order; ids may be
// used again in the same turn, so a call for a use that is finished opens
// another, and so does a result for one that has its result.

func (e *edit) toolCall(a arrival) error {
	m := e.toolRow(a, PhaseResult) // its result came first
	if m == nil {
		m = e.toolRow(a, PhaseCall) // the call again, before any result
	}
	return e.mergeTool(a, m, func(use *protocol.ToolUse, phase ToolPhase) ToolPhase {
		use.ToolName, use.Input = a.event.ToolName, a.event.Input
		if phase == PhaseResult || phase == PhaseBoth {
			return PhaseBoth
		}
		use.State = protocol.ToolRunning
		return PhaseCall
	})
}

func (e *edit) toolResult(a arrival) error {
	return e.mergeTool(a, e.toolRow(a, PhaseCall), func(use *protocol.ToolUse, phase ToolPhase) ToolPhase {
		if use.ToolName == "" {
			use.ToolName = a.event.ToolName
		}
		use.Output, use.IsError = a.event.Output, a.event.IsError
		switch {
		case a.event.Denied:
			use.State = protocol.ToolDenied
		case a.event.IsError:
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

// toolRow is the oldest row of this (turnId, toolCallId) in that phase.
func (e *edit) toolRow(a arrival, phase ToolPhase) *Message {
	for _, m := range e.tools[a.event.ToolCallID] {
		if m.TurnID == a.turn && m.Phase == phase {
			return m
		}
	}
	return nil
}

func (e *edit) mergeTool(a arrival, m *Message, merge func(*protocol.ToolUse, ToolPhase) ToolPhase) error {
	use := protocol.ToolUse{ToolCallID: a.event.ToolCallID}
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
		TurnID: a.turn, Role: protocol.RoleAssistant, Status: protocol.MessageSent,
		Artifacts: []protocol.Artifact{artifact}, EventID: a.id,
	}})
	e.tools[use.ToolCallID] = append(e.tools[use.ToolCallID], m)
	return nil
}
