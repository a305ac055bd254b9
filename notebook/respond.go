package notebook

import (
	"context"
	"time"

	"bellhop/protocol"
)

// RespondRequest answers a user's message.
type RespondRequest struct {
	Response   string      `json:"response" jsonschema:"your answer to the user, as Markdown"`
	CodeUpdate *CodeUpdate `json:"codeUpdate,omitempty" jsonschema:"a new version of the source, if the answer changes the code"`

	Attachments []protocol.FollowupAttachment `json:"attachments,omitempty" jsonschema:"texts to show beside the answer, such as a log or a test; at most 8"`
}

// CodeUpdate becomes the next version of a source.
type CodeUpdate struct {
	Code        string `json:"code" jsonschema:"the whole new code, not a patch"`
	Description string `json:"description" jsonschema:"what changed and why, in a sentence"`
}

// RespondResponse has the agent's message and its source as it is now.
type RespondResponse struct {
	Message protocol.FollowupMessage `json:"message"`
	Source  protocol.Source          `json:"source"`
}

func (r *RespondRequest) check() error {
	var bad check
	// A code update needs no further text.
	bad.text("response", r.Response, r.CodeUpdate == nil, maxResponse)
	if r.CodeUpdate != nil {
		bad.text("codeUpdate.code", r.CodeUpdate.Code, true, MaxCode)
		bad.text("codeUpdate.description", r.CodeUpdate.Description, false, maxContext)
	}
	bad.attachments(r.Attachments)
	return bad.err
}

// Respond stores the agent's answer to a message. A second answer is CodeAnswered.
func (s *Service) Respond(
	ctx context.Context, c Caller, messageID string, r *RespondRequest) (*RespondResponse, error,
) {
	if err := r.check(); err != nil {
		return nil, err
	}
	question, source, err := s.questionFor(ctx, c, messageID)
	if err != nil {
		return nil, err
	}
	var verification *protocol.Verification
	if r.CodeUpdate != nil {
		v := s.o.Verifier.Verify(ctx, source.Language, r.CodeUpdate.Code)
		verification = &v
	}
	var resp *RespondResponse
	err = s.agentChange(ctx, c, source.SessionID, func(ctx context.Context, session *Session, now time.Time) (err error) {
		resp, err = s.answer(ctx, session, question.ID, r, verification, now)
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// questionFor returns the message to answer and its source.
func (s *Service) questionFor(ctx context.Context, c Caller, id string) (*Message, *Source, error) {
	m, err := s.o.Store.Message(ctx, c.UserID, id)
	if err != nil {
		return nil, nil, err
	}
	source, err := s.o.Store.Source(ctx, c.UserID, m.SourceID)
	if err != nil {
		return nil, nil, err
	}
	if m.Role != protocol.FollowupUser {
		return nil, nil, protocol.Errorf(protocol.CodeNotFound, "Message not found")
	}
	if err := s.usableBy(ctx, c, source.SessionID, "Message"); err != nil {
		return nil, nil, err
	}
	return m, source, unanswered(m)
}

func unanswered(m *Message) error {
	if m.State == Answered {
		return &protocol.Error{
			Code: protocol.CodeAnswered, Message: "This message has been answered",
			Hint: "get_followup_messages lists those that wait",
		}
	}
	return nil
}

// answer runs under the session's lock, which makes the checks of question final.
func (s *Service) answer(
	ctx context.Context, session *Session, messageID string, r *RespondRequest, v *protocol.Verification, now time.Time,
) (*RespondResponse, error) {
	question, err := s.o.Store.Message(ctx, session.UserID, messageID)
	if err != nil {
		return nil, err
	}
	if err := unanswered(question); err != nil {
		return nil, err
	}
	source, err := s.o.Store.Source(ctx, session.UserID, question.SourceID)
	if err != nil {
		return nil, err
	}
	source.LastSeq++
	source.LastMessageAt = &now
	reply := &Message{
		ID: protocol.NewID(), SourceID: source.ID, Seq: source.LastSeq, Role: protocol.FollowupAgent, Content: r.Response,
		Attachments: r.Attachments, ReplyTo: question.ID, State: Delivered, DeliveredAt: &now, CreatedAt: now,
	}
	newest, err := s.o.Store.Version(ctx, source.ID, source.Version)
	if err != nil {
		return nil, err
	}
	if r.CodeUpdate != nil {
		newest, err = s.addVersion(ctx, source, newest, &Version{
			Code: r.CodeUpdate.Code, Description: r.CodeUpdate.Description, Author: session.AgentIdentifier,
			MessageID: reply.ID, Verification: v, CreatedAt: now,
		})
		if err != nil {
			return nil, err
		}
		reply.Version, reply.Description, reply.Diff = newest.Number, newest.Description, newest.Diff
	}
	if err := s.o.Store.InsertMessage(ctx, reply); err != nil {
		return nil, err
	}
	question.State, question.ReadAt, question.Failure = Answered, &now, ""
	if question.DeliveredAt == nil {
		question.DeliveredAt = &now
	}
	if err := s.o.Store.SaveMessage(ctx, question); err != nil {
		return nil, err
	}
	if err := s.o.Store.SaveSource(ctx, source); err != nil {
		return nil, err
	}
	if err := s.announce(ctx, session, reply); err != nil {
		return nil, err
	}
	session.changed(protocol.AgentEventAnswered, source.ID, now)
	return &RespondResponse{Message: showMessage(reply), Source: s.showSource(source, newest, session, now)}, nil
}

func (s *Service) announce(ctx context.Context, session *Session, reply *Message) error {
	if s.o.Outbox == nil {
		return nil
	}
	return s.o.Outbox.Answered(ctx, Answer{
		UserID: session.UserID, At: reply.CreatedAt, SourceID: reply.SourceID, AgentSessionID: session.ID,
		InReplyTo: reply.ReplyTo, MessageID: reply.ID, Version: reply.Version,
	})
}
