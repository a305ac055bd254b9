package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// barePosts sends requests like a delivery's, some at a time, without a queue, a
// signature or a log, and returns how many were answered in a second.
func barePosts(ctx context.Context, urls []string, atATime int, span time.Duration) (float64, error) {
	body := []byte(`{"type":"turn.finished","data":"` + strings.Repeat("x", 320) + `"}`)
	var answered atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	start := time.Now()
	for c := range atATime {
		group.Go(func() error {
			for i := c; time.Since(start) < span; i += atATime {
				if err := barePost(ctx, urls[i%len(urls)], body); err != nil {
					return err
				}
				answered.Add(1)
			}
			return nil
		})
	}
	err := group.Wait()
	return float64(answered.Load()) / time.Since(start).Seconds(), err
}

func barePost(ctx context.Context, url string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close() // read to its end
	return err
}
