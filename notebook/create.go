package notebook

import (
	"cmp"
	"context"
	"time"

	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// CreateRequest registers an agent.
type CreateRequest struct {
	AgentName       string         `json:"agentName" jsonschema:"your name as the user knows it, such as Claude Code"`
	AgentIdentifier string         `json:"agentIdentifier" jsonschema:"what tells you from the user's other agents, always the same for you, such as claude-code"`
	AgentIcon       string         `json:"agentIcon,omitempty" jsonschema:"an emoji or the https URL of an image"`
	Title           string         `json:"title,omitempty" jsonschema:"title of the notebook; your name if left out"`
	Description     string         `json:"description,omitempty" jsonschema:"what the notebook is about, in a sentence"`
	WebhookURL      string         `json:"webhookUrl,omitempty" jsonschema:"https URL that takes the user's questions; leave it out to poll with get_followup_messages"`
	WebhookSecret   string         `json:"webhookSecret,omitempty" jsonschema:"whsec_ and the base64 of 24 to 64 bytes, or 16 to 256 printable characters without this prefix; made for you if left out"`
	Metadata        map[string]any `json:"metadata,omitempty" jsonschema:"anything else worth keeping about you, as a JSON object"`
}

// CreateResponse is the same for a new notebook and an existing one. WebhookSecret is set only
// if this request registered a webhook; it is never shown again.
type CreateResponse struct {
	Notebook      protocol.Notebook     `json:"notebook"`
	AgentSession  protocol.AgentSession `json:"agentSession"`
	WebhookSecret string                `json:"webhookSecret,omitempty" jsonschema:"the secret that signs what your webhook gets; shown only now"`

	Created bool `json:"-"`
}

func (r *CreateRequest) check(c Caller) error {
	var bad check
	bad.text("agentName", r.AgentName, true, maxName)
	bad.text("agentIdentifier", r.AgentIdentifier, true, maxName)
	bad.icon(r.AgentIcon)
	bad.text("title", r.Title, false, maxName)
	bad.text("description", r.Description, false, maxContext)
	bad.metadata(r.Metadata)
	if bad.err == nil && c.AgentIdentifier != "" && c.AgentIdentifier != r.AgentIdentifier {
		return &protocol.Error{
			Code: protocol.CodeForbidden, Message: "This token belongs to another agent",
			Hint: "Its agentIdentifier is " + c.AgentIdentifier,
		}
	}
	return bad.err
}

// Create returns the agent's session and notebook and creates them if needed. It renews an
// expired session; a disconnected one is CodeDisconnected.
func (s *Service) Create(ctx context.Context, c Caller, r *CreateRequest) (*CreateResponse, error) {
	if err := r.check(c); err != nil {
		return nil, err
	}
	var resp *CreateResponse
	err := s.o.Store.Write(ctx, func(ctx context.Context) (err error) {
		resp, err = s.create(ctx, c.UserID, r, s.nowUTC())
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func (s *Service) create(ctx context.Context, userID string, r *CreateRequest, now time.Time) (*CreateResponse, error) {
	fresh := &Session{
		ID: protocol.NewID(), UserID: userID, AgentName: r.AgentName, AgentIdentifier: r.AgentIdentifier,
		AgentIcon: r.AgentIcon, Metadata: r.Metadata, ChangedAt: now, LastActivity: now, CreatedAt: now,
	}
	if err := s.o.Store.InsertSession(ctx, fresh); err != nil {
		return nil, err
	}
	session, err := s.o.Store.LockIdentifier(ctx, userID, r.AgentIdentifier)
	if err != nil {
		return nil, err
	}
	if session.Disconnected {
		return nil, s.usable(session, now)
	}
	if session.ID == fresh.ID {
		if err := s.checkSessionLimit(ctx, userID); err != nil {
			return nil, err
		}
	}
	before := session.Rev
	if session.ID == fresh.ID || session.Status(now, s.lifetime()) == protocol.AgentExpired {
		session.changed(protocol.AgentEventConnected, "", now)
	}
	session.LastActivity, session.AgentName = now, r.AgentName
	session.AgentIcon = cmp.Or(r.AgentIcon, session.AgentIcon)
	if r.Metadata != nil {
		session.Metadata = r.Metadata
	}
	var shown seal.Secret
	if r.WebhookURL != "" && (r.WebhookURL != session.WebhookURL || r.WebhookSecret != "") {
		if shown, err = s.setWebhook(ctx, session, r.WebhookURL, seal.NewSecret(r.WebhookSecret)); err != nil {
			return nil, err
		}
	}
	if err := s.save(ctx, session, before); err != nil {
		return nil, err
	}
	notebook, created, err := s.ensureNotebook(ctx, session, r, now)
	if err != nil {
		return nil, err
	}
	return &CreateResponse{
		Notebook: s.showNotebook(notebook, session, now), AgentSession: s.showSession(session, notebook.ID, now),
		WebhookSecret: shown.Reveal(), Created: created,
	}, nil
}

// checkSessionLimit returns CodeConflict if the user has more than maxSessions sessions. It
// runs after the insert, which the error rolls back.
func (s *Service) checkSessionLimit(ctx context.Context, userID string) error {
	sessions, err := s.o.Store.Sessions(ctx, userID, "")
	if err == nil && len(sessions) > maxSessions {
		err = &protocol.Error{
			Code: protocol.CodeConflict, Message: "There are too many agents",
			Hint: "Introduce yourself with the agentIdentifier you had before",
		}
	}
	return err
}

func (s *Service) ensureNotebook(
	ctx context.Context, session *Session, r *CreateRequest, now time.Time) (*Notebook, bool, error,
) {
	n := &Notebook{
		ID: protocol.NewID(), UserID: session.UserID, SessionID: session.ID,
		Title: cmp.Or(r.Title, r.AgentName), Description: r.Description, CreatedAt: now,
	}
	inserted, err := s.o.Store.InsertNotebook(ctx, n)
	if err != nil || inserted {
		return n, inserted, err
	}
	n, err = s.o.Store.NotebookOf(ctx, session.UserID, session.ID)
	return n, false, err
}
