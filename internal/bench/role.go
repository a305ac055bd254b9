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

	"bellhop/internal/process"
)

// roleVariable makes this binary one of the other processes of a scenario: a role,
// whose methods the run calls over stdin and stdout (net/rpc).
const roleVariable = "BELLHOP_BENCH_ROLE"

type role interface{ close() error }

var roles = map[string]func() role{
	"broker":    func() role { return &brokerRole{} },
	"host":      func() role { return &hostRole{} },
	"load":      func() role { return &loadRole{} },
	"readers":   func() role { return newReadersRole() },
	"receivers": func() role { return newReceiversRole() },
}

// playRole serves a role's methods until stdin ends.
func playRole(name string, stdin io.Reader, stdout io.Writer) error {
	play := roles[name]
	if play == nil {
		return fmt.Errorf("%s: there is no role %q", roleVariable, name)
	}
	r, server := play(), rpc.NewServer()
	if err := server.RegisterName("Role", r); err != nil {
		return err
	}
	server.ServeConn(stdio{stdin, stdout})
	return r.close()
}

type stdio struct {
	io.Reader
	io.Writer
}

func (stdio) Close() error { return nil }

// pipes connects the run to a role's stdin and stdout.
type pipes struct{ *process.Process }

func (p pipes) Read(b []byte) (int, error)  { return p.Stdout().Read(b) }
func (p pipes) Write(b []byte) (int, error) { return p.Stdin().Write(b) }
func (p pipes) Close() error                { return p.Stdin().Close() }

// peer is a process in a role.
type peer struct {
	*child
	calls *rpc.Client
}

func (r *run) role(name string) *peer {
	c := r.child([]string{must(os.Executable())}, roleVariable+"="+name)
	c.name, c.isRole = name, true
	return &peer{child: c, calls: rpc.NewClient(pipes{c.Process})}
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

// service is a server that runs in a role until the role ends.
type service struct{ stop func() error }

func (s *service) close() error {
	if s.stop == nil {
		return nil
	}
	return s.stop()
}

// start runs f, with a CPU profile in a folder unless it is "".
func (s *service) start(name, profiles string, f func(context.Context) error) (err error) {
	var profile *os.File
	if profiles != "" {
		if profile, err = os.Create(filepath.Join(profiles, fmt.Sprintf("%s-%d.pprof", name, os.Getpid()))); err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(profile); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		err := f(ctx)
		if ctx.Err() == nil { // such as an address in use: the run notices that the role has ended
			_, _ = fmt.Fprintln(os.Stderr, name+" ended by itself:", err)
			os.Exit(1)
		}
		done <- err
	}()
	s.stop = func() error {
		cancel()
		err := <-done
		if profile != nil {
			pprof.StopCPUProfile()
			err = errors.Join(err, profile.Close())
		}
		return err
	}
	return nil
}
