package broker

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"bellhop/internal/lazyregexp"
	"bellhop/protocol"
)

// Relayer forwards a request for a stream to a host. It returns the host's
// response, whatever its status; the body ends with ctx. CodeBadGateway when the
// host cannot be reached.
type Relayer interface {
	Relay(ctx context.Context, t Target, r *RelayRequest) (*http.Response, error)
}

// RelayRequest is a browser's request for a stream. It contains a stream token,
// which the host checks.
type RelayRequest struct {
	SessionID string
	Method    string
	Query     url.Values
	Header    http.Header
	Body      io.Reader
	Length    int64 // of Body; -1 means unknown
}

// maxOrigins and maxOriginBytes limit the header that lists the origins, because
// proxies allow 4 or 8 KiB for all headers of a response.
const (
	maxOrigins     = 64
	maxOriginBytes = 2 << 10
)

// RelayStore is the part of the store that relays and their routes need.
type RelayStore interface {
	// AnyTask returns any user's task, deleted tasks included.
	AnyTask(ctx context.Context, id string) (*Task, error)
	Hosts(ctx context.Context) ([]Host, error)
	// AddStreamOrigin stores an origin. The owner is the id of a registered host,
	// or the user of a task with its own URL. A known origin is no error.
	AddStreamOrigin(ctx context.Context, owner, origin string) error
	// StreamOrigins returns the origins of all registered hosts and of the user.
	StreamOrigins(ctx context.Context, userID string) ([]string, error)
}

// Relay forwards the stream of a task's host to a browser that cannot reach the
// host (protocol 1.6).
func (s *Sessions) Relay(ctx context.Context, r *RelayRequest) (*Relayed, error) {
	task, err := s.Store.AnyTask(ctx, r.SessionID)
	if err != nil {
		return nil, err
	}
	if task.DeletedAt != nil || task.Mode != protocol.ModeAgent || s.Relayer == nil {
		return nil, errTaskNotFound()
	}
	target, err := s.Targets.of(ctx, task)
	if err != nil {
		return nil, err
	}
	leave, err := s.Quotas.openStream(task.UserID)
	if err != nil {
		return nil, err
	}
	response, err := s.Relayer.Relay(ctx, target, r)
	if err != nil {
		leave()
		return nil, err
	}
	relayed := &Relayed{Response: response, Leave: leave}
	if !task.HostEvents && r.Method == http.MethodPost && response.StatusCode == http.StatusOK {
		if relayed.Turn, err = s.relayedTurn(ctx, task); err != nil {
			_ = response.Body.Close()
			leave()
			return nil, err
		}
	}
	return relayed, nil
}

// Relayed is a host's response. Turn is set for a basic host that has started a turn:
// the caller writes the stream to it. The caller calls Leave when the stream has ended.
type Relayed struct {
	*http.Response
	Turn  *RelayedTurn
	Leave func()
}

// route returns the URL from which a browser streams a session. It stores the URL's origin, so that
// the console is allowed to connect to it. An origin that the host may not name is not stored, and
// the console uses the relay.
func (s *Sessions) route(
	ctx context.Context, at *session, wanted protocol.Reach, response *protocol.OpenSessionResponse,
) (protocol.Reach, string) {
	task, target := at.task, at.target
	if wanted == protocol.ReachRelay || target.Relay {
		return protocol.ReachRelay, trimURL(cmp.Or(s.BrowserURL, s.PublicURL)) + "/api/agent/stream/" +
			url.PathEscape(task.ID)
	}
	direct := response.StreamURL
	if direct == "" {
		direct = target.URL + "/stream/" + url.PathEscape(task.ID)
	}
	s.allowOrigin(ctx, task, target, originOf(direct))
	return "", direct
}

// allowOrigin lets the console connect to an origin of a task's host. It reports whether the console may.
func (s *Sessions) allowOrigin(ctx context.Context, task *Task, target Target, origin string) bool {
	owner := cmp.Or(task.HostID, task.UserID)
	if origin == "" {
		return false
	}
	if !s.mayName(target.URL, origin) {
		if last, seen := s.refusedOrigins.Swap(owner, origin); !seen || last != origin {
			s.Log.WarnContext(ctx, "the console uses the relay, because the host's origin is not in BELLHOP_STREAM_ORIGINS",
				"origin", origin, "host", target.URL)
		}
		return false
	}
	if err := s.Store.AddStreamOrigin(context.WithoutCancel(ctx), owner, origin); err != nil {
		s.Log.WarnContext(ctx, "a host's origin is not stored, the console will use the relay", "origin", origin,
			"error", err)
		return false
	}
	return true
}

// mayName reports whether a host may have the console connect to an origin: one at the name at
// which the broker reaches the host, or one of the operator's list. A host that could name any
// other would choose where injected script may send data.
func (s *Sessions) mayName(hostURL, origin string) bool {
	if slices.Contains(s.Origins, origin) {
		return true
	}
	host, err := url.Parse(hostURL)
	named, errNamed := url.Parse(origin)
	return err == nil && errNamed == nil && strings.EqualFold(host.Hostname(), named.Hostname())
}

// StreamOrigins returns the sorted origins that a user's browser may have to stream
// from: those of the registered hosts and of the hosts of the user's own tasks.
func (s *Sessions) StreamOrigins(ctx context.Context, userID string) ([]string, error) {
	origins, err := s.Store.StreamOrigins(ctx, userID)
	if err != nil {
		return nil, err
	}
	hosts, err := s.Store.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	for _, h := range hosts {
		if h.Reach != protocol.ReachRelay {
			origins = append(origins, originOf(h.URL))
		}
	}
	if custom := s.Targets.CustomAgentURL; custom != "" {
		origins = append(origins, originOf(custom))
	}
	slices.Sort(origins)
	origins = slices.DeleteFunc(slices.Compact(origins), func(o string) bool { return o == "" })
	n, size := 0, 0
	for n < min(len(origins), maxOrigins) && size+2*len(origins[n])+2 <= maxOriginBytes {
		size += 2*len(origins[n]) + 2 // the page also names its WebSockets
		n++
	}
	return origins[:n], nil
}

// nameable matches a host that a Content-Security-Policy can contain: no IPv6
// address, and international names only in their ASCII form.
var nameable = lazyregexp.New(`^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?(:[0-9]{1,5})?$`)

// originOf returns a URL's origin, "" if a Content-Security-Policy cannot name it.
func originOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	host := strings.TrimSuffix(strings.ToLower(u.Host), ":")
	if len(host) > 253+6 || !nameable.MatchString(host) {
		return ""
	}
	return u.Scheme + "://" + host
}
