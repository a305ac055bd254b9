package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/sync/singleflight"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/diskspace"
	"bellhop/internal/doctor"
	"bellhop/internal/httpapi"
	"bellhop/internal/observe"
	"bellhop/protocol"
)

// API serves the broker's routes. The fields down to Ready, and Log, are required, unless their
// comment says that they may be nil.
type API struct {
	Auth          Auth
	Tasks         *broker.Tasks
	Sessions      *broker.Sessions
	Queue         *broker.Queue
	Interactions  *broker.Interactions
	Hosts         *broker.Hosts
	Adoption      *broker.Adoption
	Audit         *broker.AuditLog
	Feed          Feed
	Webhook       Webhook
	Offers        *broker.Offers
	Installations *broker.Installations
	Workspaces    *broker.Workspaces
	Files         *broker.Files
	Ships         *broker.Ships
	ForgeTokens   *broker.ForgeTokens
	Shares        *broker.Shares
	Transcripts   *broker.Transcripts
	Templates     *broker.Templates
	Shells        *broker.Shells
	ShellCheck    time.Duration // between checks of what the user of a terminal may; 0 = 5 s
	Parts         []Part        // other resources of the same server
	Console       Console       // serves the paths without a route; may be nil
	Doctor        func(ctx context.Context) *doctor.Report
	Metrics       http.Handler     // answers GET /metrics; may be nil: there are none
	Observer      observe.Observer // of requests; may be nil
	Announcements *broker.Announcements
	Quotas        *broker.Quotas // of users' feeds; may be nil

	BrokerID       string                          // of this installation, which every response names; "" names none
	Life           func() protocol.Life            // of the database; nil = none
	CopyNotice     func() string                   // says that hosts obey a broker on another copy; may be nil
	Ready          func(ctx context.Context) error // reports whether the database takes writes
	Disk           diskspace.Monitor               // of a database in a file; without a path nothing is measured
	PublicURL      string                          // where browsers see the broker
	WebhookURL     string                          // where hosts reach the broker; "" = PublicURL
	AllowedOrigins []string                        // as returned by httpapi.ParseOrigins
	Proxies        []netip.Prefix                  // trusted proxies, as returned by httpapi.ParseProxies
	Log            *slog.Logger

	diagnosis singleflight.Group
	readers   sharedReaders

	once  sync.Once
	alive context.Context // ended by End; the context of relayed streams
	end   context.CancelFunc
}

// Auth authenticates callers and signs users in; broker/auth implements it.
type Auth interface {
	// Middleware admits authenticated callers and puts them into the context.
	Middleware(next echo.HandlerFunc) echo.HandlerFunc
	Authenticate(r *http.Request) (broker.Caller, error)
	Caller(ctx context.Context) broker.Caller
	Me(ctx context.Context) (*broker.User, error)

	// SignInWithCode, SignInByLink and SignOut set the cookie on w.
	SignInWithCode(w http.ResponseWriter, r *http.Request, address, email, password, code string) (*broker.User, error)
	SignInByLink(w http.ResponseWriter, r *http.Request, address, link string) (*broker.User, error)
	SignOut(w http.ResponseWriter, r *http.Request, address string) error

	// ChangePassword sets the cookie of a new session on w; the others end.
	ChangePassword(w http.ResponseWriter, r *http.Request, address, current, password string) error

	// These are about the caller's own second factor. They need a session; BeginSecondFactor returns a secret.
	SecondFactor(ctx context.Context) (*broker.SecondFactor, error)
	BeginSecondFactor(ctx context.Context, password string) (*broker.Enrolment, error)
	ConfirmSecondFactor(ctx context.Context, code string) (recovery []string, err error)
	RenewRecoveryCodes(ctx context.Context, password, code string) (recovery []string, err error)
	DisableSecondFactor(ctx context.Context, password, code string) error

	// SignIns and EndSignIn are for the user themselves and for administrators.
	SignIns(ctx context.Context, caller broker.Caller, userID string) ([]broker.SignIn, error)
	EndSignIn(ctx context.Context, caller broker.Caller, userID, id string) error
	SignInOf(ctx context.Context) string

	// Users, SetDisabled, DeleteUser and ResetSecondFactor are for administrators.
	Users(ctx context.Context, caller broker.Caller, after string, limit int) ([]broker.User, error)
	SetDisabled(ctx context.Context, caller broker.Caller, id string, disabled bool) (*broker.User, error)
	DeleteUser(ctx context.Context, caller broker.Caller, id string) error
	ResetSecondFactor(ctx context.Context, caller broker.Caller, userID string) error

	// TokenLife is how long tokens may live; 0: they need no expiry.
	TokenLife() time.Duration
	CreateToken(ctx context.Context, t *broker.APIToken) (plain string, err error)
	ListTokens(ctx context.Context, userID string) ([]broker.APIToken, error)
	DeleteToken(ctx context.Context, userID, id string) error
}

// Feed serves the event streams; broker/feed implements it. It returns an error
// only before the first byte. It calls allowed every few seconds and ends the
// stream when the result is false.
type Feed interface {
	ServeTask(w http.ResponseWriter, r *http.Request, userID, taskID string, allowed func(context.Context) bool) error
	ServeUser(w http.ResponseWriter, r *http.Request, userID string, allowed func(context.Context) bool) error
}

// Webhook receives the events of agent hosts; webhook/inbound implements it.
type Webhook interface {
	Handle(c echo.Context) error
	Renew(c echo.Context) error
}

// Console serves the files and pages of the console; package web implements it.
// Serve reports whether it served the path.
type Console interface {
	Serve(w http.ResponseWriter, r *http.Request) bool
}

// Part adds its own routes and protects them itself.
type Part interface{ Routes(e *echo.Echo) }

// databaseTime limits the total time that a request waits for the database. Calls
// to hosts have their own limits.
const databaseTime = 5 * time.Second

// Handler returns the handler of all routes.
func (a *API) Handler() http.Handler {
	e := httpapi.New(httpapi.Options{Log: a.Log, Proxies: a.Proxies, Observer: a.Observer})
	a.Routes(e)
	routes := httpapi.ForwardedHost(a.Proxies, underBase(BasePath(a.PublicURL), e))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		routes.ServeHTTP(w, r.WithContext(database.WithBudget(r.Context(), databaseTime)))
	})
}
