# The tasks of pickup. Two are all that a newcomer needs: `make run` and
# `make test`. Everything works on a machine that has Go, make and Debian's
# packages to install from.

GO      ?= go
# msgpack, which gin brings, would cost 6 MB of binary and is not used.
TAGS    := nomsgpack
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
LDFLAGS := -s -w -buildid= -X main.version=$(VERSION)
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.1.4
FUZZTIME ?= 30s

.PHONY: run test test-long lint bench benchmarks fuzz build setup packages clean

## run: serve ./db.json
run:
	$(GO) run -tags $(TAGS) ./cmd/pickup $(ARGS)

## test: every test, with the race detector, in a few minutes
test: setup
	$(GO) test -race -tags $(TAGS) -timeout 15m ./...

## test-long: the same with the full counts of kills, edits, faults and states
test-long: setup
	PICKUP_LONG=1 $(GO) test -race -tags $(TAGS) -timeout 120m -v ./...

## lint: what has to be clean before a commit
lint:
	@files=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	if [ -n "$$files" ]; then echo "gofmt would change:"; echo "$$files"; exit 1; fi
	$(GO) vet -tags $(TAGS) ./...
	GOOS=darwin $(GO) vet -tags $(TAGS) ./filestore ./server ./cmd/pickup
	GOOS=windows $(GO) vet -tags $(TAGS) ./filestore ./server ./cmd/pickup
	$(GO) run $(STATICCHECK) -tags $(TAGS) ./...
	$(GO) mod tidy -diff
	$(GO) mod verify
	GO=$(GO) GOVULNCHECK=$(GOVULNCHECK) TAGS=$(TAGS) .ci/vulnerabilities

## bench: pickup beside its floors and the json-servers, into bench/RESULTS.md,
## in about an hour; BENCH=-quick for a look of a few minutes
BENCH ?= -out bench/RESULTS.md
bench:
	@$(MAKE) --no-print-directory packages TOOLS='wrk:wrk npm:npm'
	$(GO) run ./bench $(BENCH)

## benchmarks: those beside the code, for benchstat; filestore's depend on the disk
COUNT ?= 1
benchmarks:
	$(GO) test -tags $(TAGS) -run '^$$' -bench . -benchmem -count $(COUNT) ./...

## fuzz: every fuzzer for FUZZTIME (30s)
fuzz:
	@for pkg in $$($(GO) list -tags $(TAGS) ./...); do \
		for target in $$($(GO) test -tags $(TAGS) -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "$$pkg $$target"; \
			$(GO) test -tags $(TAGS) -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
		done; \
	done

## build: one static binary, bin/pickup; two builds of one commit are the same
build:
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -tags $(TAGS) -ldflags '$(LDFLAGS)' -o bin/pickup ./cmd/pickup

# What the tests run beside Go, as command:package. The race detector needs a
# C compiler, the walk-throughs curl, the file's tests real editors, mounts and
# file systems, the rules for pages a real browser, a container's base image a
# shell.
TOOLS := gcc:gcc gcc:libc6-dev curl:curl git:git unshare:util-linux mount:mount mkfs.ext4:e2fsprogs mkfs.xfs:xfsprogs mkfs.btrfs:btrfs-progs ps:procps sed:sed vim:vim nano:nano chromium:chromium busybox:busybox-static node:nodejs npm:npm

setup: packages
	@for d in $(CLIENTS); do (cd $$d && { [ node_modules -nt package-lock.json ] || { npm ci --ignore-scripts --no-audit --no-fund && touch node_modules; }; }) || exit 1; done

# Clients that tests run against the server, and programs that read its OpenAPI
# document, as npm has them.
CLIENTS := server/testdata/clients-json-server server/testdata/clients/openapi

packages:
	@PATH="$$PATH:/usr/sbin:/sbin"; missing=$$(for t in $(TOOLS); do command -v $${t%%:*} >/dev/null || echo $${t##*:}; done); \
	if [ -z "$$missing" ]; then exit 0; fi; \
	echo "the tests need:" $$missing; \
	if ! command -v apt-get >/dev/null; then echo "install them with the system's package manager" >&2; exit 1; fi; \
	sudo=; if [ "$$(id -u)" != 0 ]; then sudo=sudo; fi; \
	$$sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y -qq --no-install-recommends $$missing

clean:
	rm -rf bin
