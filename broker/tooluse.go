package broker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

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
	if m != nil && m.Phase == PhaseCall && in.event.Epoch == 0 {
		m = nil // another call of a basic host: the same call would be a redelivery
	}
	return e.mergeTool(in, m, func(use *protocol.ToolUse, phase ToolPhase) ToolPhase {
		use.ToolName, use.Input, use.StartedAt = in.event.ToolName, in.event.Input, madeAt(in.event)
		if phase == PhaseResult || phase == PhaseBoth {
			return PhaseBoth
		}
		use.State = protocol.ToolRunning
		if t := e.turns[in.turn]; t != nil && t.State == TurnClosed {
			use.State = protocol.ToolUnknown
		}
		return PhaseCall
	})
}

func (e *effects) toolResult(in *incomingEvent) error {
	if e.settledAgain(in) {
		return nil
	}
	return e.mergeTool(in, e.toolRow(in, PhaseCall), func(use *protocol.ToolUse, phase ToolPhase) ToolPhase {
		if use.ToolName == "" {
			use.ToolName = in.event.ToolName
		}
		use.Output, use.IsError, use.EndedAt = in.event.Output, in.event.IsError, madeAt(in.event)
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

// settledAgain reports whether in is the second result of a use whose turn has ended. A
// host whose journal was restored from an older copy settles the tools of turns that it
// believes to be open. The first result is the agent's and stays. Events of a host with
// positions arrive in order, so such a result belongs to no other call.
func (e *effects) settledAgain(in *incomingEvent) bool {
	t := e.turns[in.turn]
	closed := t != nil && t.State == TurnClosed
	return in.event.Epoch > 0 && closed && e.toolRow(in, PhaseCall) == nil && e.toolRow(in, PhaseBoth) != nil
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
	if m != nil {
		return e.changeTool(m, merge)
	}
	use := protocol.ToolUse{ToolCallID: in.event.ToolCallID}
	phase := merge(&use, PhaseNone)
	content, err := protocol.Marshal(use)
	if err != nil {
		return fmt.Errorf("tool use %s: %w", use.ToolCallID, err)
	}
	artifact := protocol.Artifact{ID: protocol.NewID(), Type: protocol.ArtifactToolUse, Content: content}
	m = e.addMessage(Message{Phase: phase, ToolCallID: use.ToolCallID, Message: protocol.Message{
		TurnID: in.turn, Role: protocol.RoleAssistant, Status: protocol.MessageSent,
		Artifacts: []protocol.Artifact{artifact}, EventID: in.id,
	}})
	e.tools[use.ToolCallID] = append(e.tools[use.ToolCallID], m)
	return nil
}

// changeTool merges into a row that was stored before or is added by this transaction.
func (tx *taskTx) changeTool(m *Message, merge func(*protocol.ToolUse, ToolPhase) ToolPhase) error {
	if len(m.Artifacts) != 1 {
		return fmt.Errorf("message %s: a tool row with %d artifacts", m.ID, len(m.Artifacts))
	}
	artifact := m.Artifacts[0]
	var use protocol.ToolUse
	if err := json.Unmarshal(artifact.Content, &use); err != nil {
		return fmt.Errorf("message %s: %w", m.ID, err)
	}
	m.Phase = merge(&use, m.Phase)
	content, err := protocol.Marshal(use)
	if err != nil {
		return fmt.Errorf("tool use %s: %w", use.ToolCallID, err)
	}
	artifact.Content = content
	m.Artifacts = []protocol.Artifact{artifact}
	tx.changeMessage(m)
	return nil
}

// settleTools marks the tools of a closed turn that have no result: no program
// works on them any more. A result that arrives later still completes them.
func (tx *taskTx) settleTools(ctx context.Context, turnID string) error {
	found, err := tx.store.RunningTools(ctx, tx.task.ID, turnID)
	if err != nil {
		return err
	}
	tx.cacheTools(found)
	for _, id := range slices.Sorted(maps.Keys(tx.tools)) {
		for _, m := range tx.tools[id] {
			if m.TurnID != turnID || m.Phase != PhaseCall {
				continue
			}
			err := tx.changeTool(m, func(use *protocol.ToolUse, phase ToolPhase) ToolPhase {
				use.State = protocol.ToolUnknown
				return phase
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// cacheTools adds stored rows to tx.tools, except those that it has already: this
// transaction may have changed them.
func (tx *taskTx) cacheTools(found []Message) {
	if tx.tools == nil {
		tx.tools = map[string][]*Message{}
	}
	for i := range found {
		m := &found[i]
		rows := tx.tools[m.ToolCallID]
		if !slices.ContainsFunc(rows, func(other *Message) bool { return other.ID == m.ID }) {
			rows = append(rows, m)
			slices.SortFunc(rows, func(a, b *Message) int { return cmp.Compare(a.Seq, b.Seq) })
			tx.tools[m.ToolCallID] = rows
		}
	}
}
