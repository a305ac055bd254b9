package api

import (
	"context"

	"github.com/labstack/echo/v4"

	"bellhop/agenthost"
	"bellhop/protocol"
)

type sessionRequest struct {
	ID string `param:"id" json:"-"`
}

func (a *API) openSession(
	ctx context.Context, req *protocol.OpenSessionRequest,
) (*protocol.OpenSessionResponse, error) {
	keys, _ := ctx.Value(byKeys{}).(agenthost.Keys)
	return a.Host.Open(ctx, req, keys)
}

// byKeys is the key of a request's context for the broker's keys that it has.
type byKeys struct{}

// withKeys passes the broker's keys of the request on in its context.
func withKeys(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		c.SetRequest(r.WithContext(context.WithValue(r.Context(), byKeys{}, agenthost.Keys{
			Session: sessionKey(r), Owner: onlyHeader(r, protocol.HeaderOwnerKey),
		})))
		return next(c)
	}
}

// releaseKey has the session forget its key.
func (a *API) releaseKey(_ context.Context, req *sessionRequest) (*protocol.Confirmation, error) {
	return confirmed(req.ID, a.Host.ReleaseKey(req.ID))
}

type deleteSessionRequest struct {
	ID         string `param:"id" json:"-"`
	OnlyCopies string `query:"onlyCopies" json:"-"` // id of the list that may be lost
}

func (a *API) deleteSession(ctx context.Context, req *deleteSessionRequest) (*protocol.Confirmation, error) {
	kept, err := a.Host.Delete(ctx, req.ID, req.OnlyCopies)
	if err != nil {
		return nil, err
	}
	done := &protocol.Confirmation{Success: true, SessionID: req.ID, WorktreeKept: new(kept.Exist())}
	if kept.Exist() {
		done.Kept = kept
	}
	return done, nil
}

// onlyCopies returns what ending the session would lose.
func (a *API) onlyCopies(ctx context.Context, req *sessionRequest) (*protocol.SessionOnlyCopies, error) {
	found, err := a.Host.OnlyCopies(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	return &protocol.SessionOnlyCopies{SessionID: req.ID, OnlyCopies: *found}, nil
}

type interruptRequest struct {
	ID     string `param:"id" json:"-"`
	TurnID string `query:"turnId" json:"-"` // stop only this turn
}

// interrupt responds when the turn has stopped or the caller disconnects. An idle
// session answers 200.
func (a *API) interrupt(ctx context.Context, req *interruptRequest) (*protocol.Confirmation, error) {
	return confirmed(req.ID, a.Host.Interrupt(ctx, req.ID, req.TurnID))
}

type answerRequest struct {
	ID            string `param:"id" json:"-"`
	InteractionID string `param:"iid" json:"-"`
	protocol.AnswerRequest
}

func (a *API) answer(ctx context.Context, req *answerRequest) (*protocol.Confirmation, error) {
	if ctx.Value(byToken{}) != nil {
		req.By = protocol.ByStreamToken
	}
	return confirmed(req.ID, a.Host.Answer(ctx, req.ID, req.InteractionID, &req.AnswerRequest))
}

func (a *API) revoke(ctx context.Context, req *sessionRequest) (*protocol.Confirmation, error) {
	return confirmed(req.ID, a.Host.Revoke(ctx, req.ID))
}

func (a *API) revokeCredentials(ctx context.Context, req *protocol.RevokeRequest) (*protocol.RevokeResponse, error) {
	return a.Host.RevokeCredentials(ctx, req)
}

type eventsRequest struct {
	ID    string `param:"id" json:"-"`
	Epoch *int64 `query:"epoch" json:"-"`
	After int64  `query:"after" json:"-"`
	Limit int64  `query:"limit" json:"-"`

	Last    string `query:"last" json:"-"`
	Prompts bool   `query:"prompts" json:"-"`
}

func (a *API) events(ctx context.Context, req *eventsRequest) (*protocol.EventsResponse, error) {
	limit := int64(protocol.MaxEventsPage)
	if req.Limit > 0 {
		limit = min(limit, req.Limit)
	}
	return a.Host.Events(ctx, req.ID, agenthost.EventsQuery{
		Epoch: req.Epoch, After: req.After, Last: req.Last, Limit: int(limit), Prompts: req.Prompts,
	})
}

func confirmed(sessionID string, err error) (*protocol.Confirmation, error) {
	if err != nil {
		return nil, err
	}
	return &protocol.Confirmation{Success: true, SessionID: sessionID}, nil
}
