package auth

import (
	"context"
	"strings"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

// record runs do and adds the act that it returns to the audit log, in one transaction.
func (s *Service) record(ctx context.Context, do func(ctx context.Context) (*broker.Act, error)) error {
	return broker.Audited(ctx, s.store, s.now, do)
}

func userAct(action protocol.AuditAction, userID string) *broker.Act {
	return &broker.Act{Action: action, Subject: protocol.AuditSubject{Kind: protocol.AuditOfUser, ID: userID}}
}

func tokenAct(action protocol.AuditAction, t *broker.APIToken) *broker.Act {
	detail := map[string]string{"owner": t.UserID}
	if t.Kind != "" {
		detail["kind"] = string(t.Kind)
	}
	if t.AgentIdentifier != "" {
		detail["agent"] = t.AgentIdentifier
	}
	if t.ExpiresAt != nil {
		detail["expiresAt"] = t.ExpiresAt.UTC().Format(time.RFC3339)
	}
	if len(t.Scopes) > 0 {
		detail["scopes"] = joinScopes(t.Scopes)
	}
	subject := protocol.AuditSubject{Kind: protocol.AuditOfToken, ID: t.ID, Name: t.Name}
	return &broker.Act{Action: action, Subject: subject, Detail: detail}
}

func joinScopes(scopes []broker.Scope) string {
	names := make([]string, len(scopes))
	for i, scope := range scopes {
		names[i] = string(scope)
	}
	return strings.Join(names, " ")
}

// refused adds a failed sign-in to the audit log and returns its reason. userID is "" for an
// unknown account: the typed text is not stored, because people type passwords there too. If the
// entry cannot be stored, the caller gets that error instead.
func (s *Service) refused(ctx context.Context, address, userID string, reason error) error {
	err := s.record(asVisitor(ctx, address), func(context.Context) (*broker.Act, error) {
		return userAct(protocol.AuditSignInFailed, userID), nil
	})
	if err != nil {
		return err
	}
	return reason
}

// asVisitor is for acts of a caller who has not proved to be the user.
func asVisitor(ctx context.Context, address string) context.Context {
	return broker.WithActor(ctx, protocol.AuditActor{Kind: protocol.AuditByVisitor, Address: address})
}
