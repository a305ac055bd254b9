package api

import (
	"context"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

// apiToken is an API token as its owner sees it. Token is set only in the response
// that created it.
type apiToken struct {
	ID              string           `json:"id"`
	Name            string           `json:"name"`
	Kind            broker.TokenKind `json:"kind"`
	AgentIdentifier string           `json:"agentIdentifier,omitempty"`
	Scopes          []broker.Scope   `json:"scopes"`
	ExpiresAt       *time.Time       `json:"expiresAt"`
	LastUsedAt      *time.Time       `json:"lastUsedAt"`
	CreatedAt       time.Time        `json:"createdAt"`
	Token           string           `json:"token,omitempty"`
}

type tokensResponse struct {
	Tokens []apiToken `json:"tokens"`
	// MaxLifetime is in seconds; 0: tokens need no expiry.
	MaxLifetime int64 `json:"maxLifetime"`
}

type createTokenRequest struct {
	Name            string           `json:"name"`
	Kind            broker.TokenKind `json:"kind,omitempty"`
	AgentIdentifier string           `json:"agentIdentifier,omitempty"` // of kind agent
	Scopes          []broker.Scope   `json:"scopes,omitempty"`          // required for kind user
	ExpiresAt       *time.Time       `json:"expiresAt,omitempty"`       // required if tokens have a longest lifetime
}

type tokenRequest struct {
	ID string `param:"id" json:"-"`
}

func (a *API) listTokens(ctx context.Context, _ *struct{}) (*tokensResponse, error) {
	list, err := a.Auth.ListTokens(ctx, a.Auth.Caller(ctx).UserID)
	if err != nil {
		return nil, err
	}
	tokens := make([]apiToken, len(list))
	for i := range list {
		tokens[i] = showToken(&list[i])
	}
	return &tokensResponse{Tokens: tokens, MaxLifetime: int64(a.Auth.TokenLife() / time.Second)}, nil
}

func (a *API) createToken(ctx context.Context, req *createTokenRequest) (*apiToken, error) {
	if len(req.Scopes) == 0 && req.Kind != broker.TokenAgent {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "scopes is required",
			Hint: "Name what the program does, such as tasks:read",
		}
	}
	made := &broker.APIToken{
		UserID: a.Auth.Caller(ctx).UserID, Name: req.Name, Kind: req.Kind,
		AgentIdentifier: req.AgentIdentifier, Scopes: req.Scopes, ExpiresAt: utc(req.ExpiresAt),
	}
	plain, err := a.Auth.CreateToken(ctx, made)
	if err != nil {
		return nil, err
	}
	shown := showToken(made)
	shown.Token = plain
	return &shown, nil
}

func (a *API) deleteToken(ctx context.Context, req *tokenRequest) (*protocol.SuccessResponse, error) {
	return success(a.Auth.DeleteToken(ctx, a.Auth.Caller(ctx).UserID, req.ID))
}

func showToken(t *broker.APIToken) apiToken {
	return apiToken{
		ID: t.ID, Name: t.Name, Kind: t.Kind, AgentIdentifier: t.AgentIdentifier, Scopes: t.Scopes,
		ExpiresAt: utc(t.ExpiresAt), LastUsedAt: utc(t.LastUsedAt), CreatedAt: t.CreatedAt.UTC(),
	}
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}
