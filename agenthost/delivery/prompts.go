package delivery

import (
	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// FitPrompts returns as many of the events as fit into room bytes together with the
// prompts of the turns that begin with them. There is at least one event; if its
// turn's prompt does not fit, it is cut.
func FitPrompts(
	events []core.EventRecord, byTurn map[string]protocol.TurnPrompt, room int,
) ([]core.EventRecord, []protocol.TurnPrompt) {
	var prompts []protocol.TurnPrompt
	added := map[string]bool{}
	for i := range events {
		room -= len(events[i].Body) + 1
		prompt, begins := byTurn[events[i].TurnID]
		begins = begins && !added[prompt.TurnID]
		if begins && i == 0 {
			prompt = cutPrompt(prompt, room)
		}
		if begins {
			room -= sizeOf(&prompt) + 1
		}
		if i > 0 && room < 0 {
			return events[:i], prompts
		}
		if begins && prompt.Text != "" {
			added[prompt.TurnID] = true
			prompts = append(prompts, prompt)
		}
	}
	return events, prompts
}

// cutPrompt shortens the text until the prompt takes at most room bytes. The text
// is "" when there is no room.
func cutPrompt(p protocol.TurnPrompt, room int) protocol.TurnPrompt {
	for size := sizeOf(&p); size > room && p.Text != ""; size = sizeOf(&p) {
		p.Truncated = true
		p.Text = protocol.CutText(p.Text, max(0, len(p.Text)*room/size-64))
	}
	return p
}

// sizeOf returns the length of a prompt as JSON; escapes make its text longer there.
func sizeOf(p *protocol.TurnPrompt) int {
	raw, err := protocol.Marshal(p)
	if err != nil {
		return 0
	}
	return len(raw)
}
