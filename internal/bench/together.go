package main

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// together calls f for 0 to n-1, some at a time; the first error ends it.
func together(ctx context.Context, n, atATime int, f func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(n, atATime) {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := f(ctx, i); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}
