package wsline

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"bellhop/protocol"
)

// Times are the time limits of a connection; a zero field gets the default in its comment.
type Times struct {
	Ping  time.Duration // between pings: 30 s
	Pong  time.Duration // until a pong must arrive: 10 s
	Write time.Duration // for one line: 10 s
}

func (t Times) withDefaults() Times {
	for _, d := range []struct {
		value *time.Duration
		is    time.Duration
	}{{&t.Ping, 30 * time.Second}, {&t.Pong, 10 * time.Second}, {&t.Write, 10 * time.Second}} {
		if *d.value <= 0 {
			*d.value = d.is
		}
	}
	return t
}

// closing is the close frame that ends a connection.
type closing struct {
	code   websocket.StatusCode
	reason string
}

func (c *closing) Error() string { return c.reason }

// errLeft means that the connection is unusable, even for a close frame.
var errLeft = errors.New("the client has left")

// Serve sends a watcher's lines to a client and passes the client's lines to handle, until one
// side or ctx ends, and closes the connection. handle is called with one text message at a
// time; it must not block or keep the bytes. The caller must call Leave.
func Serve(ctx context.Context, conn *websocket.Conn, w *Watcher, times Times, handle func(raw []byte)) {
	times = times.withDefaults()
	conn.SetReadLimit(protocol.MaxLine)
	alive, cancel := context.WithCancelCause(ctx)
	read := make(chan struct{})
	go func() {
		defer close(read)
		cancel(receive(alive, conn, handle))
	}()
	cause := deliver(alive, conn, w, times)
	if cause == nil {
		cause = context.Cause(alive)
	}
	var frame *closing
	switch {
	case errors.As(cause, &frame):
	case ctx.Err() != nil:
		frame = &closing{websocket.StatusGoingAway, "the server stops"}
	}
	if frame != nil {
		_ = conn.Close(frame.code, frame.reason)
	}
	_ = conn.CloseNow()
	cancel(errLeft)
	<-read
}

// receive reads lines until that fails and returns why.
func receive(ctx context.Context, conn *websocket.Conn, handle func([]byte)) error {
	for {
		// A cancelled read would close the connection without a close frame, so ctx is not
		// used.
		kind, raw, err := conn.Read(context.WithoutCancel(ctx))
		switch {
		case err != nil:
			return errLeft
		case kind != websocket.MessageText:
			return &closing{websocket.StatusUnsupportedData, "lines are text messages"}
		case !utf8.Valid(raw):
			return &closing{websocket.StatusInvalidFramePayloadData, "a line is UTF-8"}
		}
		handle(raw)
	}
}

// deliver writes lines until the watcher ends, a write fails or ctx ends.
func deliver(ctx context.Context, conn *websocket.Conn, w *Watcher, times Times) error {
	ping := time.NewTicker(times.Ping)
	defer ping.Stop()
	pongs := make(chan error, 1)
	waiting := false
	for {
		for {
			line, ended := w.take()
			if ended {
				return &closing{w.code, w.reason}
			}
			if line == nil {
				break
			}
			if err := write(conn, line, times.Write); err != nil {
				return errLeft
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-w.wake:
		case <-ping.C:
			if waiting {
				continue
			}
			waiting = true
			go func() {
				limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), times.Pong)
				defer cancel()
				pongs <- conn.Ping(limited)
			}()
		case err := <-pongs:
			waiting = false
			if err != nil {
				return errLeft // a peer without pongs would not answer a close frame either
			}
		}
	}
}

func write(conn *websocket.Conn, line []byte, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return conn.Write(ctx, websocket.MessageText, line)
}
