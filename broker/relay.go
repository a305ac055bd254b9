package broker

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"bellhop/protocol"
)

// Relayer passes a request for a stream on to a host. The answer is the host's,
// whatever its status; its body ends when ctx does. CodeBadGateway when the host
// cannot be reached.
type Relayer interface {
	Relay(ctx context.Context, t Target, r *RelayRequest) (*http.Response, error)
}

// RelayRequest is a browser's request for a stream. The stream token in it is the
// host's to check.
type RelayRequest struct {
	SessionID string
	Method    string
	Query     url.Values
	Header    http.Header
	Body      io.Reader
	Length    int64 // of Body; -1 unknown
}

// maxOrigins and maxOriginBytes bound the header that lists them: proxies give all
// headers of an answer 4 KiB or 8.
const (
	maxOrigins     = 64
	maxOriginBytes = 2 << 10
)

// Relay passes a stream of a task's host on to a browser that does not reach the
// host (protocol 1.6).
func (s *Sessions) Relay(ctx context.Context, r *RelayRequest) (*http.Response, error) {
	task, err := s.Store.AnyTask(ctx, r.SessionID)
	if err != nil {
		return nil, err
	}
	if task.DeletedAt != nil || task.Mode != protocol.ModeAgent || s.Relayer == nil {
		return nil, errTaskNotFound()
	}
	target, err := targetOf(ctx, s.Store, task, s.CustomAgentURL, s.Now())
	if err != nil {
		return nil, err
	}
	return s.Relayer.Relay(ctx, target, r)
}

// route is where a browser streams a task from. What leads elsewhere than to the
// broker is remembered: the console may call it.
func (s *Sessions) route(ctx context.Context, task *Task, target Target, wanted protocol.Reach, answer *protocol.OpenSessionResponse) (protocol.Reach, string) {
	if wanted == protocol.ReachRelay || target.Relay {
		return protocol.ReachRelay, trimURL(cmp.Or(s.BrowserURL, s.PublicURL)) + "/api/agent/stream/" + url.PathEscape(task.ID)
	}
	direct := answer.StreamURL
	if direct == "" {
		direct = target.URL + "/stream/" + url.PathEscape(task.ID)
	}
	if origin := originOf(direct); origin != "" {
		if err := s.Store.AddStreamOrigin(context.WithoutCancel(ctx), cmp.Or(task.HostID, task.UserID), origin); err != nil {
			s.Log.WarnContext(ctx, "a host's origin is not remembered, the console will go through the broker", "origin", origin, "error", err)
		}
	}
	return "", direct
}

// StreamOrigins are where a user's browser may have to stream from: the registered
// hosts, and the hosts of the user's own tasks; sorted.
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
	if s.CustomAgentURL != "" {
		origins = append(origins, originOf(s.CustomAgentURL))
	}
	slices.Sort(origins)
	origins = slices.DeleteFunc(slices.Compact(origins), func(o string) bool { return o == "" })
	n, size := 0, 0
	for n < min(len(origins), maxOrigins) && size+len(origins[n])+1 <= maxOriginBytes {
		size += len(origins[n]) + 1
		n++
	}
	return origins[:n], nil
}

// nameable is a host as a policy's grammar has it: no address of IPv6, and a name
// of another script only as it travels.
var nameable = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?(:[0-9]{1,5})?$`)

// originOf is a URL's origin, "" if a policy could not name it.
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
