# Kiroku's tasks. `make help` lists them.

SHELL := /bin/sh
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
SERVICES := github.com/kiroku-dev/kiroku/services
SHIM := github.com/kiroku-dev/kiroku/shim
MODULES := proto services shim

BUF_VERSION := v1.75.0
GOLANGCI_LINT_VERSION := v2.15.0
GRPCURL_VERSION := v1.9.3
PROTOC_GEN_GO_VERSION := v1.36.12
PROTOC_GEN_GO_GRPC_VERSION := v1.6.2

export PATH := $(CURDIR)/.bin:$(PATH)
export CGO_ENABLED ?= 0

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- run -------------------------------------------------------------------------------------------------------------

.PHONY: up
up: build stores ## run everything on this machine, in this terminal
	@exec .build/kiroku-server standalone

.PHONY: build
build: ## build the server, the kiroku command and the hook into .build
	@command -v go >/dev/null || { echo "Go is missing: install Go 1.26 or newer from https://go.dev/dl/"; exit 1; }
	@mkdir -p .build
	go build -ldflags "-s -w -X $(SERVICES)/internal/app.version=$(VERSION)" -o .build/ ./services/cmd/kiroku-server
	go build -tags grpcnotrace -ldflags "-s -w -X main.version=$(VERSION)" -o .build/ ./shim/cmd/kiroku
	go build -ldflags "-s -w -X main.version=$(VERSION)" -o .build/ ./shim/cmd/kiroku-hook

.PHONY: stores
stores: ## install Postgres and Redis where the package manager allows it, else say what is missing
	@deploy/stores.sh

.PHONY: demo
demo: build stores ## play recorded sessions through a temporary server and show the context that a colleague gets
	@go run ./services/e2e/demo -bin .build

# --- test ------------------------------------------------------------------------------------------------------------

.PHONY: test
test: .bin/grpcurl ## run all tests, with the race detector, against a real Postgres and Redis
	@deploy/stores.sh test
	CGO_ENABLED=1 go run ./services/internal/testenv/withservers go test -race -count=1 work

.PHONY: test-fast
test-fast: stores .bin/grpcurl ## run all tests without the race detector, from the cache where possible
	go run ./services/internal/testenv/withservers go test work

.PHONY: fuzz
fuzz: ## fuzz every parser for FUZZTIME each
	deploy/fuzz.sh $(or $(FUZZTIME),60s)

.PHONY: bench
bench: build stores ## run the benchmarks and write docs/benchmarks.md
	go run ./services/e2e/bench -bin .build -out docs/benchmarks.md

.PHONY: compose-test
compose-test: build ## bring the compose deployment up, play the demo against it, take it down
	@deploy/compose-test.sh

# --- deployment ------------------------------------------------------------------------------------------------------

.PHONY: secrets
secrets: ## make the secrets of the compose deployment in deploy/secrets
	@deploy/secrets.sh

# --- code ------------------------------------------------------------------------------------------------------------

.PHONY: generate
generate: .bin/buf .bin/protoc-gen-go .bin/protoc-gen-go-grpc ## generate Go from the .proto files
	.bin/buf generate --template proto/buf.gen.yaml

.PHONY: format
format: .bin/buf .bin/golangci-lint ## format the code
	.bin/buf format -w
	for m in $(MODULES); do (cd $$m && ../.bin/golangci-lint fmt ./...) || exit 1; done

.PHONY: lint
lint: .bin/buf .bin/golangci-lint ## lint protos and Go
	.bin/buf lint
	.bin/buf format --diff --exit-code
	for m in $(MODULES); do (cd $$m && ../.bin/golangci-lint run ./...) || exit 1; done

.PHONY: check
check: .bin/buf generate ## check that generated code and modules are fresh and that the contract breaks nobody
	git diff --exit-code -- proto/gen
	for m in $(MODULES); do (cd $$m && GOWORK=off go mod tidy -diff && GOWORK=off go build ./...) || exit 1; done
	deploy/breaking.sh

.PHONY: cross
cross: ## compile for the other systems
	GOOS=darwin GOARCH=arm64 go build -o /dev/null ./services/cmd/kiroku-server
	for os in darwin windows; do GOOS=$$os go build -o /dev/null ./shim/cmd/kiroku && GOOS=$$os go build -o /dev/null ./shim/cmd/kiroku-hook || exit 1; done

.PHONY: tidy
tidy: ## tidy the modules
	for m in $(MODULES); do (cd $$m && GOWORK=off go mod tidy) || exit 1; done

.PHONY: clean
clean: ## remove what was built
	rm -rf .build .bin dist

# --- tools, pinned ---------------------------------------------------------------------------------------------------

.bin/buf:
	@deploy/tool.sh buf github.com/bufbuild/buf/cmd/buf $(BUF_VERSION)
.bin/golangci-lint:
	@deploy/tool.sh golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint $(GOLANGCI_LINT_VERSION)
.bin/grpcurl:
	@deploy/tool.sh grpcurl github.com/fullstorydev/grpcurl/cmd/grpcurl $(GRPCURL_VERSION)
.bin/protoc-gen-go:
	@deploy/tool.sh protoc-gen-go google.golang.org/protobuf/cmd/protoc-gen-go $(PROTOC_GEN_GO_VERSION)
.bin/protoc-gen-go-grpc:
	@deploy/tool.sh protoc-gen-go-grpc google.golang.org/grpc/cmd/protoc-gen-go-grpc $(PROTOC_GEN_GO_GRPC_VERSION)
