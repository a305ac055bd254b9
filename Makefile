# `make` or `make help` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
TOOL    := go tool -modfile=tools.mod
PKGS    := ./...
SEED    ?=
TORTURE ?= bellhop-torture
FUZZTIME ?= 10m
# Kept between runs, because the agents' programs take a gigabyte and never change.
AGENTS  ?= $(or $(BELLHOP_AGENTS_DIR),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/bellhop/agents)
export CGO_ENABLED := 0

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

dev: console ## build the console if needed, then run broker, agent host and demo agent (ARGS='--agent opencode')
	go run ./cmd/bellhop dev $(ARGS)

# The sources of the console; it is rebuilt when one of them is newer.
CONSOLE := $(shell find web/src web/public web/client/src web/index.html web/vite.config.ts web/scripts -type f 2>/dev/null)

web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	@scripts/node
	cd web && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

web/client/node_modules/.package-lock.json: web/client/package.json web/client/package-lock.json
	@scripts/node
	cd web/client && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

internal/bench/reference/node_modules/.package-lock.json: internal/bench/reference/package.json internal/bench/reference/package-lock.json
	@scripts/node
	cd internal/bench/reference && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

reference: internal/bench/reference/node_modules/.package-lock.json ## install the packages of the Node broker that benchmarks measure beside

web/dist/index.html: web/node_modules/.package-lock.json $(CONSOLE)
	cd web && npm run build --silent

console: web/dist/index.html ## build the console into web/dist, which "make build" embeds

console-dev: web/node_modules/.package-lock.json ## Vite with hot reload, against a running broker (BELLHOP_URL)
	cd web && npm run dev

generate: ## write the generated files again: TypeScript contract, OpenAPI documents, Python client
	go generate ./protocol ./internal/app/apitable ./internal/pygen

setup: ## install what the tests need (PostgreSQL, git), or print what to install
	@scripts/setup

test: test-web test-go ## every test, PostgreSQL and a browser included, and the short crash test

test-go: setup reference console web/client/node_modules/.package-lock.json
	go vet $(PKGS)
	go test -count=1 -timeout 25m ./internal/e2e $(PKGS) # the longest first: the others run beside it

test-web: setup console web/client/node_modules/.package-lock.json ## the console, the TypeScript client, and both in a browser
	$(MAKE) -j2 --output-sync=target check-web test-client
	cd web && npm run e2e --silent

check-web:
	cd web && npm run check --silent

test-client:
	cd web/client && npm test --silent

test-agents: setup build web/client/node_modules/.package-lock.json ## the real agents with a scripted model, and a story in the browser (installs the agents from the npm registry first)
	bin/bellhop agents install --dir '$(AGENTS)' --all
	BELLHOP_AGENTS_DIR='$(AGENTS)' go test -tags agents -count=1 -p 2 -timeout 40m ./agenthost/local/... ./agenthost/provider/... $(if $(wildcard internal/e2e/agents),./internal/e2e/agents/...)
	cd web && BELLHOP_AGENTS_DIR='$(AGENTS)' BELLHOP_E2E_BINARY='$(CURDIR)/bin/bellhop' npm run e2e-agents --silent

test-long: setup ## a part of the tests at full length, at most an hour each; continues if interrupted (PART=name, SEED=n; without PART it lists them)
	@SEED='$(SEED)' scripts/test-long $(PART)

torture: setup ## the proof: 50 rounds of faults on real processes; continues where it stopped (SEED=n, TORTURE=DIR, ARGS)
	go build -trimpath -ldflags '$(LDFLAGS)' -o bin/bellhop-torture ./cmd/bellhop
	bin/bellhop-torture torture --dir '$(TORTURE)' $(if $(SEED),--seed $(SEED)) $(ARGS)

# The detector makes a process some ten times slower, and finds races only where goroutines meet. Of the tests that
# start whole processes it therefore gets those with many clients at once; "make test" runs all. The other lines are
# of packages that read the source or work through cases, in one goroutine: the agent host's tests call the policy from many.
# agent/model and agent/mcpclient need the libraries of three models' makers, which take minutes to compile for it.
RACE_WHOLE := bellhop/internal/e2e bellhop/internal/torture bellhop/cmd/bellhop \
	bellhop/internal/doccheck bellhop/internal/layering \
	bellhop/internal/licenses bellhop/internal/wiregen bellhop/internal/explore bellhop/internal/torture/check \
	bellhop/agenthost/workspace bellhop/notebook/store \
	bellhop/policy bellhop/conformance bellhop/migrations bellhop/internal/archive bellhop/internal/reseal \
	bellhop/internal/bench bellhop/notebook/verify \
	bellhop/notebook/verify/treesitter bellhop/notebook/verify/gostd \
	bellhop/agent/model bellhop/agent/mcpclient \
	bellhop/openapi bellhop/internal/apidoc bellhop/internal/pygen bellhop/internal/app/apitable \
	bellhop/internal/site bellhop/internal/release \
	bellhop/broker/store bellhop/broker/api
