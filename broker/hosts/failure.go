package hosts

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// Limits of a host's texts that users read.
const (
	maxCode = 64
	maxText = 500
)

// relayedCodes are the codes of a host that mean the same to the broker's caller.
// unauthorized is missing, because it concerns the broker's password.
var relayedCodes = map[protocol.Code]bool{
	protocol.CodeInvalid:         true,
	protocol.CodeNotFound:        true,
	protocol.CodeConflict:        true,
	protocol.CodeGap:             true,
	protocol.CodeDiverged:        true,
	protocol.CodeBusy:            true,
	protocol.CodeNoTurn:          true,
	protocol.CodeNoWorkspace:     true,
	protocol.CodeNoBranch:        true,
	protocol.CodeNothingToCommit: true,
	protocol.CodeUnmerged:        true,
	protocol.CodeNoRemote:        true,
	protocol.CodeDivergedBranch:  true,
	protocol.CodePushRejected:    true,
	protocol.CodeRemoteFailed:    true,
	protocol.CodeForeignBroker:   true,
	protocol.CodeAnswered:        true,
	protocol.CodeGone:            true,
	protocol.CodeExpired:         true,
	protocol.CodeTooLarge:        true,
	protocol.CodeTooManyRequests: true,
}

// tooSlow means that a host did not answer within a limit of ours.
type tooSlow struct {
	kind  string // of the call
	limit time.Duration
}

func (e tooSlow) Error() string { return "no response in time: " + e.limit.String() }

// slowActs are what hosts may go on with after a limit, in words.
var slowActs = map[string]string{
	"restart": "restarted the agent", "interrupt": "stopped the agent", "diff": "read the changes", "commit": "committed",
	"discard": "discarded the changes", "fetch": "fetched", "push": "pushed", "pull-request": "opened the pull request",
}

// asError says that the host has not done it within the limit, which is no sign that it cannot be reached.
func (e tooSlow) asError() error {
	limit := strconv.FormatFloat(e.limit.Seconds(), 'g', 3, 64) + " s"
	slow := &protocol.Error{
		Code: protocol.CodeBadGateway, Message: "The agent host did not answer within " + limit, Err: e,
		Hint: "It is busy, or the network between it and the broker holds the answer up: try again",
	}
	if done, known := slowActs[e.kind]; known {
		slow.Message = "The agent host has not " + done + " within " + limit
		slow.Hint = "It may still do so: wait a moment, look at the task, and try again if nothing happened"
	}
	return slow
}

// wentAway is for a connection that failed a moment after the host had answered.
type wentAway struct{ error }

func (e wentAway) Unwrap() error { return e.error }

// recently is longer than a restart of a host takes.
const recently = 2 * time.Minute

// away makes the failure of a connection a wentAway if the host at the URL answered recently.
func (c *Client) away(url string, err error) error {
	at, known := c.answered.Get(url)
	isConnection := errors.As(err, new(*net.OpError)) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if known && isConnection && time.Since(at) < recently {
		return wentAway{err}
	}
	return err
}

// unreachable returns the error for a call without a response of the host.
func unreachable(err error) error {
	if of := foreign(err); of != nil {
		return of
	}
	if slow := (tooSlow{}); errors.As(err, &slow) {
		return slow.asError()
	}
	hint := "Check that the agent host runs and that the broker reaches its URL"
	if errors.As(err, new(wentAway)) {
		hint = "It answered a moment ago, so it may be restarting: try again. If that fails, check that it runs"
	}
	return &protocol.Error{
		Code: protocol.CodeBadGateway, Message: "Failed to connect to agent server", Hint: hint, Err: err,
	}
}

// hintNotHost is for a server that answers, but not as an agent host does.
const hintNotHost = "Check the agent URL: nothing there answers as an agent host"

// notHost returns the error for a 2xx that no agent host writes, such as a web page.
func notHost(err error) error {
	return &protocol.Error{
		Code: protocol.CodeBadGateway, Message: "Failed to connect to agent server", Hint: hintNotHost, Err: err,
	}
}

