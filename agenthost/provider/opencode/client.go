package opencode

import (
	"bytes"
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

// callTimeout is for a request on a running server. The first one of a directory
// makes OpenCode read it, and the first prompt its catalogue of models.
const callTimeout = 30 * time.Second

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 20

// client speaks version 1 of OpenCode's HTTP interface; every call is here.
type client struct {
	base     string // http://127.0.0.1:port
	password string
	http     *http.Client
}

func newClient(base, password string) *client {
	return &client{base: base, password: password, http: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 4},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // it would carry the password elsewhere
		},
	}}
}

// statusError is an answer other than 2xx.
type statusError struct {
	status  int
	message string
}

func (e *statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("OpenCode answers %d %s", e.status, e.message))
}

// refused reports whether the server has understood and said no.
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

// callError is a request that did not come through, or to a no; what an Output
// answers is never one.
type callError struct{ err error }

func (e *callError) Error() string { return e.err.Error() }
func (e *callError) Unwrap() error { return e.err }

// call does one request; its error is a *callError.
func (c *client) call(ctx context.Context, method, path string, body, answer any) error {
	if err := c.exchange(ctx, method, path, body, answer); err != nil {
		return &callError{err}
	}
	return nil
}

// exchange is call. An answer that is no JSON is an error where one is
// wanted: unknown paths answer 200 with a page of the web client.
func (c *client) exchange(ctx context.Context, method, path string, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	request, err := c.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return err
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return &statusError{status: response.StatusCode, message: message(content)}
	}
	if answer == nil {
		return nil
	}
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind != "application/json" {
		return fmt.Errorf("OpenCode answers %s %s with %q instead of JSON", method, path, kind)
	}
	if err := json.Unmarshal(content, answer); err != nil {
		return fmt.Errorf("OpenCode's answer to %s %s: %w", method, path, err)
	}
	return nil
}

// message is what an error answer says.
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
	if known.Data.Message != "" {
		return known.Data.Message
	}
	return known.Message
}

// health asks whether the server serves, and whether it is one that we know.
func (c *client) health(ctx context.Context) error {
	var answer struct {
		Healthy bool   `json:"healthy"`
		Version string `json:"version"`
	}
	if err := c.call(ctx, http.MethodGet, "/global/health", nil, &answer); err != nil {
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

// rule is one permission of a session.
type rule struct {
	Permission string `json:"permission"`
	Pattern    string `json:"pattern"`
	Action     string `json:"action"`
}

func (c *client) createSession(ctx context.Context, rules []rule) (session, error) {
	var made session
	err := c.call(ctx, http.MethodPost, "/session", struct {
		Permission []rule `json:"permission,omitempty"`
	}{rules}, &made)
	return made, err
}

func (c *client) session(ctx context.Context, id string) (session, error) {
	var found session
	err := c.call(ctx, http.MethodGet, sessionPath(id, ""), nil, &found)
	return found, err
}

func (c *client) children(ctx context.Context, id string) ([]session, error) {
	var found []session
	err := c.call(ctx, http.MethodGet, sessionPath(id, "/children"), nil, &found)
	return found, err
}

// prompt gives the session a prompt; what comes of it is told by events.
func (c *client) prompt(ctx context.Context, id string, body promptBody) error {
	return c.call(ctx, http.MethodPost, sessionPath(id, "/prompt_async"), body, nil)
}

func (c *client) abort(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodPost, sessionPath(id, "/abort"), nil, nil)
}

// busy returns the sessions that are not idle.
func (c *client) busy(ctx context.Context) (map[string]status, error) {
	var found map[string]status
	err := c.call(ctx, http.MethodGet, "/session/status", nil, &found)
	return found, err
}

func (c *client) messages(ctx context.Context, id string) ([]whole, error) {
	var found []whole
	err := c.call(ctx, http.MethodGet, sessionPath(id, "/message"), nil, &found)
	return found, err
}

func (c *client) permissions(ctx context.Context) ([]permission, error) {
	var found []permission
	err := c.call(ctx, http.MethodGet, "/permission", nil, &found)
	return found, err
}

func (c *client) questions(ctx context.Context) ([]question, error) {
	var found []question
	err := c.call(ctx, http.MethodGet, "/question", nil, &found)
	return found, err
}

// reply answers a permission. A rejection without a message ends the turn. The
// answer "always" is not for us: it would hold for every session of the server.
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