RACE_E2E   := CrashOfEitherSide|Replicas|RelayedStream|SIGTERM|CutAnywhere
# Of the workspaces, whose tests mostly wait for git, those with sessions that begin at the same time.
RACE_GIT   := AtOnce|Concurrent|RestoredGitDirectory
# Of the database's queries and the broker's routes, of which most tests send one request after the other.
RACE_STORE := AtOnce|Concurrent|Shar|Leave|GivesUp|Replicas|Restarts|Interruption|EndsOnce
RACE_API   := AtOnce|Outlives|Relay|Terminal|Feed|Stream|Cursor

race: setup ## the tests under the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -race -count=1 -short -p 3 -timeout 30m $(filter-out $(RACE_WHOLE),$(shell go list $(PKGS)))
	CGO_ENABLED=1 go test -race -count=1 -short -timeout 20m -run '$(RACE_E2E)' ./internal/e2e
	CGO_ENABLED=1 go test -race -count=1 -short -timeout 5m -run '$(RACE_GIT)' ./agenthost/workspace
	CGO_ENABLED=1 go test -race -count=1 -short -timeout 10m -run '$(RACE_STORE)' ./broker/store
	CGO_ENABLED=1 go test -race -count=1 -short -timeout 10m -run '$(RACE_API)' ./broker/api

fuzz: web/client/node_modules/.package-lock.json ## each fuzz target for 20 seconds
	scripts/fuzz

fuzz-long: web/client/node_modules/.package-lock.json ## each fuzz target for 10 minutes (FUZZTIME=1m for less)
	scripts/fuzz $(FUZZTIME)

vulncheck: ## known vulnerabilities of the modules; says so if their database cannot be reached
	scripts/vulncheck

lint: ## golangci-lint, gofumpt and a tidy go.mod
	$(TOOL) golangci-lint run --timeout 15m
	@out=$$(git ls-files '*.go' | xargs $(TOOL) gofumpt -l); test -z "$$out" || { echo "not gofumpt-ed: $$out"; exit 1; }
	go mod tidy -diff
	@out=$$(git ls-files -z | xargs -0 wc -c | awk '$$1 > 1048576 && $$2 != "total" && $$2 !~ /\.wasm/ { print $$2 }'); \
		test -z "$$out" || { echo "too large to commit, build output?: $$out"; exit 1; }

site: ## the documentation as a web site in dist/site, without network
	go run ./internal/site/build -o dist/site

build: console ## one static binary in bin/, console included
	go build -trimpath -ldflags '$(LDFLAGS)' -o bin/bellhop ./cmd/bellhop

release: console web/client/node_modules/.package-lock.json ## everything that is published of the commit, in dist (RELEASE_KEY_FILE=, RELEASE_URL=)
	go run ./cmd/bellhop-release $(ARGS)

release-check: console web/client/node_modules/.package-lock.json ## as root: build the commit twice and compare, upgrade a machine to it, serve a turn of a real agent
	@scripts/setup release
	go run ./cmd/bellhop agents install --dir '$(AGENTS)' opencode
	BELLHOP_AGENTS_DIR='$(AGENTS)' go test -tags release -count=1 -timeout 60m -v -run TestARelease ./internal/release

bench: setup reference ## measure the figures of docs/benchmarks.md
	scripts/bench

bench-agents: build ## measure what the host adds to real agents: latency, start, memory
	bin/bellhop agents install --dir '$(AGENTS)'
	BELLHOP_AGENTS_DIR='$(AGENTS)' scripts/bench-agents

bench-web: build ## measure frame times, heap and time to the first text in a real browser
	cd web && npm run bench --silent

check: test test-agents lint race build ## run everything that CI runs

.PHONY: help dev reference console console-dev generate setup test test-go test-web check-web test-client test-agents test-long torture race fuzz fuzz-long vulncheck lint site build release release-check bench bench-agents bench-web check
