package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bellhop/agenthost/setup"
	"bellhop/internal/testenv/mockllm"
)

// agentHost is `bellhop host` with real agents, and all that it reaches: their
// model, and a broker that takes every event.
type agentHost struct {
	*hostProcess
	dir   string
	hook  *stub
	model *http.Server
}

// startAgentHost puts a tee before every agent that talks by stdout.
func (b *bench) startAgentHost(ctx context.Context) (h *agentHost, err error) {
	h = &agentHost{}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
		}
	}()
	if h.dir, err = os.MkdirTemp("", "bellhop-bench-agents-"); err != nil {
		return h, err
	}
	if h.hook, err = startStub(ctx); err != nil {
		return h, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return h, err
	}
	h.model = &http.Server{Handler: mockllm.NewServer(time.Millisecond)} //nolint:gosec // on loopback, for its own children
	go func() { _ = h.model.Serve(l) }()
	config, err := h.configure(ctx, b)
	if err != nil {
		return h, err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return h, err
	}
	url := "http://" + l.Addr().String()
	c, err := startChild(b.bellhop, []string{"host"}, []string{
		"BELLHOP_HOST_LISTEN=" + address, "BELLHOP_HOST_PASSWORD=" + hostPassword, "BELLHOP_LOG_LEVEL=warn",
		"BELLHOP_HOST_DATA=" + filepath.Join(h.dir, "data"), "BELLHOP_HOST_CONFIG=" + config, "BELLHOP_AGENTS_DIR=" + b.agents,
		"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=none", "OPENAI_BASE_URL=" + url + "/v1", "OPENAI_API_KEY=none",
		"GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_API_KEY=none",
	}, nil, nil)
	if err != nil {
		return h, err
	}
	h.hostProcess = &hostProcess{peer: &peer{child: c, name: "host"}, url: "http://" + address}
	return h, c.ready(ctx, h.url)
}

// configure writes the host's configuration, and the tees.
func (h *agentHost) configure(ctx context.Context, b *bench) (string, error) {
	cache, err := setup.Open(setup.CacheOptions{Dir: b.agents})
	if err != nil {
		return "", err
	}
	agents := map[string]any{}
	tee := func(name, kind, mark string, command []string) error {
		path, err := h.tee(name, mark, command)
		agents[name] = map[string]any{"kind": kind, "command": []string{path}}
		return err
	}
	err = tee(benchDemo.name, "jsonl", benchDemo.mark.String(), []string{b.bellhop, "agent", "--stdio"})
	for _, name := range []string{"claude", "codex", "gemini"} {
		program, found := cache.Find(ctx, name, setup.Want{})
		if err = errors.Join(err, found); err == nil {
			err = tee(name, name, ticks.String(), program.Command)
		}
	}
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(map[string]any{"agents": agents}) // which is YAML
	path := filepath.Join(h.dir, "host.yaml")
	return path, errors.Join(err, os.WriteFile(path, raw, 0o600))
}

// tee is a program that runs another and stamps its lines.
func (h *agentHost) tee(name, mark string, command []string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	words := append([]string{self, h.dir, mark}, command...)
	for i, word := range words {
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	path := filepath.Join(h.dir, name)
	script := fmt.Sprintf("#!/bin/sh\n%s=tee exec %s \"$@\"\n", roleVariable, strings.Join(words, " "))
	return path, os.WriteFile(path, []byte(script), 0o700) //nolint:gosec // a program
}

func (h *agentHost) close() error {
	var err error
	if h.hostProcess != nil {
		transport.CloseIdleConnections()
		err = h.terminate()
	}
	if h.model != nil {
		err = errors.Join(err, h.model.Close())
	}
	if h.hook != nil {
		err = errors.Join(err, h.hook.close())
	}
	return errors.Join(err, os.RemoveAll(h.dir))
}
