package api

import (
	"context"

	"bellhop/protocol"
)

type listInteractionsRequest struct {
	State string `query:"state" json:"-"`
	Limit int    `query:"limit" json:"-"`
}

type interactionsResponse struct {
	Interactions []protocol.Interaction `json:"interactions"`
}

type answerRequest struct {
	ID string `param:"id" json:"-"`
	protocol.AnswerRequest
}

func (a *API) listInteractions(ctx context.Context, req *listInteractionsRequest) (*interactionsResponse, error) {
	switch protocol.InteractionState(req.State) {
	case "", protocol.InteractionOpen, protocol.InteractionResolved, protocol.InteractionExpired:
	default:
		return nil, protocol.Errorf(protocol.CodeInvalid, "state must be one of open, resolved, expired")
	}
	list, err := a.Interactions.List(ctx, a.Auth.Caller(ctx).UserID, req.State, req.Limit)
	if err != nil {
		return nil, err
	}
	return &interactionsResponse{Interactions: orEmpty(list)}, nil
}

func (a *API) answerInteraction(ctx context.Context, req *answerRequest) (*protocol.Interaction, error) {
	return a.Interactions.Answer(ctx, a.Auth.Caller(ctx).UserID, req.ID, &req.AnswerRequest)
}

// orEmpty makes an empty list [] in JSON instead of null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
