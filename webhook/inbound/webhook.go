package inbound

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/broker"
	"bellhop/crypto/token"
	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

// Limits of a request (reliability IN-3, IN-4 and protocol 1.4).
const (
	maxBody   = 1 << 20
	maxEvents = 100
	wholeTime = 10 * time.Second
)

// Ingester takes events whose token was right; broker.Ingest is one.
type Ingester interface {
	// Secret is what the task's webhook tokens are signed with; CodeNotFound
	// when there is no such task or no secret.
	Secret(ctx context.Context, taskID string) ([]byte, error)
	Ingest(ctx context.Context, taskID, claimTurn string, events []broker.Inbound) (*protocol.IngestResponse, error)
}

// Renewer gives a host a fresh webhook URL; broker.Sessions is one.
type Renewer interface {
	Renew(ctx context.Context, webhookToken, password string) (*protocol.RenewResponse, error)
}

// Options are what a Webhook works with. Ingest and Sessions are required.
type Options struct {
	Ingest   Ingester
	Sessions Renewer
	Now      func() time.Time // nil = time.Now
	Log      *slog.Logger     // nil = none
}

// Webhook serves the two routes. It is safe for concurrent use.
type Webhook struct {
	ingest Ingester
	renew  Renewer
	now    func() time.Time
	log    *slog.Logger

	tasks    *httpapi.Limiter
	wrongs   *wrongSignatures
	verified verifiedTokens
}

// New returns a Webhook; it starts nothing in the background.
func New(o Options) *Webhook {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Webhook{
		ingest: o.Ingest, renew: o.Sessions, now: o.Now, log: o.Log,
		tasks:  httpapi.NewLimiter(httpapi.LimiterOptions{Rate: perSecond, Burst: burst, MaxKeys: maxRemembered, Now: o.Now}),
		wrongs: newWrongSignatures(),
	}
}

// Handle is POST /api/agent/webhook.
func (h *Webhook) Handle(c echo.Context) error {
	ctx, cancel := limitTime(c)
	defer cancel()
	presented, err := presentedToken(c.Request())
	if err != nil {
		return err
	}
	claims, err := h.authenticate(ctx, c, presented, token.Verify)
	if err != nil {
		return err
	}
	body, err := readBody(c)
	if err != nil {
		return err
	}
	events, err := parseBody(body, claims.TaskID)
	if err != nil {
		return err
	}
	answer, err := h.ingest.Ingest(ctx, claims.TaskID, claims.TurnID, events.list)
	if err != nil {
		return inTime(ctx, events.withIndex(err))
	}
	return c.JSON(http.StatusOK, answer)
}

// Renew is POST /api/agent/webhook/renew. The webhook token stands in the
// query, because Authorization carries the agent's password.
func (h *Webhook) Renew(c echo.Context) error {
	ctx, cancel := limitTime(c)
	defer cancel()
	presented, err := queryToken(c.Request())
	if err == nil && presented == "" {
		err = errMissing()
	}
	if err != nil {
		return err
	}
	password, err := bearer(c.Request())
	if err != nil {
		return err
	}
	if _, err := h.authenticate(ctx, c, presented, token.VerifyAnyAge); err != nil {
		return err
	}
	discard(c.Request())
	answer, err := h.renew.Renew(ctx, presented, password)
	if err != nil {
		return inTime(ctx, err)
	}
	return c.JSON(http.StatusOK, answer)
}

type verify func(presented string, secret []byte, now time.Time) (token.Claims, error)

// authenticate is the gates from token shape to rate limit.
func (h *Webhook) authenticate(ctx context.Context, c echo.Context, presented string, check verify) (token.Claims, error) {
	known, seen := h.verified.find(presented)
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
		return token.Claims{}, &protocol.Error{Code: protocol.CodeNotFound, Message: "Task not found or not configured", Err: err}
	default:
		return token.Claims{}, inTime(ctx, err)
	}
	claims := known.claims
	if !seen || !known.holds(secret, h.now()) {
		if claims, err = check(presented, secret, h.now()); err == nil {
			h.verified.add(presented, secret, claims)
		}
	}
	switch {
	case errors.Is(err, token.ErrExpired):
		discard(c.Request())
		return token.Claims{}, tokenError(err)
	case err != nil:
		wait, first := h.wrongs.add(c.RealIP(), taskID, h.now())
		if first {
			h.log.WarnContext(ctx, "many wrong webhook tokens", "peer", c.RealIP(), "taskId", taskID)
		}
		if wait > 0 {
			return token.Claims{}, tooMany("Too many wrong tokens", wait)
		}
		return token.Claims{}, tokenError(err)
	}
	if ok, wait := h.tasks.Allow(taskID); !ok {
		discard(c.Request())
		return token.Claims{}, tooMany("Too many requests for this task", wait)
	}
	return claims, nil
}

// limitTime gives the whole request 10 s. internal/httpapi does the same to the
// body alone.
func limitTime(c echo.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(c.Request().Context(), wholeTime)
	c.SetRequest(c.Request().WithContext(ctx))
	return ctx, cancel
}

// inTime makes a request that ran out of time one to repeat, not our failure.
func inTime(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && protocol.CodeOf(err) == protocol.CodeInternal {
		return &protocol.Error{Code: protocol.CodeUnavailable, Message: "The events were not stored in time", RetryAfter: 1, Err: err}
	}
	return err
}

func tooMany(message string, wait time.Duration) error {
	return &protocol.Error{
		Code: protocol.CodeTooManyRequests, Message: message,
		RetryAfter: int((wait + time.Second - 1) / time.Second),
	}
}
