package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bellhop/internal/process"
)

const (
	startLimit = 60 * time.Second
	stopLimit  = 20 * time.Second
)

// child is a process that ends with the run at the latest.
type child struct {
	*process.Process
	name    string
	stopped bool
}

func (r *run) child(args []string, env ...string) *child {
	c := &child{name: filepath.Base(args[0])}
	c.Process = must(process.Start(process.Command{Args: args, Env: append(os.Environ(), env...)}))
	r.onClose(c.stop)
	return c
}

// stop ends the child; a second call does nothing.
func (c *child) stop() error {
	if c.stopped {
		return nil
	}
	c.stopped = true
	defer c.Stdout().Close()
	err := c.Stop(context.Background(), stopLimit)
	if err == nil {
		err = c.Wait()
	}
	if err != nil {
		return c.failed(err)
	}
	return nil
}

func (c *child) failed(err error) error {
	return fmt.Errorf("%s: %w\n%s", c.name, err, strings.Join(c.Tail(), "\n"))
}

// ready waits for a server's /readyz.
func (c *child) ready(ctx context.Context, url string) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	err := poll(ctx, func() bool {
		select {
		case <-c.Done():
			check(c.failed(fmt.Errorf("ended at once: %w", c.Wait())))
		default:
		}
		return answers(ctx, url+"/readyz")
	})
	if err != nil {
		check(c.failed(fmt.Errorf("is not ready: %w", err)))
	}
}

// poll returns when done is true, or the error of ctx.
func poll(ctx context.Context, done func() bool) error {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return nil
}
