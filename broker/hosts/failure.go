package hosts

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// What of a host's own words a user gets to read.
const (
	maxCode  = 64
	maxWords = 500
)

// passed are the codes that mean the same coming from the broker. A host's 401
// is not among them: it is about the broker's password, not about its caller.
var passed = map[protocol.Code]bool{
	protocol.CodeInvalid:         true,
	protocol.CodeNotFound:        true,
	protocol.CodeConflict:        true,
	protocol.CodeGap:             true,
	protocol.CodeBusy:            true,
	protocol.CodeNoTurn:          true,
	protocol.CodeForeignBroker:   true,
	protocol.CodeAnswered:        true,
	protocol.CodeGone:            true,
	protocol.CodeExpired:         true,
	protocol.CodeTooLarge:        true,
	protocol.CodeTooManyRequests: true,
}

func unreachable(err error) error {
	return &protocol.Error{
		Code:    protocol.CodeBadGateway,
		Message: "Failed to connect to agent server",
		Hint:    "Check that the agent host runs and that the broker reaches its URL",
		Err:     err,
	}
}

// refusedSession is the error for a /session that was answered with no 2xx: the
// host's own code goes with it.
func (a *answer) refusedSession() error {
	said := a.said()
	e := &protocol.Error{
		Code:    protocol.CodeBadGateway,
		Message: "Failed to create agent session",
		Hint:    said.Hint,
		Relayed: said.Code,
		Err:     hostError{a.status, said},
	}
	if e.Hint == "" {
		e.Hint = hintFor(a.status)
	}
	return e
}

// failed is the error for any other call.
func (a *answer) failed() error {
	said := a.said()
	if passed[said.Code] && said.Error != "" && a.status >= 400 {
		return &protocol.Error{Code: said.Code, Message: said.Error, Hint: said.Hint}
	}
	return &protocol.Error{
		Code:    protocol.CodeBadGateway,
		Message: "The agent host failed",
		Hint:    hintFor(a.status),
		Err:     hostError{a.status, said},
	}
}

// said reads the one error shape; it is empty when the host answered otherwise.
func (a *answer) said() protocol.ErrorBody {
	var body protocol.ErrorBody
	if json.Unmarshal(a.body, &body) != nil || body.Code == "" {
		return protocol.ErrorBody{}
	}
	return protocol.ErrorBody{
		Error: a.clean(body.Error, maxWords),
		Code:  protocol.Code(a.clean(string(body.Code), maxCode)),
		Hint:  a.clean(body.Hint, maxWords),
	}
}

// clean makes a host's words fit to be shown: short, plain, without what the
// broker told it in confidence.
func (a *answer) clean(words string, limit int) string {
	for _, secret := range a.secrets {
		words = strings.ReplaceAll(words, secret, "[redacted]")
	}
	words = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(words, "\uFFFD"))
	if len(words) > limit {
		words = strings.ToValidUTF8(words[:limit], "") + "…"
	}
	return words
}

// secretsOf lists what a call carries that a host must not hand on.
func secretsOf(passwords []seal.Secret, what call) []string {
	var secrets []string
	for _, password := range passwords {
		if !password.IsZero() {
			secrets = append(secrets, password.Reveal())
		}
	}
	if open, ok := what.body.(*protocol.OpenSessionRequest); ok {
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
	said   protocol.ErrorBody
}

func (e hostError) Error() string {
	text := "the host answered " + strconv.Itoa(e.status)
	if e.said.Code != "" {
		text += " " + string(e.said.Code) + ": " + e.said.Error
	}
	return text
}

func hintFor(status int) string {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return "The agent host refused the password: set the one it was started with"
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		return "Check the agent URL: nothing there answers as an agent host"
	case status >= 300 && status < 400:
		return "The agent URL redirects, which is not followed: use the address it redirects to"
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		return "The agent host is overloaded: try again later"
	default:
		return "The agent host answered with status " + strconv.Itoa(status) + ": its log says more"
	}
}
