package forge

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"bellhop/internal/retryafter"
	"bellhop/protocol"
)

// maxMessage is how many bytes of a forge's message are shown.
const maxMessage = 300

func (p *place) failed(message, hint string, err error) error {
	return &protocol.Error{
		Code: protocol.CodeRemoteFailed, Message: message, Err: err,
		Hint: cmp.Or(hint, "Try again later. The forge is "+p.name),
	}
}

// unreachable explains a request without an answer.
func (p *place) unreachable(ctx context.Context, err error) error {
	message, hint := "The forge cannot be reached", "Check the network of the agent host. The forge is "+p.name
	untrusted := (*tls.CertificateVerificationError)(nil)
	timeout := net.Error(nil)
	switch {
	case errors.As(err, &untrusted):
		message, hint = "The certificate of the forge is not trusted", "The operator installs the certificate of its "+
			"authority on the agent host, or corrects url of "+p.name
	case errors.Is(err, context.DeadlineExceeded), ctx.Err() != nil, errors.As(err, &timeout) && timeout.Timeout():
		message = "The forge did not answer in time"
	}
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err // without the address
	}
	return p.failed(message, hint, errors.New(p.hide(err.Error())))
}

// refused explains an answer that is no success.
func (p *place) refused(resp *http.Response, answer []byte) error {
	message := p.messageOf(answer)
	cause := fmt.Errorf("%s answered %d: %s", p.name, resp.StatusCode, message)
	if wait, limited := p.limited(resp); limited {
		return &protocol.Error{
			Code: protocol.CodeTooManyRequests, Message: "The forge takes no more requests for now", Err: cause,
			Hint: "Its rate limit is used up. Try again in " + wait.Round(time.Second).String(), RetryAfter: int(wait.Seconds()),
		}
	}
	switch status := resp.StatusCode; {
	case status >= 300 && status < 400:
		return p.failed("The forge answered with a redirect, which is not followed",
			"The repository or the forge has moved: correct the remote of the project, or url of "+p.name, cause)
	case status == http.StatusUnauthorized:
		return p.failed("The forge refused "+p.whose(), "It is wrong, expired or revoked: "+p.replacer(), cause)
	case status == http.StatusForbidden:
		return p.failed(upperFirst(p.whose())+" may not open pull requests",
			"It needs the right to write pull requests: "+p.replacer()+". "+message, cause)
	case status == http.StatusNotFound:
		return p.failed("The forge has no such repository, or the token may not see it",
			fmt.Sprintf("Check that %s has %s, and that the token may read it", p.name, p.repository), cause)
	case status >= 500:
		return p.failed("The forge failed with status "+strconv.Itoa(status), "", cause)
	}
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: "The forge refused the pull request", Err: cause,
		Hint: cmp.Or(message, "Check that the branch is pushed and differs from its base"),
	}
}

// whose names the token that the forge was asked with.
func (p *place) whose() string {
	if p.isOwn {
		return "your own token for " + p.name
	}
	return "the token of the agent host"
}

// replacer says who replaces a token.
func (p *place) replacer() string {
	if p.isOwn {
		return "replace yours in the settings of the console"
	}
	return "the operator replaces the token of " + p.name
}

func upperFirst(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// limited reports whether a rate limit is used up, and for how long. GitHub answers 403 or 429, with the second at
// which the limit begins again; GitLab and Gitea answer 429.
func (p *place) limited(resp *http.Response) (time.Duration, bool) {
	isUsedUp := resp.Header.Get("X-RateLimit-Remaining") == "0"
	after := resp.Header.Get("Retry-After")
	isForbidden := resp.StatusCode == http.StatusForbidden && (isUsedUp || after != "")
	if resp.StatusCode != http.StatusTooManyRequests && !isForbidden {
		return 0, false
	}
	if wait, ok := retryafter.Parse(after, p.now()); ok {
		return wait, true
	}
	for _, name := range []string{"X-RateLimit-Reset", "RateLimit-Reset"} {
		if second, err := strconv.ParseInt(resp.Header.Get(name), 10, 64); err == nil {
			return min(max(time.Unix(second, 0).Sub(p.now()), retryafter.Min), retryafter.Max), true
		}
	}
	return time.Minute, true
}

// messageOf returns what an answer says to people. The APIs have several forms for it.
func (p *place) messageOf(answer []byte) string {
	var body struct {
		Message json.RawMessage `json:"message"`
		Error   json.RawMessage `json:"error"`
		Errors  json.RawMessage `json:"errors"`
	}
	if json.Unmarshal(answer, &body) != nil {
		return ""
	}
	var parts []string
	for _, raw := range []json.RawMessage{body.Message, body.Error, body.Errors} {
		var text string
		var texts []string
		var details []struct {
			Message string `json:"message"`
		}
		switch {
		case len(raw) == 0 || string(raw) == "null":
		case json.Unmarshal(raw, &text) == nil:
			parts = append(parts, text)
		case json.Unmarshal(raw, &texts) == nil:
			parts = append(parts, texts...)
		case json.Unmarshal(raw, &details) == nil:
			for _, detail := range details {
				parts = append(parts, detail.Message)
			}
		default:
			parts = append(parts, string(raw))
		}
	}
	return protocol.PlainText(p.hide(strings.Join(parts, " ")), maxMessage)
}

// hide removes the token from a text.
func (p *place) hide(text string) string {
	return strings.ReplaceAll(text, p.token.Reveal(), "[redacted]")
}
