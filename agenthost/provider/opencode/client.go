package opencode

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// callTimeout limits a request to a running server. The first request for a directory
// makes OpenCode read the directory and its catalogue of models, which needs seconds of
// processor time.
const callTimeout = 3 * time.Minute

// maxResponse limits the size of a response.
const maxResponse = 64 << 20

// client makes all calls of version 1 of OpenCode's HTTP interface.
type client struct {
	base     string // http://127.0.0.1:port
	password string
	http     *http.Client
}

func newClient(base, password string) *client {
	return &client{base: base, password: password, http: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 4},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // following a redirect would send the password elsewhere
		},
	}}
}

// statusError is a response other than 2xx.
type statusError struct {
	status  int
	message string
}

func (e *statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("OpenCode answers %d %s", e.status, e.message))
}

// refused reports whether the server understood the request and rejected it.
func refused(err error) bool {
	var e *statusError
	return errors.As(err, &e) && e.status >= 400 && e.status < 500
}

func (c *client) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.SetBasicAuth("opencode", c.password)
	return request, nil
}

// callError is the error of a request that failed or was rejected. The type
// distinguishes it from errors of an Output.
type callError struct{ err error }

func (e *callError) Error() string { return e.err.Error() }
func (e *callError) Unwrap() error { return e.err }

// call makes one request. Its error is a *callError.
func (c *client) call(ctx context.Context, method, path string, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := c.exchange(ctx, method, path, body, answer); err != nil {
		return &callError{err}
	}
	return nil
}

// exchange makes one request. If the caller passes an answer, a response that is
// not JSON is an error: OpenCode answers unknown paths with 200 and a page of its
// web client.
func (c *client) exchange(ctx context.Context, method, path string, body, answer any) error {
	request, err := c.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	succeeded := response.StatusCode >= 200 && response.StatusCode <= 299
	if succeeded && answer == nil {
		_, err := io.Copy(io.Discard, response.Body)
		return err
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	if err != nil {
		return err
	}
	if !succeeded {
		return &statusError{status: response.StatusCode, message: message(content)}
	}
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind != "application/json" {
		return fmt.Errorf("OpenCode answers %s %s with %q instead of JSON", method, path, kind)
	}
	if err := json.Unmarshal(content, answer); err != nil {
		return fmt.Errorf("OpenCode's answer to %s %s: %w", method, path, err)
	}
	return nil
}

// message returns the message of an error response.
func message(content []byte) string {
	var known struct {
		Message string `json:"message"`
		Data    struct {
			Message string `json:"message"`
		} `json:"data"`
	}
	if json.Unmarshal(content, &known) != nil {
		return ""
	}
	return cmp.Or(known.Data.Message, known.Message)
}

// health checks that the server responds and has a supported version.
func (c *client) health(ctx context.Context) error {
	answer, err := get[struct {
		Healthy bool   `json:"healthy"`
		Version string `json:"version"`
	}](ctx, c, "/global/health")
	if err != nil {
		return err
	}
	if !answer.Healthy {
		return errors.New("OpenCode says that it is not healthy")
	}
	if !strings.HasPrefix(answer.Version, "1.") {
		return fmt.Errorf("OpenCode %s is not supported, 1.x is", answer.Version)
	}
	return nil
}

// rule is one permission rule of a session.
type rule struct {
	Permission string `json:"permission"`
	Pattern    string `json:"pattern"`
	Action     string `json:"action"`
}

func (c *client) createSession(ctx context.Context, rules []rule) (made session, err error) {
	err = c.call(ctx, http.MethodPost, "/session", struct {
		Permission []rule `json:"permission,omitempty"`
	}{rules}, &made)
	return made, err
}

// get decodes the response to a GET request.
func get[T any](ctx context.Context, c *client, path string) (found T, err error) {
	err = c.call(ctx, http.MethodGet, path, nil, &found)
	return found, err
}

func (c *client) session(ctx context.Context, id string) (session, error) {
	return get[session](ctx, c, sessionPath(id, ""))
}

func (c *client) children(ctx context.Context, id string) ([]session, error) {
	return get[[]session](ctx, c, sessionPath(id, "/children"))
}

func (c *client) abort(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodPost, sessionPath(id, "/abort"), nil, nil)
}

// busy returns the sessions that are not idle.
func (c *client) busy(ctx context.Context) (map[string]status, error) {
	return get[map[string]status](ctx, c, "/session/status")
}

func (c *client) messages(ctx context.Context, id string) ([]storedMessage, error) {
	return get[[]storedMessage](ctx, c, sessionPath(id, "/message"))
}

func (c *client) permissions(ctx context.Context) ([]permission, error) {
	return get[[]permission](ctx, c, "/permission")
}

// pending returns all permissions and questions without an answer.
func (c *client) pending(ctx context.Context) (permissions []permission, questions []question, err error) {
	if permissions, err = c.permissions(ctx); err == nil {
		questions, err = get[[]question](ctx, c, "/question")
	}
	return permissions, questions, err
}

// reply answers a permission. A rejection without a message ends the turn. The
// answer "always" is never used, because it would apply to every session of the
// server.
func (c *client) reply(ctx context.Context, id string, approved bool, reason string) error {
	body := struct {
		Reply   string `json:"reply"`
		Message string `json:"message,omitempty"`
	}{Reply: "once"}
	if !approved {
		body.Reply, body.Message = "reject", reason
	}
	return c.call(ctx, http.MethodPost, "/permission/"+url.PathEscape(id)+"/reply", body, nil)
}

func (c *client) answer(ctx context.Context, id string, answers [][]string) error {
	return c.call(ctx, http.MethodPost, "/question/"+url.PathEscape(id)+"/reply", map[string]any{"answers": answers}, nil)
}

func (c *client) rejectQuestion(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodPost, "/question/"+url.PathEscape(id)+"/reject", nil, nil)
}

func sessionPath(id, rest string) string { return "/session/" + url.PathEscape(id) + rest }
