package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"bellhop/internal/process"
)

const (
	// roleVariable makes this binary one of the other processes of a scenario: a role,
	// whose methods the run calls over stdin and stdout (net/rpc).
	roleVariable    = "BELLHOP_BENCH_ROLE"
	profileVariable = "BELLHOP_BENCH_PROFILE" // folder for the profiles of a role
)

// life is what roles have in common: a context that ends with the role, and
// goroutines that end with the context.
type life struct {
	ctx     context.Context
	running errgroup.Group
}

// span returns after d, or at the end of ctx. Rates and spreads are measured over a
// time, so there is no condition to wait for.
func span(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// await waits until count returns equal numbers, but no longer than patience.
func (l *life) await(what string, count func() (have, want int64)) error {
	ctx, cancel := context.WithTimeout(l.ctx, patience)
	defer cancel()
	have, want := count()
	err := poll(ctx, func() bool {
		have, want = count()
		return have >= want
	})
	if err != nil {
		return fmt.Errorf("%s: %d of %d: %w", what, have, want, err)
	}
	return nil
}

var roles = map[string]func(*life) any{
	"broker":    func(l *life) any { return &brokerRole{l} },
	"host":      func(l *life) any { return &hostRole{l} },
	"load":      func(*life) any { return &loadRole{} },
	"readers":   func(l *life) any { return &readersRole{life: l} },
	"receivers": func(l *life) any { return &receiversRole{life: l, release: make(chan struct{})} },
}

// patience is how long the run and its roles wait for a condition.
const patience = time.Minute

// duplex connects the run and a role.
type duplex struct {
	io.Reader
	io.Writer
	io.Closer
}

// playRole serves a role's methods until ctx or stdin ends.
func playRole(ctx context.Context, name string, stdin io.Reader, stdout io.Writer) error {
	play := roles[name]
	if play == nil {
		return fmt.Errorf("%s: there is no role %q", roleVariable, name)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l, server := &life{ctx: ctx}, rpc.NewServer()
	if err := server.RegisterName("Role", play(l)); err != nil {
		return err
	}
	go func() {
		defer cancel()
		server.ServeConn(duplex{stdin, stdout, io.NopCloser(stdin)})
	}()
	<-ctx.Done()
	return l.running.Wait()
}

// serve runs a server until the role ends, with a CPU profile if there is a folder
// for it.
func (l *life) serve(name string, run func(context.Context) error) error {
	profile, err := createProfile(name)
	if err == nil && profile != nil {
		err = pprof.StartCPUProfile(profile)
	}
	if err != nil {
		return err
	}
	l.running.Go(func() error {
		err := run(l.ctx)
		if l.ctx.Err() == nil { // such as an address in use: the run notices that the role has ended
			_, _ = fmt.Fprintln(os.Stderr, name+" ended by itself:", err)
			os.Exit(1)
		}
		if profile != nil {
			pprof.StopCPUProfile()
			err = errors.Join(err, profile.Close())
		}
		return err
	})
	return nil
}

// createProfile returns nil if no profile is wanted.
func createProfile(name string) (*os.File, error) {
	folder := os.Getenv(profileVariable)
	if folder == "" {
		return nil, nil
	}
	return os.Create(filepath.Join(folder, fmt.Sprintf("%s-%d.pprof", name, os.Getpid())))
}

// peer is a process in a role.
type peer struct {
	*child
	calls *rpc.Client
}

func (r *run) role(name string) *peer {
	c := r.child([]string{must(os.Executable())}, roleVariable+"="+name, profileVariable+"="+r.profile)
	c.name = name
	return &peer{child: c, calls: rpc.NewClient(duplex{c.Stdout(), c.Stdin(), c.Stdin()})}
}

// do calls a method of the role that has no result.
func (p *peer) do(method string, with any) { ask[bool](p, method, with) }

// ask calls a method of the role.
func ask[R any](p *peer, method string, with any) (out R) {
	if err := p.calls.Call("Role."+method, with, &out); err != nil {
		check(p.failed(fmt.Errorf("%s: %w", method, err)))
	}
	return out
}

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
