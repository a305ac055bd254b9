package agent

import (
	"fmt"

	"bellhop/protocol"
)

// Token counts are estimates on the safe side: English text and code have about four bytes per
// token.
const (
	bytesPerToken = 3
	messageTokens = 8
	imageTokens   = 1600
)

func tokens(text string) int { return len(text)/bytesPerToken + 1 }

func (m Message) tokens() int {
	n := messageTokens + tokens(m.Text)
	for _, a := range m.Attachments {
		n += imageTokens
		if a.Type == protocol.AttachmentDocument {
			n += len(a.Data) / bytesPerToken
		}
	}
	for _, call := range m.Calls {
		n += messageTokens + tokens(call.Name) + tokens(string(call.Arguments))
	}
	return n
}

func total(messages []Message) int {
	n := 0
	for _, m := range messages {
		n += m.tokens()
	}
	return n
}

// conversation returns the instructions and as much of the history as the model's
// window can hold. Messages that do not fit are dropped permanently, because they
// would not fit later either.
func (s *session) conversation() []Message {
	var head []Message
	if s.opts.Instructions != "" {
		head = []Message{{Role: RoleSystem, Text: s.opts.Instructions}}
	}
	if s.opts.Window > 0 {
		room := s.opts.Window - total(head)
		for _, spec := range s.tools.specs() {
			room -= messageTokens + tokens(spec.Name) + tokens(spec.Description) + tokens(string(spec.Schema))
		}
		before := len(s.history)
		s.history = fit(s.history, room)
		if dropped := before - len(s.history); dropped > 0 {
			s.emit(protocol.Line{
				Type: protocol.LineStatus, Level: "info",
				Message: fmt.Sprintf("The conversation is longer than the model's window: its oldest %s left out",
					messagesAre(dropped)),
			})
		}
	}
	return append(head, s.history...)
}

func messagesAre(messages int) string {
	if messages == 1 {
		return "message is"
	}
	return fmt.Sprintf("%d messages are", messages)
}

// fit drops the oldest turns until the remaining ones need at most room tokens, then the oldest
// steps of the newest turn, then it shortens tool results. A call and its result stay adjacent;
// the newest prompt and step are kept. When it has to drop, it goes down to three quarters of
// room, so that the beginning of the conversation changes rarely and models can cache it.
func fit(history []Message, room int) []Message {
	if total(history) <= room {
		return history
	}
	target := room * 3 / 4
	turns := cutBefore(history, RoleUser)
	for len(turns) > 1 && total(history) > target {
		history = history[len(turns[0]):]
		turns = turns[1:]
	}
	if total(history) <= target || len(turns) == 0 {
		return append([]Message(nil), history...)
	}
	steps := cutBefore(turns[0], RoleAssistant)
	prompt := steps[0]
	steps = steps[1:]
	left := total(turns[0])
	for len(steps) > 1 && left > target {
		left -= total(steps[0])
		steps = steps[1:]
	}
	kept := append([]Message(nil), prompt...)
	for _, step := range steps {
		kept = append(kept, step...)
	}
	return squeeze(kept, target)
}

// cutBefore splits messages before each one of the role. The pieces contain all messages.
func cutBefore(messages []Message, role Role) [][]Message {
	var pieces [][]Message
	begin := 0
	for i := 1; i < len(messages); i++ {
		if messages[i].Role == role {
			pieces = append(pieces, messages[begin:i])
			begin = i
		}
	}
	if begin < len(messages) {
		pieces = append(pieces, messages[begin:])
	}
	return pieces
}

// squeeze shortens the tool results to equal shares of the room left by the other messages.
func squeeze(messages []Message, room int) []Message {
	results := 0
	for _, m := range messages {
		if m.Role == RoleTool {
			results++
			room -= messageTokens
		} else {
			room -= m.tokens()
		}
	}
	if results == 0 || total(messages) <= room {
		return messages
	}
	share := max(room/results, 0) * bytesPerToken
	for i := range messages {
		if messages[i].Role == RoleTool && len(messages[i].Text) > share {
			messages[i].Text = shorten(messages[i].Text, share)
		}
	}
	return messages
}
