package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bellhop/agenthost/setup"
	known "bellhop/internal/app/agents"
	"bellhop/internal/testenv/mockllm"
)

// agentHost is `bellhop host` with real agents on a scripted model. A stub receives
// the host's events.
type agentHost struct {
	*run
	*hostProcess
	dir  string
	hook string // of a stub
}

func (r *run) agentHost() *agentHost {
	h := &agentHost{run: r, dir: r.dir(), hook: r.stub().hook}
	model, address := r.serve(mockllm.NewServer(time.Millisecond)), freeAddress(r.ctx)
	c := r.child([]string{r.bellhop, "host"},
		"BELLHOP_HOST_LISTEN="+address, "BELLHOP_HOST_PASSWORD="+hostPassword, "BELLHOP_LOG_LEVEL=warn",
		"BELLHOP_HOST_DATA="+r.dir(), "BELLHOP_HOST_CONFIG="+h.configure(), "BELLHOP_AGENTS_DIR="+r.agents,
		"ANTHROPIC_BASE_URL="+model, "ANTHROPIC_API_KEY=none", "OPENAI_BASE_URL="+model+"/v1", "OPENAI_API_KEY=none",
		"GOOGLE_GEMINI_BASE_URL="+model, "GEMINI_API_KEY=none")
	h.hostProcess = &hostProcess{peer: &peer{child: c}, url: "http://" + address}
	h.ready(r.ctx, h.url)
	return h
}

// configure writes the host's configuration, with a tee before every agent that
// writes to stdout.
func (h *agentHost) configure() string {
	cache := must(known.OpenCache(h.agents))
	configured := map[string]any{}
	tee := func(a subject, kind string, command []string) {
		configured[a.name] = map[string]any{"kind": kind, "command": []string{h.tee(a, command)}}
	}
	tee(demo, "jsonl", []string{h.bellhop, "agent", "--stdio"})
	for _, a := range []subject{claude, codex, gemini} {
		tee(a, a.name, must(cache.Find(h.ctx, a.name, setup.Want{})).Command)
	}
	path := filepath.Join(h.dir, "host.yaml")
	sandbox := map[string][]string{"read": {must(os.Executable()), h.bellhop}, "write": {h.dir}}                   // for the tees
	check(os.WriteFile(path, must(json.Marshal(map[string]any{"agents": configured, "sandbox": sandbox})), 0o600)) // JSON is YAML
	return path
}

// tee writes a program that runs an agent's command and stamps its lines.
func (h *agentHost) tee(a subject, command []string) string {
	words := append([]string{must(os.Executable()), h.dir, a.mark.String()}, command...)
	for i, word := range words {
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	path := filepath.Join(h.dir, a.name)
	script := fmt.Sprintf("#!/bin/sh\n%s=tee exec %s \"$@\"\n", roleVariable, strings.Join(words, " "))
	check(os.WriteFile(path, []byte(script), 0o700)) //nolint:gosec // a program
	return path
}
