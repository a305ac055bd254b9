package broker

import (
	"context"
	"unicode/utf8"

	"bellhop/protocol"
)

// AttachPrompts gives each prompt to the first event of its turn. Prompts without
// such an event, and those that no check-in could have brought, are left out.
func AttachPrompts(events []Inbound, prompts []protocol.TurnPrompt) {
	for i := range prompts {
		p := &prompts[i]
		if p.Text == "" || len(p.Text) > protocol.MaxMessage || utf8.RuneCountInString(p.MessageID) > protocol.MaxMessageID {
			continue
		}
		for j := range events {
			if events[j].Event.TurnID == p.TurnID && p.TurnID != "" {
				events[j].Prompt = p
				break
			}
		}
	}
}

// newTurn adds a turn that the broker has not announced. If its check-in was lost
// with a part of the database, the host's prompt brings the message back.
func (e *effects) newTurn(ctx context.Context, in *incomingEvent) (*Turn, error) {
	t := e.addTurn(Turn{ID: in.turn, AnnouncedAt: e.now})
	if in.prompt == nil {
		return t, nil
	}
	message, err := e.restoreMessage(ctx, in.prompt)
	if err == nil {
		t.MessageID = message.ID
	}
	return t, err
}

// restoreMessage adds the user's message of a prompt. If the message exists with an
// earlier turn, it moves to this one: the database lost only its repeated check-in.
func (tx *taskTx) restoreMessage(ctx context.Context, p *protocol.TurnPrompt) (*Message, error) {
	if p.MessageID != "" {
		message, err := tx.userMessage(ctx, p.MessageID)
		if err == nil {
			message.TurnID, message.Status = p.TurnID, protocol.MessageSent
			tx.changeMessage(message)
			return message, nil
		}
		if protocol.CodeOf(err) != protocol.CodeNotFound {
			return nil, err
		}
	}
	text := p.Text
	if p.Truncated {
		text += "…"
	}
	body, err := checkMessage(&protocol.CheckInRequest{Message: p.Text, MessageID: p.MessageID})
	if err != nil {
		return nil, err
	}
	message := tx.addMessage(Message{BodyHash: body.hash, Message: protocol.Message{
		ID: p.MessageID, TurnID: p.TurnID, Role: protocol.RoleUser, Status: protocol.MessageSent, Message: text,
	}})
	if !p.At.IsZero() {
		message.CreatedAt = p.At.UTC()
	}
	return message, nil
}
