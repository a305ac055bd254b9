package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
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
	isRole  bool // it ends when its stdin is closed
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
	if c.isRole {
		_ = c.Stdin().Close()
		select {
		case <-c.Done():
		case <-time.After(stopLimit):
		}
	}
	if err := c.Stop(context.Background(), stopLimit); err != nil {
		return err
	}
	if err := c.Wait(); err != nil {
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
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for !answers(ctx, url+"/readyz") {
		select {
		case <-c.Done():
			check(c.failed(fmt.Errorf("ended at once: %w", c.Wait())))
		case <-ctx.Done():
			check(c.failed(fmt.Errorf("is not ready: %w", ctx.Err())))
		case <-poll.C:
		}
	}
}

func answers(ctx context.Context, url string) bool {
	body, err := request(ctx, http.MethodGet, url, "", nil)
	return err == nil && body.Close() == nil
}

// transport is used by this process only.
var transport = &http.Transport{MaxIdleConnsPerHost: 64}

func listen(ctx context.Context) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
}

// freeAddress returns an address on which no program listens at present.
func freeAddress(ctx context.Context) string {
	l := must(listen(ctx))
	check(l.Close())
	return l.Addr().String()
}

// serve runs a handler in this process and returns its URL.
func (r *run) serve(h http.Handler) string {
	l := must(listen(r.ctx))
	server, serving := &http.Server{Handler: h}, sync.WaitGroup{} //nolint:gosec // on loopback, for the run's own children
	serving.Go(func() { _ = server.Serve(l) })
	r.onClose(func() error {
		defer serving.Wait()
		return server.Close()
	})
	return "http://" + l.Addr().String()
}
