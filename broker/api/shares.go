package api

import (
	"context"
	"math"
	"net/http"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"bellhop/internal/database"
	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

type createShareRequest struct {
	ID string `param:"id" json:"-"`
	protocol.ShareRequest
}

type shareRequest struct {
	ID string `param:"id" json:"-"`
}

func (a *API) createShare(ctx context.Context, req *createShareRequest) (*protocol.Share, error) {
	return a.Shares.Create(ctx, a.Auth.Caller(ctx).UserID, req.ID, &req.ShareRequest)
}

func (a *API) listTaskShares(ctx context.Context, req *taskRequest) (*protocol.ShareList, error) {
	return a.Shares.List(ctx, a.Auth.Caller(ctx).UserID, req.ID)
}

func (a *API) listShares(ctx context.Context, _ *struct{}) (*protocol.ShareList, error) {
	return a.Shares.List(ctx, a.Auth.Caller(ctx).UserID, "")
}

func (a *API) revokeShare(ctx context.Context, req *shareRequest) (*protocol.SuccessResponse, error) {
	return success(a.Shares.Revoke(ctx, a.Auth.Caller(ctx).UserID, req.ID))
}

const markdownMedia = markdown + "; charset=utf-8"

// exportTask writes a task as Markdown.
func (a *API) exportTask(c echo.Context) error {
	var masked bool
	if err := echo.QueryParamsBinder(c).FailFast(true).Bool("masked", &masked).BindError(); err != nil {
		return &protocol.Error{Code: protocol.CodeInvalid, Message: "masked must be true or false", Err: err}
	}
	ctx := database.WithoutBudget(c.Request().Context())
	file := newDownload(c, markdownMedia, "bellhop-task.md")
	return file.end(a.Transcripts.Export(ctx, a.Auth.Caller(ctx).UserID, c.Param("id"), masked, file.begin, file))
}

// sharedReaders limits the readers of share links, who are not known.
type sharedReaders struct {
	once    sync.Once
	reads   *httpapi.Limiter // by address
	exports *httpapi.Limiter // by address
}

// Limits of readers: bursts, and how many a second from then on.
const (
	sharedBurst, sharedRate             = 60, 1.0
	sharedExportBurst, sharedExportRate = 10, 0.1
)

// allow takes a request of an address; CodeTooManyRequests when there were too many.
func (r *sharedReaders) allow(address string, isExport bool) error {
	r.once.Do(func() {
		r.reads = httpapi.NewLimiter(httpapi.LimiterOptions{Rate: sharedRate, Burst: sharedBurst})
		r.exports = httpapi.NewLimiter(httpapi.LimiterOptions{Rate: sharedExportRate, Burst: sharedExportBurst})
	})
	limiter := r.reads
	if isExport {
		limiter = r.exports
	}
	ok, wait := limiter.Allow(address)
	if ok {
		return nil
	}
	return &protocol.Error{
		Code: protocol.CodeTooManyRequests, Message: "Too many requests from this address", Hint: "Try again later",
		RetryAfter: int(math.Ceil(wait.Seconds())),
	}
}

// readShared answers with a page of a shared transcript. The token is in the header Authorization, never in the
// address. Cookies and other credentials are not read.
func (a *API) readShared(c echo.Context) error {
	if err := a.readers.allow(c.RealIP(), false); err != nil {
		return err
	}
	var after int64
	if err := echo.QueryParamsBinder(c).FailFast(true).Int64("after", &after).BindError(); err != nil || after < 0 {
		return &protocol.Error{Code: protocol.CodeInvalid, Message: "after must be a position", Err: err}
	}
	page, err := a.Shares.Read(c.Request().Context(), shareToken(c), after)
	if err != nil {
		return err
	}
	body, err := protocol.Marshal(page)
	if err != nil {
		return err
	}
	return c.JSONBlob(http.StatusOK, body)
}

// exportShared writes a shared transcript as Markdown.
func (a *API) exportShared(c echo.Context) error {
	if err := a.readers.allow(c.RealIP(), true); err != nil {
		return err
	}
	file := newDownload(c, markdownMedia, "bellhop-task.md")
	ctx := database.WithoutBudget(c.Request().Context())
	return file.end(a.Shares.Export(ctx, shareToken(c), file.begin, file))
}

// shareToken returns the token of a request, and asks search engines to leave the answer out.
func shareToken(c echo.Context) string {
	c.Response().Header().Set("X-Robots-Tag", "noindex, nofollow")
	scheme, plain, _ := strings.Cut(c.Request().Header.Get(echo.HeaderAuthorization), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(plain)
}
