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
CORPUS  ?= $(or $(BELLHOP_CORPUS),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/bellhop/corpus)
export CGO_ENABLED := 0
# Without the folder of the checkout in what is compiled, all clones share one build cache.
export GOFLAGS := -trimpath $(filter-out -trimpath,$(GOFLAGS))
# Test binaries need no debugger, whose tables are 40 % of what a link costs. "vet" runs once, for all.
GOTEST  := go test -ldflags="-s -w" -vet=off -timeout 25m
# What tests start: one program with fail points for e2e, torture, cmd/bellhop, the agents and the browsers.
PROGRAM := $(CURDIR)/bin/test/bellhop
export BELLHOP_TEST_BINARY ?= $(PROGRAM)
# Packages that start this program or work on the machine itself. Go's cache of results does not know what these
# read, so they run always.
STARTS  := ./internal/e2e ./internal/torture ./cmd/bellhop ./agenthost/sandbox ./internal/licenses
OTHERS   = $(filter-out $(STARTS:./%=bellhop/%),$(shell go list $(PKGS)))

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

# What every lane of the tests needs.
ready: setup console reference web/client/node_modules/.package-lock.json program

# Go's tests: those that start the program beside all others. Five packages at once leave no core idle; with more, each
# waits for the others so long that the product's own limits of time end what a test does.
define go-tests
@$(GOTEST) -count=1 -p 2 $(1) $(STARTS) & starts=$$!; $(GOTEST) -p 3 $(1) $(OTHERS) || failed=1; wait $$starts && test -z "$$failed"
endef

test: ready ## every package's tests and the core of the stories, PostgreSQL and a browser included
	$(MAKE) -j2 test-go test-web-core

test-go: ready
	go vet $(PKGS)
	$(call go-tests)

test-web-core: ready check-web
	cd web/client && npm run test-core --silent
	cd web && npm run e2e-core --silent

# Of the checks before the stories each tool has one thread for most of its time.
test-web: ready ## the console, the TypeScript client, and all stories in Chromium and Firefox
	$(MAKE) -j2 check-web test-client
	cd web && npm run e2e --silent

program: console # the program that tests start; its time changes only when its content does
	@mkdir -p $(dir $(PROGRAM))
	go build -buildvcs=false -ldflags '-s -w -X main.version=test' -tags failpoints -o $(PROGRAM).new ./cmd/bellhop
	@cmp -s $(PROGRAM).new $(PROGRAM) || cp $(PROGRAM).new $(PROGRAM)

check-web: web/node_modules/.package-lock.json
	cd web && npm run check --silent

test-client: web/client/node_modules/.package-lock.json # its core, and the packages and examples that are built of it
	cd web/client && npm test --silent

test-agents: ready ## the real agents with a scripted model, and a story in the browser (installs the agents from the npm registry first)
	$(PROGRAM) agents install --dir '$(AGENTS)' --all
	BELLHOP_AGENTS_DIR='$(AGENTS)' $(GOTEST) -tags agents -count=1 -p 2 ./agenthost/local/... ./agenthost/provider/... $(if $(wildcard internal/e2e/agents),./internal/e2e/agents/...)
	cd web && BELLHOP_AGENTS_DIR='$(AGENTS)' npm run e2e-agents --silent

test-long: setup ## a part of the tests at full length, at most an hour each; continues if interrupted (PART=name, SEED=n; without PART it lists them)
	@SEED='$(SEED)' scripts/test-long $(PART)

corpus: ## fetch the real files that the part "corpus" of test-long checks, from the registries of Go, npm and Debian, into the cache
	go run ./notebook/verify/corpus '$(CORPUS)'

torture: setup ## the proof: 50 rounds of faults on real processes; continues where it stopped (SEED=n, TORTURE=DIR, ARGS)
	go build -trimpath -ldflags '$(LDFLAGS)' -o bin/bellhop-torture ./cmd/bellhop
	bin/bellhop-torture torture --dir '$(TORTURE)' $(if $(SEED),--seed $(SEED)) $(ARGS)

# The detector makes a process some ten times slower, and finds races only where goroutines meet. So it gets the packages
# whose goroutines share something, by name, and of the four large ones in which most tests work in one goroutine those
# tests that do not.
RACE := ./agent/... ./agenthost ./agenthost/activity ./agenthost/api ./agenthost/delivery ./agenthost/headless \
	./agenthost/journal ./agenthost/local ./agenthost/provider/... ./agenthost/recording ./agenthost/setup \
	./agenthost/stream ./agenthost/terminal ./agenthost/usershell ./broker ./broker/feed ./broker/hosts ./client \
	./internal/app ./internal/database ./internal/egress ./internal/failpoint ./internal/generations ./internal/httpapi \
	./internal/jsonlines ./internal/mcpserver ./internal/metrics ./internal/observe ./internal/probe ./internal/process \
	./internal/servers ./internal/sse ./internal/testenv/faultproxy ./internal/testenv/mockllm ./internal/tracing \
	./internal/wsline ./notebook ./notebook/mcp ./webhook/inbound ./webhook/outbound ./webhook/outbound/notification
# Many clients at once.
RACE_E2E   := CrashOfEitherSide|Replicas|RelayedStream|SIGTERM|CutAnywhere
# Sessions that begin at the same time.
RACE_GIT   := AtOnce|Concurrent|RestoredGitDirectory
# Of the database's queries and the broker's routes, of which most tests send one request after the other.
RACE_STORE := AtOnce|Concurrent|Shar|Leave|GivesUp|Replicas|Restarts|Interruption|EndsOnce
RACE_API   := AtOnce|Outlives|Relay|Terminal|Feed|Stream|Cursor
RACE_TEST  := CGO_ENABLED=1 go test -race -short -ldflags="-s -w" -vet=off -timeout 30m

# The packages beside the named tests, of which those of e2e wait for processes.
race: ready ## the tests in which goroutines meet, under the race detector (needs a C compiler)
	@$(RACE_TEST) -p 2 $(RACE) & packages=$$!; { \
	$(RACE_TEST) -count=1 -tags full -run '$(RACE_E2E)' ./internal/e2e && \
	$(RACE_TEST) -run '$(RACE_GIT)' ./agenthost/workspace && \
	$(RACE_TEST) -run '$(RACE_STORE)' ./broker/store && \
	$(RACE_TEST) -run '$(RACE_API)' ./broker/api; } || failed=1; wait $$packages && test -z "$$failed"

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

# Browsers fill both cores. Beside Go's tests, which wait for processes and timers, run the linters and the agents' programs.
check: ready ## everything that CI runs: all tests on both databases, agents, lint, race detector, release build
	$(MAKE) test-web
	$(MAKE) -j2 check-go check-agents
	$(MAKE) build
	bin/bellhop version
	bin/bellhop sbom >/dev/null
	$(MAKE) vulncheck

check-go: export BELLHOP_DATABASES := both
check-go: ready
	$(call go-tests,-tags full)
	$(MAKE) race

check-agents: ready
	$(MAKE) lint
	$(MAKE) test-agents

.PHONY: help dev reference console console-dev generate setup ready program test test-go test-web test-web-core check-web test-client test-agents test-long corpus torture race fuzz fuzz-long vulncheck lint site build release release-check bench bench-agents bench-web check check-go check-agents
