package sse

import (
	"context"
	"errors"
	"io"
	"time"

	"bellhop/protocol"
)

// PingInterval is the longest time without bytes on a stream.
const PingInterval = protocol.PingInterval

// ServeOptions are the settings of Serve; the zero value selects the defaults.
type ServeOptions struct {
	Ping time.Duration // 0 = PingInterval

	// Convert returns the bytes to write for a batch of encoded frames; nil writes them
	// unchanged. An error ends Serve.
	Convert func(batch [][]byte) ([][]byte, error)
}

// write writes a batch, converted if need be. wrote is false if nothing was left to write.
func (o *ServeOptions) write(w *Writer, batch [][]byte) (wrote bool, err error) {
	if o.Convert != nil {
		if batch, err = o.Convert(batch); err != nil {
			return false, err
		}
	}
	if len(batch) == 0 {
		return false, nil
	}
	return true, w.WriteBatch(batch)
}

// Serve writes a subscription to a peer, one flush per batch, and pings while it is idle. It
// returns nil when the Fanout was closed and everything was written, otherwise ErrSlow,
// ErrClosed, ErrLeft, the write error or the cause of ctx. It closes sub.
func Serve(ctx context.Context, w *Writer, sub *Subscription, opts ServeOptions) error {
	defer sub.Close()
	if opts.Ping <= 0 {
		opts.Ping = PingInterval
	}
	if w.Taken() {
		return w.serve(ctx, sub, opts)
	}
	ping := time.NewTimer(opts.Ping)
	defer ping.Stop()
	var reuse [][]byte
	for {
		if ctx.Err() != nil { // checked here too, as frames may arrive without a pause
			return context.Cause(ctx)
		}
		batch, err := sub.swap(reuse)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(batch) > 0 {
			wrote, err := opts.write(w, batch)
			if err != nil {
				return err
			}
			if wrote { // otherwise the ping stays due
				ping.Reset(opts.Ping)
			}
			reuse = spare(batch)
			continue
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-sub.wake:
		case <-ping.C:
			if err := w.Write(Ping); err != nil {
				return err
			}
			ping.Reset(opts.Ping)
		}
	}
}
