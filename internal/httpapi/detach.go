package httpapi

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/labstack/echo/v4"
)

// Streams are the responses of a server that continue after their handlers have returned, on
// connections that were taken from net/http. http.Server.Shutdown knows nothing of them. The zero
// value has none.
type Streams struct {
	mu   sync.Mutex
	open map[*Stream]struct{}
	idle chan struct{} // closed when no stream is open; nil while none waits for that
}

// Stream is a response that continues after its handler. All its functions are required.
type Stream struct {
	Write func() int64 // writes the rest of the response and returns its bytes
	End   func()       // completes the response after Write and closes the connection
	Abort func()       // closes the connection, which ends Write
}

const streamKey = "bellhop.stream"

// Detach makes the response continue in a goroutine of its own once the handler and its middleware
// have returned. The request is logged and observed after Write and before End, as the requests
// of handlers are. Write must not use c or the request's context, which have ended by then.
func (s *Streams) Detach(c echo.Context, stream *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[*Stream]struct{}{}
	}
	s.open[stream] = struct{}{}
	c.Set(streamKey, func(finished func(written int64, err error)) {
		defer s.leave(stream)
		defer stream.End()
		finished(stream.write())
	})
}

// write calls Write. A panic closes the connection and is returned as an error.
func (s *Stream) write() (written int64, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.Abort()
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return s.Write(), nil
}

func (s *Streams) leave(stream *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.open, stream); len(s.open) == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}

// Shutdown waits until no stream is open. When ctx ends it closes the connections of the
// open streams, and waits for them. Call it after http.Server.Shutdown, when no handler runs.
func (s *Streams) Shutdown(ctx context.Context) {
	idle := s.untilIdle()
	select {
	case <-idle:
		return
	case <-ctx.Done():
	}
	s.mu.Lock()
	for stream := range s.open {
		stream.Abort()
	}
	s.mu.Unlock()
	<-idle
}

func (s *Streams) untilIdle() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	if len(s.open) == 0 {
		close(idle)
		s.idle = nil
	}
	return idle
}

// detached returns the function that writes the rest of the response, nil if the handler wrote all
// of it. The function calls finished after Write.
func detached(c echo.Context) func(finished func(written int64, err error)) {
	rest, _ := c.Get(streamKey).(func(finished func(written int64, err error)))
	return rest
}
