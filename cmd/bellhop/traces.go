package main

import (
	"context"
	"errors"
	"time"

	"bellhop/crypto/seal"
	"bellhop/internal/tracing"
)

// tracesFlags are the flags that 'serve' and 'host' share.
type tracesFlags struct {
	TracesURL     string      `name:"traces-url" env:"BELLHOP_TRACES_URL" placeholder:"URL" help:"OpenTelemetry collector that gets traces over OTLP/HTTP, such as http://127.0.0.1:4318. Default: none."`
	TracesRatio   float64     `env:"BELLHOP_TRACES_RATIO" default:"0.01" placeholder:"SHARE" help:"Share of the traces that are exported, 0 to 1 (${default}). Broker and hosts need the same."`
	TracesHeaders seal.Secret `name:"traces-headers-file" env:"BELLHOP_TRACES_HEADERS" secret:"" placeholder:"FILE" help:"File with headers of requests to the collector: NAME=VALUE, comma-separated."`
}

// flushLimit bounds the export of the last traces when a program ends.
const flushLimit = 5 * time.Second

// traced runs a program with the tracer of the flags, and exports the last ones when it ends.
func (f *tracesFlags) traced(env *environment, service string, run func(*tracing.Tracer) error) error {
	tracer, err := tracing.New(env.ctx, tracing.Options{
		URL: f.TracesURL, Headers: f.TracesHeaders, Ratio: f.TracesRatio, Service: service, Version: version, Log: env.log,
	})
	if err != nil {
		return err
	}
	err = run(tracer)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(env.ctx), flushLimit)
	defer cancel()
	return errors.Join(err, tracer.Close(ctx))
}
