package opencode

import (
	"errors"
	"net/http"
)

// sent is the request with a turn's prompt. OpenCode answers it when it has done all that
// the prompt asks for, so until then the prompt runs, or has still to begin.
type sent struct {
	answer chan struct{} // closed by the answer, or by the end of the connection
	err    error         // nil, a *statusError, or why there is no answer; read it after answer
}

// send sends a prompt or a command to the session. The turn arrives as events.
func (p *program) send(id, path string, body any) *sent {
	s := &sent{answer: make(chan struct{})}
	p.stream.Go(func() {
		defer close(s.answer)
		// Only the end of the program ends the request: OpenCode may do what it asks for without its client.
		s.err = p.client.exchange(p.stopped, http.MethodPost, sessionPath(id, path), body, nil)
	})
	return s
}

// answered reports whether there is an answer, or none to come.
func (s *sent) answered() bool {
	select {
	case <-s.answer:
		return true
	default:
		return false
	}
}

// lost reports whether the connection ended before the answer: what OpenCode does with the prompt
// is not known.
func (s *sent) lost() bool {
	var refused *statusError
	return s.answered() && s.err != nil && !errors.As(s.err, &refused)
}
