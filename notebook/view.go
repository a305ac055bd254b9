package notebook

import (
	"time"

	"bellhop/protocol"
)

// showSession shows a session; notebookID is "" if it has no notebook.
func (s *Service) showSession(session *Session, notebookID string, now time.Time) protocol.AgentSession {
	return protocol.AgentSession{
		ID: session.ID, UserID: session.UserID, NotebookID: notebookID,
		AgentName: session.AgentName, AgentIdentifier: session.AgentIdentifier,
		Status: session.Status(now, s.lifetime()), WebhookURL: session.WebhookURL, LastActivity: session.LastActivity,
		Metadata: orEmpty(session.Metadata), CreatedAt: session.CreatedAt,
	}
}

func (s *Service) showNotebook(n *Notebook, session *Session, now time.Time) protocol.Notebook {
	return protocol.Notebook{
		ID: n.ID, UserID: n.UserID, Title: n.Title, Description: n.Description,
		AgentName: session.AgentName, AgentIcon: session.AgentIcon,
		AgentSessionID: session.ID, AgentStatus: session.Status(now, s.lifetime()),
		IsAgentNotebook: true, CreatedAt: n.CreatedAt,
	}
}

func (s *Service) showSource(source *Source, v *Version, session *Session, now time.Time) protocol.Source {
	shown := protocol.Source{
		ID: source.ID, UserID: source.UserID, NotebookID: source.NotebookID,
		Title: source.Title, Type: "code", Content: v.Code, ContentOmitted: v.Omitted, Version: source.Version,
		Metadata: protocol.SourceMetadata{
			Language: source.Language, Verification: showVerification(v.Verification),
			AgentSessionID: source.SessionID, AgentName: session.AgentName, AgentStatus: session.Status(now, s.lifetime()),
			OriginalContext: source.Context, Custom: source.Metadata,
		},
	}
	if checked := shown.Metadata.Verification; checked != nil {
		shown.Metadata.IsVerified = checked.Verdict == protocol.Verified
		shown.Metadata.VerifiedAt = checked.VerifiedAt
	}
	return shown
}

func showVersion(v *Version) protocol.SourceVersion {
	return protocol.SourceVersion{
		Version: v.Number, Content: v.Code, ContentOmitted: v.Omitted, Diff: v.Diff, Description: v.Description,
		Author: v.Author, MessageID: v.MessageID, Verification: showVerification(v.Verification), CreatedAt: v.CreatedAt,
	}
}

func showMessage(m *Message) protocol.FollowupMessage {
	shown := protocol.FollowupMessage{
		ID: m.ID, SourceID: m.SourceID, Role: m.Role, Content: m.Content, Timestamp: m.CreatedAt,
		Metadata: protocol.FollowupMetadata{
			Delivered: m.DeliveredAt != nil, Read: m.ReadAt != nil, InReplyTo: m.ReplyTo, Failure: m.Failure,
			Attachments: m.Attachments,
		},
	}
	if m.Version > 0 {
		shown.Metadata.CodeModification = &protocol.CodeModification{
			Version: m.Version, Description: m.Description, Diff: m.Diff,
		}
	}
	return shown
}

func showMessages(messages []Message) []protocol.FollowupMessage {
	shown := make([]protocol.FollowupMessage, len(messages))
	for i := range messages {
		shown[i] = showMessage(&messages[i])
	}
	return shown
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}
