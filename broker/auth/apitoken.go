package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	// DeleteToken also stores that the hosts have to end the token's streams.
	DeleteToken(ctx context.Context, userID, id string, now time.Time) error
}

const (
	maxTokenName       = 200
	maxAgentIdentifier = 200
	touchInterval      = time.Minute
	expirySlack        = time.Minute // between the clocks of caller and broker, and for the request
)

// CreateToken creates an API token from t's UserID, Name, Kind (default user),
// AgentIdentifier (of kind agent), Scopes (default all) and ExpiresAt. It fills the other fields of t and
// returns the token itself, which is not stored.
func (s *Service) CreateToken(ctx context.Context, t *broker.APIToken) (plain string, err error) {
	if err := s.checkNewToken(t); err != nil {
		return "", err
	}
	plain, t.Hash = token.NewOpaque(TokenPrefix)
	t.ID, t.CreatedAt = protocol.NewID(), s.now().UTC()
	err = s.record(ctx, func(ctx context.Context) (*broker.Act, error) {
		return tokenAct(protocol.AuditTokenCreated, t), s.store.CreateToken(ctx, t)
	})
	if err != nil {
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
	}
	return errors.Join(s.checkExpiry(t), checkScopes(t))
}

// checkExpiry requires an expiry no later than the longest life of a token, if that is limited.
func (s *Service) checkExpiry(t *broker.APIToken) error {
	limit := fmt.Sprintf("Tokens live for at most %s", s.tokenLife)
	switch {
	case t.ExpiresAt == nil && s.tokenLife > 0:
		return &protocol.Error{Code: protocol.CodeInvalid, Message: "expiresAt is required", Hint: limit}
	case t.ExpiresAt == nil:
		return nil
	case !t.ExpiresAt.After(s.now()):
		return protocol.Errorf(protocol.CodeInvalid, "expiresAt is in the past")
	case s.tokenLife > 0 && t.ExpiresAt.After(s.now().Add(s.tokenLife+expirySlack)):
		return &protocol.Error{Code: protocol.CodeInvalid, Message: "expiresAt is too late", Hint: limit}
	}
	return nil
}

// checkScopes gives a token without scopes all of its kind.
func checkScopes(t *broker.APIToken) error {
	if err := broker.CheckScopes(t.Scopes); err != nil {
		return err
	}
	all := broker.ScopesOf(t.Kind)
	if t.Kind == broker.TokenAgent && len(t.Scopes) > 0 && !slices.Equal(t.Scopes, all) {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "A token of kind agent has the scope notebooks only", Hint: "Leave scopes out",
		}
	}
	if len(t.Scopes) == 0 {
		t.Scopes = all
	}
	return nil
}

// TokenLife returns how long tokens may live; 0: tokens need no expiry.
func (s *Service) TokenLife() time.Duration { return s.tokenLife }

// ListTokens lists a user's API tokens, without the tokens themselves.
func (s *Service) ListTokens(ctx context.Context, userID string) ([]broker.APIToken, error) {
	return s.store.Tokens(ctx, userID)
}

// DeleteToken revokes a user's API token at once, and its stream tokens and streams on the hosts. Another
// user's token is CodeNotFound.
func (s *Service) DeleteToken(ctx context.Context, userID, id string) error {
	return s.record(ctx, func(ctx context.Context) (*broker.Act, error) {
		all, err := s.store.Tokens(ctx, userID)
		if err != nil {
			return nil, err
		}
		revoked := &broker.APIToken{ID: id, UserID: userID}
		for i := range all {
			if all[i].ID == id {
				revoked = &all[i]
			}
		}
		return tokenAct(protocol.AuditTokenRevoked, revoked), s.store.DeleteToken(ctx, userID, id, s.now())
	})
}

// token returns the API token of a request, whose use it records.
func (s *Service) token(ctx context.Context, plain string) (*broker.APIToken, error) {
	if !strings.HasPrefix(plain, TokenPrefix) {
		return nil, unauthorized(nil)
	}
	found, err := s.store.TokenByHash(ctx, token.Hash(plain))
	if err != nil {
		return nil, unauthorizedIfMissing(err)
	}
	now := s.now()
	if found.ExpiresAt != nil && !now.Before(*found.ExpiresAt) {
		return nil, unauthorized(nil)
	}
	if found.Kind != broker.TokenUser && found.AgentIdentifier == "" { // without an agent it would pass for a user token
		return nil, unauthorized(nil)
	}
	if found.LastUsedAt == nil || now.Sub(*found.LastUsedAt) >= touchInterval {
		if err := s.store.TouchToken(ctx, found.ID, now.UTC()); err != nil {
			s.log.WarnContext(ctx, "token use not recorded", "tokenId", found.ID, "err", err)
		}
	}
	return found, nil
}
