package notebook

import (
	"time"

	"bellhop/protocol"
)

// Lifetime is how long an agent session lives without activity, unless
// configured otherwise.
const Lifetime = 30 * 24 * time.Hour

// touchAfter spares polling agents a write each time.
const touchAfter = time.Minute

// Caller is who asks. An agent's own token binds AgentIdentifier; a user, who
// may act for any of their agents, has none.
type Caller struct {
	UserID          string
	AgentIdentifier string
}

// Session is an agent session.
type Session struct {
	ID              string
	UserID          string
	AgentName       string
	AgentIdentifier string
	AgentIcon       string
	Disconnected    bool
	WebhookURL      string
	EndpointID      string // "" = none; the Outbox knows it
	Metadata        map[string]any
	Rev             int64
	Event           string // the last change, for the user's feed
	EventSource     string
	ChangedAt       time.Time
	LastActivity    time.Time
	CreatedAt       time.Time
}

// Status at now.
func (s *Session) Status(now time.Time, lifetime time.Duration) protocol.AgentSessionStatus {
	switch {
	case s.Disconnected:
		return protocol.AgentDisconnected
	case now.Sub(s.LastActivity) >= lifetime:
		return protocol.AgentExpired
	default:
		return protocol.AgentActive
	}
}

func (s *Session) changed(event, sourceID string, now time.Time) {
	s.Rev++
	s.Event, s.EventSource, s.ChangedAt = event, sourceID, now
}

// usable fails unless the agent can be talked to.
func (s *Service) usable(session *Session, now time.Time) error {
	switch session.Status(now, s.lifetime()) {
	case protocol.AgentDisconnected:
		return &protocol.Error{
			Code: protocol.CodeDisconnected, Message: "The user has disconnected this agent",
			Hint: "Only the user can reconnect it: POST /api/agent-sessions/" + session.ID + "/renew",
		}
	case protocol.AgentExpired:
		return &protocol.Error{
			Code: protocol.CodeExpired, Message: "The agent session has expired",
			Hint: "Renew it: the agent with POST /api/coding-agent/notebooks (create_agent_notebook), the user with POST /api/agent-sessions/" + session.ID + "/renew",
		}
	default:
		return nil
	}
}

// owns lets an agent's token reach its own session alone.
func (c Caller) owns(session *Session) bool {
	return session.UserID == c.UserID && (c.AgentIdentifier == "" || c.AgentIdentifier == session.AgentIdentifier)
}

func errNoSession() error { return protocol.Errorf(protocol.CodeNotFound, "Agent session not found") }
