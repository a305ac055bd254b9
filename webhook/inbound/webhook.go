package inbound

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/broker"
	"bellhop/crypto/token"
	"bellhop/internal/generations"
	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

// Ingester stores events whose token was verified; broker.Ingest implements it.
type Ingester interface {
	// Secret returns the key that signs the task's webhook tokens; CodeNotFound if the task or
	// its secret does not exist.
	Secret(ctx context.Context, taskID string) ([]byte, error)
	// CheckSignature accepts a body that the task's host signed, or any if the host does not sign.
	CheckSignature(ctx context.Context, taskID string, header http.Header, body []byte) error
	// CheckLife accepts a request of the life of the task's host that the broker serves.
	CheckLife(ctx context.Context, taskID string, header http.Header) error
	// Ingest stores events. claimTurn is the turn of the token, for events that name no turn.
	Ingest(ctx context.Context, taskID, claimTurn string, events []broker.Inbound) (*protocol.IngestResponse, error)
}

// Renewer issues a new webhook URL to a host; broker.Sessions implements it.
type Renewer interface {
	Renew(ctx context.Context, webhookToken, password string) (*protocol.RenewResponse, error)
}

// Options of New. Ingest and Sessions are required.
type Options struct {
	Ingest   Ingester
	Sessions Renewer
	Now      func() time.Time // nil = time.Now
	Log      *slog.Logger     // nil = none

	Incarnation func() string // of the broker's database: every answer carries it; nil = none
	Remember    *int          // verified tokens; nil = broker.DefaultRemembered
}

// Webhook serves both routes. It is safe for concurrent use.
type Webhook struct {
	ingest Ingester
	renew  Renewer
	now    func() time.Time
	log    *slog.Logger

	incarnation func() string

	tasks                *httpapi.Limiter
	wrongSignatureCounts *wrongSignatures
	verified             *verifiedTokens
}

// New returns a Webhook. It starts no goroutine.
func New(o Options) *Webhook {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Incarnation == nil {
		o.Incarnation = func() string { return "" }
	}
	limit := broker.DefaultRemembered
	if o.Remember != nil {
		limit = *o.Remember
	}
	return &Webhook{
		verified:    generations.New[[sha256.Size]byte, verifiedToken](limit),
		incarnation: o.Incarnation, ingest: o.Ingest, renew: o.Sessions, now: o.Now, log: o.Log,
		tasks: httpapi.NewLimiter(httpapi.LimiterOptions{
			Rate: perSecond, Burst: burst, MaxKeys: maxRemembered, Now: o.Now,
		}),
		wrongSignatureCounts: newWrongSignatures(),
	}
}

// Handle serves POST /api/agent/webhook.
func (h *Webhook) Handle(c echo.Context) error { return h.respond(c, h.store) }

// respond writes the response of a handler that runs under the request's time limit. The handler
// gets the incarnation that its response names; a refusal gets it here.
func (h *Webhook) respond(
	c echo.Context, handle func(ctx context.Context, c echo.Context, incarnation string) (any, error),
) error {
	incarnation := h.incarnation() // before the database is read, see broker.Incarnation
	ctx, cancel := limitTime(c)
	defer cancel()
	response, err := handle(ctx, c, incarnation)
	if err != nil {
		return withIncarnation(err, incarnation)
	}
	return c.JSON(http.StatusOK, response)
}

func (h *Webhook) store(ctx context.Context, c echo.Context, incarnation string) (any, error) {
	presented, err := presentedToken(c.Request())
	if err != nil {
		return nil, err
	}
	claims, err := h.authenticate(ctx, c, presented, token.Verify)
	if err != nil {
		return nil, err
	}
	body, err := readBody(c)
	if err != nil {
		return nil, err
	}
	if err := h.ingest.CheckSignature(ctx, claims.TaskID, c.Request().Header, body); err != nil {
		return nil, asTimeout(ctx, err)
	}
	if err := h.ingest.CheckLife(ctx, claims.TaskID, c.Request().Header); err != nil {
		return nil, asTimeout(ctx, err)
	}
	events, err := parseBody(body, claims.TaskID)
	if err != nil {
		return nil, h.withFirstIndex(err)
	}
	response, err := h.ingest.Ingest(ctx, claims.TaskID, claims.TurnID, events.list)
	if err != nil {
		return nil, asTimeout(ctx, h.withFirstIndex(events.withIndex(err)))
	}
	response.Incarnation = incarnation
	return response, nil
}

