package notebook

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"bellhop/protocol"
)

// Limits in bytes of what agents and users send.
const (
	MaxCode       = 512 << 10
	HistoryText   = 1000 // characters of a message in the histories of a poll
	maxContext    = 16 << 10
	maxContent    = 64 << 10  // a user's message
	maxResponse   = 256 << 10 // an agent's message
	maxName       = 200
	maxIcon       = 1024
	maxMetadata   = 16 << 10
	maxAttachment = 64 << 10
	maxLanguage   = 40

	maxAttachments = 8
	maxSessions    = 100  // per user
	maxSources     = 500  // per notebook
	maxVersions    = 1000 // per source
	maxMessages    = 1000 // per response
	maxHistory     = 50   // per follow-up sent to a webhook
	maxFollowups   = 100  // per poll
	maxExchanges   = 1000 // messages read for the histories of a poll

	// Total size of the code in a list, of the messages in a list, of the conversation sent
	// with one webhook, and of the code and the histories in a poll. Models read what a poll
	// returns, so its histories are small.
	listBudget     = 4 << 20
	messageBudget  = 4 << 20
	deliveryBudget = 256 << 10
	followupBudget = 1 << 20
	historyBudget  = 6 << 10
)

// check validates a request and keeps the first error.
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
		// REST bodies were checked already; MCP arguments are checked only here.
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
