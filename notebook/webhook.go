package notebook

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// EventFollowup is the type of the events sent to agents' webhooks.
const EventFollowup = "followup_message"

// WebhookRequest registers an agent's webhook.
type WebhookRequest struct {
	AgentSessionID string `json:"agentSessionId"`
	URL            string `json:"url"`
	Secret         string `json:"secret,omitempty"`
}

// WebhookResponse has the secret, which is never shown again.
type WebhookResponse struct {
	URL    string `json:"url"`
	Secret string `json:"secret"`
}

// RegisterWebhook sets the webhook of an agent session. An empty secret is generated; the
// previous one also signs for a day.
func (s *Service) RegisterWebhook(ctx context.Context, c Caller, r *WebhookRequest) (*WebhookResponse, error) {
	var bad check
	bad.text("url", r.URL, true, 2048)
	if bad.err != nil {
		return nil, bad.err
	}
	session, err := s.session(ctx, c, r.AgentSessionID)
	if err != nil {
		return nil, err
	}
	resp := &WebhookResponse{URL: r.URL}
	err = s.agentChange(ctx, c, session.ID, func(ctx context.Context, session *Session, _ time.Time) error {
		secret, err := s.setWebhook(ctx, session, r.URL, seal.NewSecret(r.Secret))
		resp.Secret = secret.Reveal()
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// RemoveWebhook deletes the webhook of an agent session: the agent polls from now on, also for
// the messages that were not delivered. It is idempotent.
func (s *Service) RemoveWebhook(ctx context.Context, c Caller, sessionID string) (*SessionResponse, error) {
	session, err := s.session(ctx, c, sessionID)
	if err != nil {
		return nil, err
	}
	if session.EndpointID != "" && s.o.Outbox != nil {
		if err := ignoreMissing(s.o.Outbox.ClearEndpoint(ctx, session.UserID, session.EndpointID)); err != nil {
			return nil, err
		}
	}
	var resp *SessionResponse
	err = s.agentChange(ctx, c, session.ID, func(ctx context.Context, session *Session, now time.Time) error {
		if session.EndpointID != "" && s.o.Outbox != nil {
			if err := ignoreMissing(s.o.Outbox.RemoveEndpoint(ctx, session.UserID, session.EndpointID)); err != nil {
				return err
			}
			session.EndpointID, session.WebhookURL = "", ""
			session.changed(protocol.AgentEventWebhookGone, "", now)
		}
		shown, err := s.sessionWithNotebook(ctx, session, now)
		resp = &SessionResponse{AgentSession: shown}
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func (s *Service) setWebhook(
	ctx context.Context, session *Session, url string, secret seal.Secret) (seal.Secret, error,
) {
	if s.o.Outbox == nil {
		return seal.Secret{}, protocol.Errorf(protocol.CodeInvalid, "This server sends no webhooks; poll for follow-ups")
	}
	if session.EndpointID == "" {
		session.EndpointID = protocol.NewID()
	}
	endpoint := Endpoint{ID: session.EndpointID, UserID: session.UserID, URL: url, Secret: secret}
	shown, err := s.o.Outbox.SetEndpoint(ctx, endpoint)
	if err != nil {
		return seal.Secret{}, err
	}
	session.WebhookURL = url
	return shown, s.enqueueWaiting(ctx, session)
}

// enqueueWaiting enqueues the follow-ups that are not delivered yet for a new webhook.
func (s *Service) enqueueWaiting(ctx context.Context, session *Session) error {
	open, err := s.o.Store.OpenFollowups(ctx, session.ID, maxFollowups)
	if err != nil {
		return err
	}
	for i := range open {
		if open[i].DeliveredAt != nil {
			continue
		}
		if err := s.enqueue(ctx, session, &open[i].Message); err != nil {
			return err
		}
	}
	return nil
}

// Render makes the body of a delivery when it is first sent. CodeNotFound means that the
// message was deleted.
func (s *Service) Render(ctx context.Context, userID, messageID string) ([]byte, error) {
	var body protocol.FollowupDelivery
	err := s.o.Store.Read(ctx, func(ctx context.Context) error {
		m, err := s.o.Store.Message(ctx, userID, messageID)
		if err != nil {
			return err
		}
		source, version, err := s.newest(ctx, userID, m.SourceID)
		if err != nil {
			return err
		}
		history, err := s.o.Store.Messages(ctx, source.ID, m.Seq, maxHistory, deliveryBudget)
		if err != nil {
			return err
		}
		body = protocol.FollowupDelivery{
			Type: EventFollowup, SourceID: source.ID, SourceTitle: source.Title, SourceCode: version.Code,
			SourceLanguage: source.Language, Message: m.Content, Attachments: m.Attachments,
			ConversationHistory: showMessages(history), UserID: userID, Timestamp: m.CreatedAt, MessageID: m.ID,
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// webhookReply is the response body of a webhook, if the agent replies at once.
type webhookReply struct {
	Success    *bool       `json:"success"`
	Response   string      `json:"response"`
	CodeUpdate *CodeUpdate `json:"codeUpdate"`
	Error      string      `json:"error"`

	Attachments []protocol.FollowupAttachment `json:"attachments"`
}

// readReply returns nil if the response holds no reply.
func readReply(raw []byte) *webhookReply {
	var reply webhookReply
	if len(raw) == 0 || protocol.Decode(raw, &reply) != nil || reply.Success == nil {
		return nil
	}
	return &reply
}

// Delivered records that a webhook accepted a message and stores the reply, if the response
// holds one. It runs inside the transaction that records the delivery.
func (s *Service) Delivered(ctx context.Context, userID, messageID string, answer []byte) error {
	reply := readReply(answer)
	return s.changeMessage(ctx, userID,
		messageID, func(ctx context.Context, session *Session, m *Message, now time.Time) error {
			session.LastActivity = now
			switch {
			case reply == nil, m.State == Answered:
			case !*reply.Success:
				return s.refuse(ctx, session, m, reply.Error, now)
			case reply.Response != "" || reply.CodeUpdate != nil:
				request := &RespondRequest{Response: reply.Response, CodeUpdate: reply.CodeUpdate, Attachments: reply.Attachments}
				if request.check() == nil && s.usable(session, now) == nil {
					_, err := s.answer(ctx, session, m.ID, request, nil, now)
					return err
				}
			}
			if m.DeliveredAt != nil {
				return nil
			}
			m.DeliveredAt = &now
			if m.State != Answered {
				m.State, m.Failure = Delivered, ""
			}
			session.changed(protocol.AgentEventMessage, m.SourceID, now)
			return s.o.Store.SaveMessage(ctx, m)
		})
}

func (s *Service) refuse(ctx context.Context, session *Session, m *Message, why string, now time.Time) error {
	const longest = 500
	if why == "" {
		why = "The agent refused the message"
	}
	if len(why) > longest {
		why = why[:longest]
	}
	m.State, m.DeliveredAt = Refused, &now
	return s.fail(ctx, session, m, protocol.SanitizeText(why), now)
}

// fail saves a message with its failure, which the user has not seen yet.
func (s *Service) fail(ctx context.Context, session *Session, m *Message, failure string, now time.Time) error {
	m.Failure, m.SeenAt = failure, nil
	session.changed(protocol.AgentEventFailed, m.SourceID, now)
	if err := s.o.Store.SaveMessage(ctx, m); err != nil || s.o.Outbox == nil {
		return err
	}
	return s.o.Outbox.Failed(ctx, Failure{
		UserID: session.UserID, At: now, SourceID: m.SourceID, AgentSessionID: session.ID, MessageID: m.ID,
		Delivered: m.DeliveredAt != nil, Failure: failure,
	})
}

// Failed records that a message did not reach the webhook. The agent can still poll for it.
func (s *Service) Failed(ctx context.Context, userID, messageID, reason string) error {
	return s.changeMessage(ctx, userID,
		messageID, func(ctx context.Context, session *Session, m *Message, now time.Time) error {
			if m.State != Pending {
				return nil
			}
			m.State = Undelivered
			return s.fail(ctx, session, m, "Not delivered: "+reason, now)
		})
}

// WebhookDisabled records that a webhook refused all further deliveries (410). The agent polls
// until it registers another.
func (s *Service) WebhookDisabled(ctx context.Context, userID, endpointID string) error {
	sessions, err := s.o.Store.Sessions(ctx, userID, "")
	if err != nil {
		return err
	}
	for i := range sessions {
		if sessions[i].EndpointID != endpointID {
			continue
		}
		return s.change(ctx, userID, sessions[i].ID, func(_ context.Context, session *Session, now time.Time) error {
			if session.EndpointID == endpointID { // the session still has this webhook
				session.EndpointID, session.WebhookURL = "", ""
				session.changed(protocol.AgentEventWebhookGone, "", now)
			}
			return nil
		})
	}
	return nil
}

// messageChange changes a message, with its session locked.
type messageChange func(ctx context.Context, session *Session, m *Message, now time.Time) error

// changeMessage runs fn with the message's session locked. If the message was deleted, it does
// nothing.
func (s *Service) changeMessage(ctx context.Context, userID, messageID string, fn messageChange) error {
	m, err := s.o.Store.Message(ctx, userID, messageID)
	if err != nil {
		return ignoreMissing(err)
	}
	source, err := s.o.Store.Source(ctx, userID, m.SourceID)
	if err != nil {
		return ignoreMissing(err)
	}
	return s.change(ctx, userID, source.SessionID, func(ctx context.Context, session *Session, now time.Time) error {
		m, err := s.o.Store.Message(ctx, userID, messageID)
		if err != nil {
			return ignoreMissing(err)
		}
		return fn(ctx, session, m, now)
	})
}

func ignoreMissing(err error) error {
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		return nil
	}
	return err
}
