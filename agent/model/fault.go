package model

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"bellhop/protocol"
)

var (
	errSilent = errors.New("silent")
	errBroken = errors.New("the answer broke off")
)

// errCut means that the response ended at its token limit within a tool call.
var errCut = errors.New("the answer was cut within a tool call")

// fault describes a failed attempt in text without secrets.
type fault struct {
	code       protocol.Code
	message    string
	hint       string
	retry      bool
	retryAfter time.Duration // 0 if the provider sent none
}

// wait returns the pause before the next attempt.
func (f *fault) wait(try int) time.Duration {
	if f.retryAfter > 0 {
		return f.retryAfter
	}
	return time.Second << (try - 1)
}

func (f *fault) report(tries int, wait time.Duration) error {
	message := f.message
	switch {
	case f.retry && wait > maxWait:
		message += fmt.Sprintf(", and asks for a pause of %s", wait)
	case tries > 1:
		message += fmt.Sprintf(", %d times", tries)
	}
	return &protocol.Error{Code: f.code, Message: message, Hint: f.hint}
}

// fault classifies an error.
func (c *completer) fault(err error) *fault {
	var reported *refusal
	var other *noStreamError
	var network net.Error
	switch {
	case errors.As(err, &reported):
		return c.refused(reported.status, reported.header, reported.kind, reported.message)
	case errors.As(err, &other):
		return &fault{
			code: protocol.CodeBadGateway,
			message: fmt.Sprintf("%s answers with %s instead of a stream", c.address(),
				c.safe(cmp.Or(other.mediaType, "no media type"))),
			hint: "Check the provider's base URL, and whether the server streams",
		}
	case errors.Is(err, errSilent):
		return &fault{
			code: protocol.CodeUnavailable, message: fmt.Sprintf("The model has been silent for %s", c.opts.Silence),
		}
	case errors.Is(err, errCut):
		return &fault{
			code: protocol.CodeTooLarge, message: "The model's answer reached its limit within a tool call",
			hint: "Ask for smaller steps, or raise the limit of an answer",
		}
	case errors.As(err, &network):
		var detail *net.OpError
		reason := "no connection"
		if errors.As(err, &detail) {
			reason = detail.Err.Error()
		}
		return &fault{
			code: protocol.CodeUnavailable, retry: true,
			message: fmt.Sprintf("%s cannot be reached: %s", c.address(), c.safe(reason)),
			hint:    "Check the network and the provider's base URL",
		}
	default:
		return &fault{code: protocol.CodeBadGateway, retry: true, message: "The model's answer broke off"}
	}
}

// address returns the provider's address without its path.
func (c *completer) address() string {
	address, err := url.Parse(c.opts.BaseURL)
	if err != nil {
		return c.provider.Name
	}
	return address.Scheme + "://" + address.Host
}

// refused classifies responses with an error status, or with an error inside a response with
// status 200.
func (c *completer) refused(status int, header http.Header, kind, message string) *fault {
	message = c.safe(message)
	f := &fault{
		code:    protocol.CodeInvalid,
		message: fmt.Sprintf("The model's provider refused the request (%d): %s", status, message),
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		// Providers repeat parts of the key in these messages.
		f.code, f.message = protocol.CodeUnauthorized, fmt.Sprintf("The model's provider refused the API key (%d)", status)
		if c.provider.Key != "" {
			f.hint = "Check " + c.provider.Key
		}
	case status == http.StatusNotFound:
		f.code, f.message = protocol.CodeNotFound, fmt.Sprintf("%s does not know the model %s (404)",
			c.address(), c.safe(c.model))
		f.hint = "Check the model's name and the provider's base URL"
	case status == http.StatusTooManyRequests:
		f.code, f.retry = protocol.CodeTooManyRequests, true
		f.message = "The model's provider has too many requests (429): " + message
	case status >= http.StatusInternalServerError, status == http.StatusRequestTimeout, status == http.StatusConflict:
		f.code, f.retry = protocol.CodeUnavailable, true
		f.message = fmt.Sprintf("The model's provider failed (%d): %s", status, message)
	case status < http.StatusMultipleChoices:
		f.code, f.retry = protocol.CodeUnavailable, kind == "overloaded_error" || kind == "api_error" ||
			kind == "rate_limit_error"
		f.message = "The model's provider failed within its answer: " + message
	case status < http.StatusBadRequest:
		f.message = fmt.Sprintf("%s redirects to %s (%d)", c.address(), message, status)
		f.hint = "Check the provider's base URL"
	}
	if header != nil {
		f.retryAfter = retryAfter(header, c.opts.Now())
	}
	return f
}

// maxQuoted limits the part of a provider's message that is quoted.
const maxQuoted = 500

// safe returns a provider's text on one line, shortened and without our key.
func (c *completer) safe(text string) string {
	if c.opts.Key != "" {
		text = strings.ReplaceAll(text, c.opts.Key, "[key]")
	}
	text = strings.Join(strings.Fields(protocol.SanitizeText(text)), " ")
	if runes := []rune(text); len(runes) > maxQuoted {
		text = string(runes[:maxQuoted]) + "…"
	}
	if text == "" {
		return "no reason given"
	}
	return text
}

// retryAfter reads Retry-After (RFC 9110 section 10.2.3) and retry-after-ms.
func retryAfter(header http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseInt(header.Get("Retry-After-Ms"), 10, 32); err == nil && ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	value := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 && seconds < 1e6 {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return at.Sub(now).Round(time.Second)
	}
	return 0
}
