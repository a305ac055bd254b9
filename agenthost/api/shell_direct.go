package api

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/protocol"
)

// ticketLife is for how long a ticket is accepted.
const ticketLife = 30 * time.Second

// directShell shows a terminal to a page that can reach the host: its output does not pass the broker. The page has a
// ticket from its broker's connection (shell), which still decides: with it this connection ends. If this one ends
// first, the broker's shows the terminal again.
func (a *API) directShell(c echo.Context) error {
	if !isWebSocket(c) {
		return protocol.Errorf(protocol.CodeInvalid, "This route speaks WebSocket")
	}
	view := a.newShellView(c.Param("id"))
	view.origin = onlyHeader(c.Request(), echo.HeaderOrigin)
	if !a.tickets.expects(view, a.now()) {
		return &protocol.Error{
			Code: protocol.CodeUnauthorized, Message: "No page of this origin is expected",
			Hint: "Pages get a ticket from their broker, and use it within 30 seconds",
		}
	}
	if !view.accept(c, true) {
		return nil
	}
	defer view.close()
	if err := view.takeOver(c.Request().Context()); err != nil {
		view.refuse(err)
		return nil
	}
	defer context.AfterFunc(view.main.gone, view.close)()
	view.serve(view.giveBack)
	return nil
}

// takeOver shows the terminal of a ticket here, and no longer on the broker's connection.
func (v *shellView) takeOver(ctx context.Context) error {
	request, err := v.hello(ctx)
	if err != nil {
		return err
	}
	main := v.api.tickets.redeem(request.Ticket, v, v.api.now())
	if main == nil {
		return protocol.Errorf(protocol.CodeUnauthorized, "The ticket is unknown, used or expired")
	}
	v.main, v.shell = main, main.shell
	return v.shell.Move(main, v)
}

// giveBack shows the terminal on the broker's connection again.
func (v *shellView) giveBack() {
	if v.shell.Move(v, v.main) != nil {
		v.shell.Hide(v)
	}
}

// shellTickets let pages connect to terminals by themselves. The zero value is ready.
type shellTickets struct {
	mu     sync.Mutex
	byHash map[[sha256.Size]byte]shellTicket
}

type shellTicket struct {
	main    *shellView
	expires time.Time
}

// holds reports whether a ticket is for a page that connects as view.
func (t shellTicket) holds(view *shellView, now time.Time) bool {
	return t.main.session == view.session && t.main.origin == view.origin && now.Before(t.expires)
}

// issue returns a ticket for the page of a broker's connection. It ends with the connection.
func (s *shellTickets) issue(main *shellView, now time.Time) string {
	ticket := rand.Text()
	hash := sha256.Sum256([]byte(ticket))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byHash == nil {
		s.byHash = map[[sha256.Size]byte]shellTicket{}
	}
	s.byHash[hash] = shellTicket{main, now.Add(ticketLife)}
	context.AfterFunc(main.gone, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.byHash, hash)
	})
	return ticket
}

// expects reports whether any ticket would let a page connect. Other pages get no connection.
func (s *shellTickets) expects(view *shellView, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ticket := range s.byHash {
		if ticket.holds(view, now) {
			return true
		}
	}
	return false
}

// redeem uses a ticket, and returns the broker's connection; nil: the ticket lets this page not connect.
func (s *shellTickets) redeem(ticket string, view *shellView, now time.Time) *shellView {
	hash := sha256.Sum256([]byte(ticket))
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.byHash[hash]
	if !ok || !found.holds(view, now) {
		return nil
	}
	delete(s.byHash, hash)
	return found.main
}