// sessionRefused returns the error for a /session without a 2xx. It contains the
// host's own code.
func (r *response) sessionRefused() error {
	body := r.errorBody()
	if body.Code == protocol.CodeInvalid && body.Error != "" && r.named { // such as a task with an unknown agent: no host has failed
		return &protocol.Error{Code: protocol.CodeInvalid, Message: body.Error, Hint: body.Hint}
	}
	var later struct {
		Rev int64 `json:"rev"`
	}
	if body.Code == protocol.CodeConflict && r.named && json.Unmarshal(r.body, &later) == nil && later.Rev > 0 {
		return &protocol.Error{
			Code: protocol.CodeConflict, Message: body.Error, Hint: body.Hint, Err: broker.LaterCheckInError{Rev: later.Rev},
		}
	}
	return &protocol.Error{
		Code:    protocol.CodeBadGateway,
		Message: "Failed to create agent session",
		Hint:    cmp.Or(body.Hint, r.hint(body)),
		Relayed: body.Code,
		Err:     hostError{r.status, body},
	}
}

// failed returns the error for any other call.
func (r *response) failed() error {
	body := r.errorBody()
	if relayedCodes[body.Code] && body.Error != "" && r.status >= 400 {
		return &protocol.Error{Code: body.Code, Message: body.Error, Hint: body.Hint}
	}
	if body.Code == protocol.CodeSessionKey {
		return &protocol.Error{
			Code: protocol.CodeBadGateway, Message: "The agent host refuses this broker: another key is bound to the session",
			Hint: body.Hint, Relayed: body.Code, Err: hostError{r.status, body},
		}
	}
	return &protocol.Error{
		Code:    protocol.CodeBadGateway,
		Message: "The agent host failed",
		Hint:    r.hint(body),
		Err:     hostError{r.status, body},
	}
}

// errorBody returns the error in the body, or an empty one when the body has
// another shape.
func (r *response) errorBody() protocol.ErrorBody {
	var body protocol.ErrorBody
	if json.Unmarshal(r.body, &body) != nil || body.Code == "" {
		return protocol.ErrorBody{}
	}
	return protocol.ErrorBody{
		Error: r.clean(body.Error, maxText),
		Code:  protocol.Code(r.clean(string(body.Code), maxCode)),
		Hint:  r.clean(body.Hint, maxText),
	}
}

// clean makes a host's text safe to show: it removes the secrets of the request and
// control characters, and shortens the text.
func (r *response) clean(text string, limit int) string {
	for _, secret := range r.secrets {
		text = strings.ReplaceAll(text, secret, "[redacted]")
	}
	text = strings.Map(func(char rune) rune {
		if unicode.IsControl(char) {
			return ' '
		}
		return char
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}

// secretsOf lists the secrets of a call, which a host may echo.
func secretsOf(passwords []seal.Secret, request call) []string {
	var secrets []string
	for _, password := range passwords {
		if !password.IsZero() {
			secrets = append(secrets, password.Reveal())
		}
	}
	if open, ok := request.body.(*protocol.OpenSessionRequest); ok {
		if u, err := url.Parse(open.WebhookURL); err == nil {
			for _, token := range u.Query()["token"] {
				if token != "" {
					secrets = append(secrets, token)
				}
			}
		}
	}
	return secrets
}

// hostError is for the operator's log.
type hostError struct {
	status int
	body   protocol.ErrorBody
}

func (e hostError) Error() string {
	text := "the host answered " + strconv.Itoa(e.status)
	if e.body.Code != "" {
		text += " " + string(e.body.Code) + ": " + e.body.Error
	}
	return text
}

// hint returns what to do about a response with an error body, which may be empty.
func (r *response) hint(body protocol.ErrorBody) string {
	if r.named && body.Code == protocol.CodeUnavailable && body.Error != "" { // such as: the host is stopping
		return body.Error + ": try again in a moment"
	}
	return hintFor(r.status)
}

func hintFor(status int) string {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return "The agent host refused the password: set the one it was started with"
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		return hintNotHost
	case status >= 300 && status < 400:
		return "The agent URL redirects, which is not followed: use the address it redirects to"
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		return "The agent host is overloaded: try again later"
	default:
		return "The agent host answered with status " + strconv.Itoa(status) + ": its log says more"
	}
}
