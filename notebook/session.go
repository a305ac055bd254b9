package notebook

import (
	"context"
	"time"

	"bellhop/protocol"
)

// Lifetime is how long an agent session lives without activity, unless
// configured otherwise.
const Lifetime = 30 * 24 * time.Hour

// touchAfter limits how often polling agents update LastActivity.
const touchAfter = time.Minute

// Caller is the sender of a request. An agent's own token sets AgentIdentifier; for a user, who
// may act for all their agents, it is "".
type Caller struct {
	UserID          string
	AgentIdentifier string
}

// TokenHint says to an agent without a usable token how it gets one.
const TokenHint = "Send Authorization: Bearer and an API token of kind agent. The user makes one on the console's " +
	"tokens page, or with bellhop tokens create --kind agent"

// Session is an agent session.
type Session struct {
	ID              string
	UserID          string
	AgentName       string
	AgentIdentifier string
	AgentIcon       string
	Disconnected    bool
	WebhookURL      string
	EndpointID      string // "" = none; the Outbox has the endpoint
	Metadata        map[string]any
	Rev             int64
	Event           string // the last change, for the user's feed
	EventSource     string
	ChangedAt       time.Time
	LastActivity    time.Time
	CreatedAt       time.Time
}

// Status returns the status at now.
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

// changed increments the rev and records what changed, for the user's feed.
func (s *Session) changed(event, sourceID string, now time.Time) {
	s.Rev++
	s.Event, s.EventSource, s.ChangedAt = event, sourceID, now
}

// usable returns an error unless the session is active.
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
			Hint: "Renew it: the agent with POST /api/coding-agent/notebooks (create_agent_notebook), " +
				"the user with POST /api/agent-sessions/" + session.ID + "/renew",
		}
	default:
		return nil
	}
}

// owns reports whether the caller may use the session: a user all of their own, an agent only
// its own.
func (c Caller) owns(session *Session) bool {
	return session.UserID == c.UserID && (c.AgentIdentifier == "" || c.AgentIdentifier == session.AgentIdentifier)
}

// usableBy returns an error unless the caller may use a session and it is active. The error
// names what the caller asked for. Use cases with a slow verification call it
// before their transaction, which checks again.
func (s *Service) usableBy(ctx context.Context, c Caller, sessionID, what string) error {
	session, err := s.o.Store.Session(ctx, c.UserID, sessionID)
	if err != nil {
		return err
	}
	if !c.owns(session) {
		return protocol.Errorf(protocol.CodeNotFound, "%s not found", what)
	}
	return s.usable(session, s.nowUTC())
}

func errNoSession() error { return protocol.Errorf(protocol.CodeNotFound, "Agent session not found") }
