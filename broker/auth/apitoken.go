package auth

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"bellhop/broker"
	"bellhop/crypto/token"
	"bellhop/protocol"
)

// TokenPrefix begins every API token, so that secret scanners and people recognize
// it.
const TokenPrefix = broker.APITokenPrefix

// TokenStore stores API tokens by their hash.
type TokenStore interface {
	CreateToken(ctx context.Context, t *broker.APIToken) error
	Tokens(ctx context.Context, userID string) ([]broker.APIToken, error)
	TokenByHash(ctx context.Context, hash []byte) (*broker.APIToken, error)
	TouchToken(ctx context.Context, id string, at time.Time) error
	DeleteToken(ctx context.Context, userID, id string) error
}

const (
	maxTokenName       = 200
	maxAgentIdentifier = 200
	touchInterval      = time.Minute
)

// CreateToken creates an API token from t's UserID, Name, Kind (default user),
// AgentIdentifier (of kind agent) and ExpiresAt. It fills the other fields of t and
// returns the token itself, which is not stored.
func (s *Service) CreateToken(ctx context.Context, t *broker.APIToken) (plain string, err error) {
	if err := s.checkNewToken(t); err != nil {
		return "", err
	}
	plain, t.Hash = token.NewOpaque(TokenPrefix)
	t.ID, t.CreatedAt = protocol.NewID(), s.now().UTC()
	if err := s.tokens.CreateToken(ctx, t); err != nil {
		return "", err
	}
	return plain, nil
}

func (s *Service) checkNewToken(t *broker.APIToken) error {
	if t.Kind == "" {
		t.Kind = broker.TokenUser
	}
	t.Name = strings.TrimSpace(t.Name)
	switch {
	case t.Kind != broker.TokenUser && t.Kind != broker.TokenAgent:
		return protocol.Errorf(protocol.CodeInvalid, "kind must be user or agent")
	case t.Kind == broker.TokenUser && t.AgentIdentifier != "":
		return protocol.Errorf(protocol.CodeInvalid, "agentIdentifier belongs to tokens of kind agent")
	case t.Kind == broker.TokenAgent && strings.TrimSpace(t.AgentIdentifier) == "":
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "agentIdentifier is required for tokens of kind agent",
			Hint: "Name the one agent the token is for, such as claude-code",
		}
	case len(t.AgentIdentifier) > maxAgentIdentifier:
		return protocol.Errorf(protocol.CodeInvalid, "agentIdentifier is longer than %d bytes", maxAgentIdentifier)
	case t.Name == "":
		return protocol.Errorf(protocol.CodeInvalid, "name is required")
	case utf8.RuneCountInString(t.Name) > maxTokenName:
		return protocol.Errorf(protocol.CodeInvalid, "name is longer than %d characters", maxTokenName)
	case t.ExpiresAt != nil && !t.ExpiresAt.After(s.now()):
		return protocol.Errorf(protocol.CodeInvalid, "expiresAt is in the past")
	}
	return nil
}

// ListTokens lists a user's API tokens, without the tokens themselves.
func (s *Service) ListTokens(ctx context.Context, userID string) ([]broker.APIToken, error) {
	return s.tokens.Tokens(ctx, userID)
}

// DeleteToken revokes a user's API token at once. Another user's is CodeNotFound.
func (s *Service) DeleteToken(ctx context.Context, userID, id string) error {
	return s.tokens.DeleteToken(ctx, userID, id)
}

// tokenUser returns the id of the API token's user, and the agent that a token of
// kind agent is bound to.
func (s *Service) tokenUser(ctx context.Context, plain string) (userID, agent string, err error) {
	if !strings.HasPrefix(plain, TokenPrefix) {
		return "", "", unauthorized(nil)
	}
	found, err := s.tokens.TokenByHash(ctx, token.Hash(plain))
	if err != nil {
		return "", "", unauthorizedIfMissing(err)
	}
	now := s.now()
	if found.ExpiresAt != nil && !now.Before(*found.ExpiresAt) {
		return "", "", unauthorized(nil)
	}
	if found.Kind != broker.TokenUser && found.AgentIdentifier == "" { // without an agent it would pass for a user token
		return "", "", unauthorized(nil)
	}
	if found.LastUsedAt == nil || now.Sub(*found.LastUsedAt) >= touchInterval {
		if err := s.tokens.TouchToken(ctx, found.ID, now.UTC()); err != nil {
			s.log.WarnContext(ctx, "token use not recorded", "tokenId", found.ID, "err", err)
		}
	}
	return found.UserID, found.AgentIdentifier, nil
}
