package api

import (
	"context"

	"bellhop/protocol"
)

func (a *API) listForgeTokens(ctx context.Context, _ *struct{}) (*protocol.ForgeTokenList, error) {
	all, err := a.ForgeTokens.List(ctx, a.Auth.Caller(ctx).UserID)
	if err != nil {
		return nil, err
	}
	return &protocol.ForgeTokenList{Tokens: all}, nil
}

// addForgeToken stores a token in place of the caller's earlier one for the same forge. The response does not have it.
func (a *API) addForgeToken(ctx context.Context, req *protocol.ForgeCredential) (*protocol.ForgeToken, error) {
	return a.ForgeTokens.Add(ctx, a.Auth.Caller(ctx).UserID, req)
}

func (a *API) deleteForgeToken(ctx context.Context, req *tokenRequest) (*protocol.SuccessResponse, error) {
	return success(a.ForgeTokens.Remove(ctx, a.Auth.Caller(ctx).UserID, req.ID))
}