// withFirstIndex adds the index of the first event to a refusal of the body's content that
// names no event. A host drops an event only after a refusal with an index; the refusals
// of a token have none. Like the incarnation, it is only in answers of named brokers.
func (h *Webhook) withFirstIndex(err error) error {
	var known *protocol.Error
	isAboutContent := errors.As(err, &known) && known.Code == protocol.CodeInvalid && known.Index == nil &&
		!errors.Is(err, errMismatch)
	if !isAboutContent || h.incarnation() == "" {
		return err
	}
	return atIndex(err, 0)
}

// withIncarnation adds the incarnation to a refusal. An error without a code is
// the server's own and stays as it is.
func withIncarnation(err error, id string) error {
	var known *protocol.Error
	if id == "" || !errors.As(err, &known) {
		return err
	}
	extended := *known
	extended.Fields = map[string]any{"incarnation": id}
	maps.Copy(extended.Fields, known.Fields)
	return &extended
}

// Renew serves POST /api/agent/webhook/renew. The webhook token is in a header of its own or in the
// query, because Authorization has the agent's password.
func (h *Webhook) Renew(c echo.Context) error { return h.respond(c, h.renewToken) }

func (h *Webhook) renewToken(ctx context.Context, c echo.Context, incarnation string) (any, error) {
	presented, err := renewedToken(c.Request())
	if err != nil {
		return nil, err
	}
	password, err := bearer(c.Request())
	if err != nil {
		return nil, err
	}
	if _, err := h.authenticate(ctx, c, presented, anyAge); err != nil {
		return nil, err
	}
	drain(c.Request())
	response, err := h.renew.Renew(ctx, presented, password)
	if err != nil {
		return nil, asTimeout(ctx, err)
	}
	response.Incarnation = incarnation
	return response, nil
}

func anyAge(presented string, secret []byte, _ time.Time) (token.Claims, error) {
	return token.VerifyAnyAge(presented, secret)
}

type verify func(presented string, secret []byte, now time.Time) (token.Claims, error)

// authenticate runs the checks from token shape to rate limit.
func (h *Webhook) authenticate(
	ctx context.Context, c echo.Context, presented string, check verify,
) (token.Claims, error) {
	known, seen := h.verified.Get(sha256.Sum256([]byte(presented)))
	taskID, err := known.claims.TaskID, error(nil)
	if !seen {
		taskID, err = token.Inspect(presented)
	}
	if err != nil {
		return token.Claims{}, tokenError(err)
	}
	secret, err := h.ingest.Secret(ctx, taskID)
	switch protocol.CodeOf(err) {
	case "":
	case protocol.CodeNotFound:
		return token.Claims{}, &protocol.Error{
			Code: protocol.CodeNotFound, Message: "Task not found or not configured", Err: err,
		}
	default:
		return token.Claims{}, asTimeout(ctx, err)
	}
	claims := known.claims
	if !seen || !known.stillValid(secret, h.now()) {
		if claims, err = check(presented, secret, h.now()); err == nil {
			h.verified.Put(sha256.Sum256([]byte(presented)), verifiedToken{secret: secret, claims: claims})
		}
	}
	switch {
	case errors.Is(err, token.ErrExpired):
		drain(c.Request())
		return token.Claims{}, tokenError(err)
	case err != nil:
		wait, first := h.wrongSignatureCounts.add(c.RealIP(), taskID, h.now())
		if first {
			h.log.WarnContext(ctx, "many wrong webhook tokens", "peer", c.RealIP(), "taskId", taskID)
		}
		if wait > 0 {
			return token.Claims{}, tooMany("Too many wrong tokens", wait)
		}
		return token.Claims{}, tokenError(err)
	}
	if ok, wait := h.tasks.Allow(taskID); !ok {
		drain(c.Request())
		return token.Claims{}, tooMany("Too many requests for this task", wait)
	}
	return claims, nil
}

// limitTime bounds the request as a whole to protocol.WebhookTimeout. internal/httpapi bounds only
// reading the body. The end of its context is not the end of the request, whose error is still to
// be written and logged.
func limitTime(c echo.Context) (context.Context, context.CancelFunc) {
	request := c.Request()
	ctx, cancel := context.WithTimeout(request.Context(), protocol.WebhookTimeout)
	c.SetRequest(request.WithContext(ctx))
	return ctx, func() {
		cancel()
		c.SetRequest(request)
	}
}

// asTimeout turns an internal error after the request's deadline into CodeUnavailable, so that
// the host sends the request again.
func asTimeout(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && protocol.CodeOf(err) == protocol.CodeInternal {
		return &protocol.Error{
			Code: protocol.CodeUnavailable, Message: "The events were not stored in time", RetryAfter: 1, Err: err,
		}
	}
	return err
}

func tooMany(message string, wait time.Duration) error {
	return &protocol.Error{
		Code: protocol.CodeTooManyRequests, Message: message,
		RetryAfter: int((wait + time.Second - 1) / time.Second),
	}
}
