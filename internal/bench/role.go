package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// roleVariable makes this binary one of the other processes of a benchmark.
const roleVariable = "BELLHOP_BENCH_ROLE"

// order is a line on a role's stdin, reply the line that answers it.
type order struct {
	Do   string          `json:"do"`
	With json.RawMessage `json:"with,omitempty"`
}

type reply struct {
	Error string `json:"error,omitempty"`
	Value any    `json:"value,omitempty"`
}

// role answers orders until there are no more.
type role interface {
	obey(ctx context.Context, do string, with json.RawMessage) (any, error)
	close() error
}

func playRole(ctx context.Context, name string, stdin io.Reader, stdout io.Writer) (err error) {
	var r role
	switch name {
	case "broker":
		return playBroker(ctx, stdin)
	case "host":
		r = &hostRole{}
	case "load":
		r = &loadRole{}
	case "readers":
		r = newReadersRole()
	case "receivers":
		r = newReceiversRole()
	default:
		return fmt.Errorf("%s: there is no role %q", roleVariable, name)
	}
	defer func() { err = errors.Join(err, r.close()) }()
	in, out := json.NewDecoder(stdin), json.NewEncoder(stdout)
	for {
		var o order
		if err := in.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var answer reply
		if answer.Value, err = r.obey(ctx, o.Do, o.With); err != nil {
			answer.Error = err.Error()
		}
		if err := out.Encode(answer); err != nil {
			return err
		}
	}
}

// peer is a process in a role.
type peer struct {
	*child
	name string
	in   io.WriteCloser
	enc  *json.Encoder
	dec  *json.Decoder
}

func startRole(name string, env ...string) (*peer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, stdin.Close(), in.Close())
	}
	c, err := startChild(self, nil, append(env, roleVariable+"="+name), stdin, stdout)
	err = errors.Join(err, stdin.Close(), stdout.Close())
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	return &peer{child: c, name: name, in: in, enc: json.NewEncoder(in), dec: json.NewDecoder(out)}, nil
}

// order has the peer do something. out may be nil.
func (p *peer) order(do string, with, out any) error {
	raw, err := json.Marshal(with)
	if err != nil {
		return err
	}
	if err := p.enc.Encode(order{Do: do, With: raw}); err != nil {
		return fmt.Errorf("%s: %w\n%s", p.name, err, p.output())
	}
	var answer struct {
		Error string
		Value json.RawMessage
	}
	if err := p.dec.Decode(&answer); err != nil {
		return fmt.Errorf("%s: %s: %w\n%s", p.name, do, err, p.output())
	}
	if answer.Error != "" {
		return fmt.Errorf("%s: %s: %s", p.name, do, answer.Error)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer.Value, out)
}

// stop has the role end in order.
func (p *peer) stop() error { return errors.Join(p.in.Close(), p.wait()) }
