SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# A Go that was unpacked to the usual place but is not on PATH.
export PATH := $(PATH):/usr/local/go/bin
export GOFLAGS := $(filter-out -buildvcs=%,$(GOFLAGS)) -buildvcs=false
export CGO_ENABLED := 1
# A program with the race detector waits a second at its end for reports of other threads: the tests start thousands.
export GORACE := $(strip atexit_sleep_ms=0 $(GORACE))

VERSION  ?= $(shell scripts/version.sh)
FUZZTIME ?= 4s
LONGTIME ?= 10m
LDFLAGS  := -X main.version=$(VERSION)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## install what is missing, then take a tour through psql
	@scripts/setup.sh demo
	@scripts/demo.sh

.PHONY: run
run: ## install what is missing, then keep a private Postgres and the proxy running
	@scripts/setup.sh demo
	@$(MAKE) --no-print-directory build
	@exec bin/mbusproxy dev

.PHONY: build
build: ## build bin/mbusproxy
	go build -ldflags '$(LDFLAGS)' -o bin/mbusproxy ./cmd/mbusproxy

.PHONY: package
package: ## .deb and .rpm of this machine's architecture, in dist
	scripts/package.sh

.PHONY: image
image: ## a container image from scratch, with buildah, podman or docker
	scripts/image.sh

.PHONY: setup
setup: ## install what the tests need
	@scripts/setup.sh test

# Not from the cache, which does not see that the proxy is a program of its own. Package proxy comes
# first, for it takes longest.
.PHONY: test
test: setup ## everything: vet, all tests with the race detector and real clients, short fuzz runs
	TMPDIR=$$(scripts/tmpdir.sh) go test -race -vet=all -count=1 -timeout 60m ./proxy ./...
	scripts/fuzz.sh $(FUZZTIME)

# One after another: what measures memory must not have others beside it.
.PHONY: test-long
test-long: setup ## what takes too long for test: random and model tests for LONGTIME each, gigabytes, faults everywhere
	MBUS_LONG=1 go test -count=1 -timeout 60m -v -run 'TestManyCallsTime' ./internal/rewriter
	MBUS_LONG=1 go test -count=1 -timeout 60m -v -run 'TestAttacks|TestParserAttacks' ./integration/security
	MBUS_LONG=1 go test -race -count=1 -timeout 60m -v -run 'TestLong' ./integration/ops
	MBUS_LONG=1 go test -race -count=1 -timeout 60m -v -run 'TestFunction' ./integration/calls
	scripts/setup.sh package
	MBUS_LONG=1 go test -count=1 -timeout 30m -v ./packaging
	MBUS_LONG=1 go test -race -count=1 -timeout 60m -v -run 'TestFaults|Storm|TestBigMessages|TestSlowClient|TestMinors|TestFloods|TestRandomSequences' ./proxy
	MBUS_LONG=1 go test -race -count=1 -timeout 30m -v -run 'TestAuthentication' ./integration/clients
	MBUS_LONG=1 go test -race -count=1 -timeout 60m -v -run 'TestFaults|TestHandover' ./integration/ops
	MBUS_LONG=1 go test -race -count=1 -timeout 60m -v -run 'TestFairParsing|TestLongNames|TestSelectorEvaluates' ./integration/security
	MBUS_LONG=1 go test -race -count=1 -timeout 30m -v -run 'TestUnnamedAgain' ./integration/statements
	MBUS_LONG=1 go test -race -count=1 -timeout 30m -v -run 'TestLook|TestOddValues' ./integration/web
	MBUS_LONG=1 go test -count=1 -timeout 30m -v -run TestPlansInStates ./bench/scale
	MBUS_RANDOM_TIME=$(LONGTIME) MBUS_LONG=1 go test -count=1 -timeout 90m -v -run 'TestRandom|TestStack' ./rewrite/parse
	MBUS_RANDOM_TIME=$(LONGTIME) go test -race -count=1 -timeout 60m -v -run 'TestRandom' ./proxy
	MBUS_RANDOM_TIME=$(LONGTIME) go test -race -count=1 -timeout 60m -v -run 'TestRandom' ./integration/wire
	MBUS_RANDOM_TIME=$(LONGTIME) go test -race -count=1 -timeout 60m -v -run 'TestRandom' ./selector
	MBUS_MODEL_TIME=$(LONGTIME) go test -race -count=1 -timeout 60m -v -run 'Model' ./integration/model

.PHONY: race
race: ## the tests of all packages but integration, with the race detector
	go test -race -timeout 20m $$(go list ./... | grep -v /integration)

.PHONY: integration
integration: setup ## the tests with real clients, direct and through the proxy
	go test -race -count=1 -timeout 20m -v ./integration/...

.PHONY: golden
golden: ## write the golden files anew; look at the difference before you commit
	go test ./rewrite ./internal/explain ./internal/rewriter -run Golden -update

.PHONY: test-versions
test-versions: setup ## the tests that need a server, against Postgres 15, 16, 17 and 18
	scripts/versions.sh

.PHONY: fuzz
fuzz: ## every fuzzer for FUZZTIME each (default 4s)
	scripts/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: ## measure against direct connections and pgbouncer; writes docs/bench.md
	@scripts/setup.sh bench
	go run ./bench

.PHONY: bench-scale
bench-scale: ## measure calls beside and in what others have left; writes docs/scale.md
	@scripts/setup.sh bench
	go run ./bench/scale

.PHONY: bench-steady
bench-steady: ## measure half an hour under a held snapshot, beside PgQ; writes docs/steady.md
	@scripts/setup.sh steady
	go run ./bench/steady

.PHONY: lint
lint: ## golangci-lint (installed on demand)
	scripts/lint.sh run ./...

.PHONY: fmt
fmt: ## format all Go files with gofumpt
	scripts/lint.sh fmt ./...

.PHONY: clean
clean: ## remove what was built
	rm -rf bin dist .cache
