package notebook

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"bellhop/protocol"
)

// Limits of what agents and users send, in bytes.
const (
	MaxCode       = 512 << 10
	maxContext    = 16 << 10
	maxContent    = 64 << 10  // of a user's message
	maxResponse   = 256 << 10 // of an agent's
	maxName       = 200
	maxIcon       = 1024
	maxMetadata   = 16 << 10
	maxAttachment = 64 << 10
	maxLanguage   = 40

	maxAttachments = 8
	maxSessions    = 100  // of a user
	maxSources     = 500  // in a notebook
	maxVersions    = 1000 // of a source
	maxMessages    = 1000 // shown of a conversation
	maxHistory     = 50   // sent along with a question
	maxFollowups   = 50   // answered to one poll

	// What lists carry in all: of code, of messages, and of the messages that go
	// along with one question.
	listBudget    = 4 << 20
	messageBudget = 4 << 20
	historyBudget = 256 << 10
)

// check collects the first thing wrong with a request.
type check struct{ err error }

func (c *check) text(name, value string, required bool, limit int) {
	if c.err != nil {
		return
	}
	switch {
	case required && strings.TrimSpace(value) == "":
		c.err = protocol.Errorf(protocol.CodeInvalid, "%s is required", name)
	case len(value) > limit:
		c.err = protocol.Errorf(protocol.CodeTooLarge, "%s is larger than %d bytes", name, limit)
	case !utf8.ValidString(value), strings.ContainsRune(value, 0):
		c.err = protocol.Errorf(protocol.CodeInvalid, "%s holds bytes that are no text", name)
	}
}

func (c *check) metadata(value map[string]any) {
	if c.err != nil || len(value) == 0 {
		return
	}
	raw, err := json.Marshal(value)
	switch {
	case err != nil:
		c.err = protocol.Errorf(protocol.CodeInvalid, "metadata is no JSON object")
	case len(raw) > maxMetadata:
		c.err = protocol.Errorf(protocol.CodeTooLarge, "metadata is larger than %d bytes", maxMetadata)
	default:
		// What REST bodies are held to; MCP arguments come here unchecked.
		c.err = protocol.ParseObject(raw)
	}
}

func (c *check) attachments(list []protocol.FollowupAttachment) {
	if c.err == nil && len(list) > maxAttachments {
		c.err = protocol.Errorf(protocol.CodeInvalid, "there are more than %d attachments", maxAttachments)
	}
	for i := range list {
		c.text("an attachment's name", list[i].Name, true, maxName)
		c.text("an attachment's type", list[i].Type, false, maxName)
		c.text("an attachment", list[i].Content, false, maxAttachment)
	}
}
