package sse

import (
	"context"
	"errors"
	"io"
	"time"
)

// PingInterval is the longest silence of a stream.
const PingInterval = 10 * time.Second

// ServeOptions are the settings of Serve; the zero value is the usual one.
type ServeOptions struct {
	Ping time.Duration // 0 = PingInterval

	// Convert returns what to write in the place of a batch of encoded frames; nil
	// writes them as they are. An error ends Serve.
	Convert func(batch [][]byte) ([][]byte, error)
}

// Serve copies a subscription to a peer, one flush per batch, with pings while
// nothing happens. It returns nil when the Fanout was closed and all is written,
// else ErrSlow, ErrClosed, the write error or the cause of ctx. It closes sub.
func Serve(ctx context.Context, w *Writer, sub *Subscription, opts ServeOptions) error {
	defer sub.Close()
	if opts.Ping <= 0 {
		opts.Ping = PingInterval
	}
	ping := time.NewTimer(opts.Ping)
	defer ping.Stop()
	var reuse [][]byte
	for {
		if ctx.Err() != nil { // also while frames never cease
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
			out := batch
			if opts.Convert != nil {
				if out, err = opts.Convert(batch); err != nil {
					return err
				}
			}
			if len(out) > 0 { // else the peer has heard nothing, and the ping stays due
				if err := w.WriteBatch(out); err != nil {
					return err
				}
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
