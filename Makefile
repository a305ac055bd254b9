# `make` or `make help` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
TOOL    := go tool -modfile=tools.mod
PKGS    := ./...
SEED    ?=
export CGO_ENABLED := 0

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

dev: ## run broker, agent host and demo agent on the embedded database
	go run ./cmd/bellhop dev

setup: ## install what the tests need (PostgreSQL, git), or say what to install
	@scripts/setup

test: setup ## every test, PostgreSQL included, and the short crash test
	go vet $(PKGS)
	go test -count=1 -timeout 14m $(PKGS)

torture: setup ## the long crash test and the catalogue cases at full length (SEED=n repeats one)
	BELLHOP_TORTURE=1 BELLHOP_SEED=$(SEED) go test -count=1 -timeout 80m -v -run 'Crash|Torture' ./internal/e2e/...

race: setup ## the tests under the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -race -count=1 -short -timeout 40m $(PKGS)

fuzz: ## each fuzz target for a short while (scripts/fuzz 2m for longer)
	scripts/fuzz

lint: ## golangci-lint, gofumpt and a tidy go.mod
	$(TOOL) golangci-lint run --timeout 15m
	@out=$$(git ls-files '*.go' | xargs $(TOOL) gofumpt -l); test -z "$$out" || { echo "not gofumpt-ed: $$out"; exit 1; }
	go mod tidy -diff

build: ## one static binary in bin/
	go build -trimpath -ldflags '$(LDFLAGS)' -o bin/bellhop ./cmd/bellhop

bench: setup ## the figures of docs/benchmarks.md
	scripts/bench

check: test lint race build ## all that CI does

.PHONY: help dev setup test torture race fuzz lint build bench check
