package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/labstack/echo/v4"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/protocol"
)

const (
	shellWrite = 30 * time.Second // for one message
	shellCheck = 5 * time.Second  // between checks of what the user may
	shellPing  = 30 * time.Second
)

// shell passes a terminal of the task's workspace on to a page of the console. Two things keep pages of other sites
// out: the cookie is not sent for them, and their origin is refused. A page that can reach the host gets a ticket for a
// connection of its own, and the host ends that one with this one.
func (a *API) shell(c echo.Context) error {
	r, id := c.Request(), c.Param("id")
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return protocol.Errorf(protocol.CodeInvalid, "This route speaks WebSocket")
	}
	if !a.isOwnOrigin(r) {
		return protocol.Errorf(protocol.CodeForbidden, "Only the console's own pages open terminals")
	}
	host, err := a.Shells.Open(r.Context(), a.Auth.Caller(r.Context()), id, r.Header.Get("Origin"))
	refusal := shownRefusal(err)
	switch {
	case err == nil:
		defer host.End()
	case refusal == nil:
		return err
	}
	page, err := websocket.Accept(c.Response(), r, &websocket.AcceptOptions{
		Subprotocols: []string{protocol.TerminalProtocol}, InsecureSkipVerify: true, // isOwnOrigin has checked it
	})
	if err != nil { // Accept has sent the error response
		return nil
	}
	defer func() { _ = page.CloseNow() }()
	page.SetReadLimit(protocol.MaxTerminalMessage)
	relay := &shellRelay{
		page: page, host: host, check: cmp.Or(a.ShellCheck, shellCheck), allowed: a.stillAllowed(r, a.mayStill(id)),
	}
	ctx := database.WithoutBudget(context.WithoutCancel(r.Context()))
	if refusal != nil {
		relay.refuse(ctx, refusal)
		return nil
	}
	relay.serve(ctx, a.ending())
	return nil
}

// shownRefusal returns the error if the page gets it over the WebSocket, where alone it can read it. nil: the
// response of HTTP is enough.
func shownRefusal(err error) *protocol.Error {
	var known *protocol.Error
	if !errors.As(err, &known) {
		return nil
	}
	switch known.Code {
	case protocol.CodeForbidden, protocol.CodeNotFound, protocol.CodeUnauthorized, protocol.CodeInternal:
		return nil
	default:
		return known
	}
}

// mayStill returns an error when the caller may not have a terminal of the task any more.
func (a *API) mayStill(taskID string) func(context.Context, broker.Caller) error {
	return func(ctx context.Context, now broker.Caller) error {
		_, err := a.Shells.Check(ctx, now, taskID)
		if protocol.CodeOf(err) == protocol.CodeConflict { // archived
			return protocol.Errorf(protocol.CodeGone, "The task is archived")
		}
		return err
	}
}

// isOwnOrigin reports whether a request comes from a page of this broker.
func (a *API) isOwnOrigin(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) != 1 {
		return false
	}
	origin, err := url.Parse(origins[0])
	if err != nil || origin.Host == "" {
		return false
	}
	public, err := url.Parse(a.PublicURL)
	return strings.EqualFold(origin.Host, r.Host) ||
		err == nil && strings.EqualFold(origin.Host, public.Host) && origin.Scheme == public.Scheme
}

// shellRelay copies messages between a page and a host. It keeps at most a message in each direction: a page that reads
// nothing stops the host.
type shellRelay struct {
	page    *websocket.Conn
	host    *broker.OpenShell // nil: none
	check   time.Duration
	allowed func(context.Context) bool
}

// serve copies until one leaves, the user may not have the terminal any more, or the broker stops.
func (s *shellRelay) serve(ctx, ending context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	if s.host.URL != "" && s.notify(ctx, protocol.TerminalNotice{URL: s.host.URL}) != nil {
		cancel()
		return
	}
	left := make(chan struct{})
	leave := sync.OnceFunc(func() { close(left) })
	var copies sync.WaitGroup
	copies.Go(func() {
		defer leave()
		s.copyToHost(ctx)
	})
	copies.Go(func() {
		defer leave()
		s.copyToPage(ctx)
	})
	code, reason := s.wait(ctx, ending, left)
	_ = s.page.Close(code, reason)
	cancel()
	s.host.Close()
	_ = s.page.CloseNow()
	copies.Wait()
}

// wait waits until a terminal is left, and returns what the page gets to know.
func (s *shellRelay) wait(ctx, ending context.Context, left <-chan struct{}) (websocket.StatusCode, string) {
	check, ping := time.NewTicker(s.check), time.NewTicker(shellPing)
	defer check.Stop()
	defer ping.Stop()
	for {
		select {
		case <-left:
			return websocket.StatusNormalClosure, ""
		case <-ending.Done():
			return websocket.StatusGoingAway, "The broker is stopping"
		case <-ping.C:
			if inTime(ctx, s.page.Ping) != nil {
				return websocket.StatusNormalClosure, ""
			}
		case <-check.C:
			if !s.allowed(ctx) {
				s.endShell(ctx)
				return websocket.StatusPolicyViolation, "You may not use this terminal any more"
			}
		}
	}
}

// endShell ends the terminal with its programs.
func (s *shellRelay) endShell(ctx context.Context) {
	request, err := json.Marshal(protocol.TerminalRequest{End: true})
	if err == nil {
		_ = inTime(ctx, func(ctx context.Context) error { return s.host.Write(ctx, false, request) })
	}
}

func (s *shellRelay) notify(ctx context.Context, notice protocol.TerminalNotice) error {
	message, err := json.Marshal(notice)
	if err != nil {
		return err
	}
	return inTime(ctx, func(ctx context.Context) error { return s.page.Write(ctx, websocket.MessageText, message) })
}

// refuse says why there is no terminal.
func (s *shellRelay) refuse(ctx context.Context, known *protocol.Error) {
	_ = s.notify(ctx, protocol.TerminalNotice{Error: &protocol.ErrorBody{
		Error: known.Message, Code: known.Code, Hint: known.Hint,
	}})
	_ = s.page.Close(websocket.StatusNormalClosure, "")
}

func inTime(ctx context.Context, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, shellWrite)
	defer cancel()
	return do(ctx)
}

func (s *shellRelay) copyToHost(ctx context.Context) {
	for {
		kind, message, err := s.page.Read(ctx)
		if err == nil {
			err = inTime(ctx, func(ctx context.Context) error {
				return s.host.Write(ctx, kind == websocket.MessageBinary, message)
			})
		}
		if err != nil {
			return
		}
	}
}

func (s *shellRelay) copyToPage(ctx context.Context) {
	for {
		binary, message, err := s.host.Read(ctx)
		if err == nil {
			kind := websocket.MessageText
			if binary {
				kind = websocket.MessageBinary
			}
			err = inTime(ctx, func(ctx context.Context) error { return s.page.Write(ctx, kind, message) })
		}
		if err != nil {
			return
		}
	}
}
