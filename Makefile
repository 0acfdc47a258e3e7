# Start with `make run` and `make test`. Every target works with Go, make and,
# on Debian, apt-get, which installs what else is missing.

GO      ?= go
# Leaves out Gin's msgpack codec, which pickup does not use: 6 MB of binary.
TAGS    := nomsgpack
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GORELEASER  := github.com/goreleaser/goreleaser/v2@v2.13.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.8.0
ACTIONLINT  := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
FUZZTIME ?= 30s
# All, those that take longest first, so that the last ones to end are short.
PACKAGES := ./internal/system/page ./server ./filestore ./internal/system ./internal/database \
	./internal/tools/release ./etcdstore ./filestore/document ./internal/fake ./...
# Many tests wait for servers, browsers and clusters, so more of them run than there
# are processors.
AT_ONCE := -p 3 -parallel 4
# A pattern of names; all by default.
RUN :=
# Hashing passwords takes ten times as long with the race detector, which finds
# nothing there.
RACE    := -race -gcflags=golang.org/x/crypto/...=-race=false

.PHONY: run test test-long test-windows lint bench benchmarks fuzz build release module publish setup packages page page-dev clean

## run: serve ./db.json (ARGS="--no-auth --port 4000")
run:
	$(GO) run ./cmd/pickup $(ARGS)

## test: run all tests with the race detector, in about ten minutes on two processors
## (PACKAGES="./server" RUN=TestScripts for some of them)
test: setup
	$(GO) test $(RACE) -tags $(TAGS) $(AT_ONCE) -timeout 30m -run '$(RUN)' $(PACKAGES)

## test-long: run them with the full counts of kills, edits, faults and power cuts
test-long: setup
	@$(MAKE) --no-print-directory packages TOOLS='qemu-aarch64-static:qemu-user-static'
	PICKUP_LONG=1 $(GO) test $(RACE) -tags $(TAGS) -timeout 120m -v $(PACKAGES)

## test-windows: run tests of the program for Windows with Wine, in less than ten minutes
## (WINDOWS=long: all that can hold there)
WINE := /usr/lib/wine/wine64:wine64 x86_64-w64-mingw32-gcc:gcc-mingw-w64-x86-64
test-windows:
	@$(MAKE) --no-print-directory packages TOOLS='$(WINE)'
	GO=$(GO) TAGS=$(TAGS) .ci/test-windows $(WINDOWS)

## lint: check formatting, vet, staticcheck, workflows, modules and known vulnerabilities
lint:
	@files=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	if [ -n "$$files" ]; then echo "gofmt would change:"; echo "$$files"; exit 1; fi
	$(GO) vet -tags $(TAGS) ./...
	$(GO) vet -tags $(TAGS),nomcp ./server ./cmd/pickup
	GOOS=darwin $(GO) vet -tags $(TAGS) ./etcdstore/... ./filestore/... ./server/... ./internal/... ./cmd/...
	GOOS=windows $(GO) vet -tags $(TAGS) ./etcdstore/... ./filestore/... ./server/... ./internal/... ./cmd/...
	GOOS=freebsd $(GO) vet -tags $(TAGS) ./etcdstore/... ./filestore/... ./server/... ./internal/... ./cmd/...
	$(GO) run $(STATICCHECK) -tags $(TAGS) ./...
	$(GO) run $(ACTIONLINT) -shellcheck= .github/workflows/*.yml
	$(GO) mod tidy -diff
	$(GO) mod verify
	GO=$(GO) GOVULNCHECK=$(GOVULNCHECK) TAGS=$(TAGS) .ci/vulnerabilities

## bench: compare pickup with its floors, json-servers, PocketBase and Mockoon, and write
## internal/tools/bench/RESULTS.md; takes less than half an hour, BENCH=-quick a few minutes
BENCH ?= -out internal/tools/bench/RESULTS.md
bench:
	@$(MAKE) --no-print-directory packages TOOLS='wrk:wrk node:nodejs npm:npm chromium-headless-shell:chromium-headless-shell etcd:etcd-server'
	$(GO) run ./internal/tools/bench $(BENCH)

## benchmarks: run the Go benchmarks (COUNT=10 for benchstat); those of filestore depend on the disk
COUNT ?= 1
benchmarks:
	$(GO) test -tags $(TAGS) -run '^$$' -bench . -benchmem -count $(COUNT) ./...

## fuzz: run each fuzzer for FUZZTIME
fuzz:
	@for pkg in $$($(GO) list -tags $(TAGS) ./...); do \
		for target in $$($(GO) test -tags $(TAGS) -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "$$pkg $$target"; \
			$(GO) test -tags $(TAGS) -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
		done; \
	done

## build: build bin/pickup for this machine, with what "make run" has compiled;
## static binaries are those of make release
build:
	$(GO) build -ldflags '-s -w -X main.version=$(VERSION)' -o bin/pickup ./cmd/pickup

## release: build archives, packages for Linux and npm, and the rest of a release
## into dist/ (OWNER=name URL=address)
OWNER ?= example
URL   ?= https://example.com/pickup
# A clone may have no remote, and GoReleaser wants to know its address.
release: export GIT_CONFIG_COUNT = 1
release: export GIT_CONFIG_KEY_0 = remote.origin.url
release: export GIT_CONFIG_VALUE_0 = $(URL)
release: export OWNER := $(OWNER)
release: export URL := $(URL)
release:
	$(GO) run $(GORELEASER) release --snapshot --clean
	$(GO) run ./internal/tools/release npm

## module: write a copy with another address of the module to DIR (ADDRESS=github.com/name/pickup)
DIR ?= build/module
module:
	$(GO) run ./internal/tools/release module "$(ADDRESS)" "$(DIR)"

## publish: build and sign a release of the tagged commit, and print how to publish it
## (OWNER=name; DRY_RUN=0 publishes it)
DRY_RUN ?= 1
publish: URL = https://github.com/$(OWNER)/pickup
publish:
	@[ "$(OWNER)" != example ] || { echo "set OWNER to the account that publishes: OWNER=name make publish" >&2; exit 1; }
	OWNER=$(OWNER) URL=$(URL) DRY_RUN=$(DRY_RUN) $(GO) run ./internal/tools/release publish

## page: bundle the page at /_/ after a change of server/page/src
page:
	@$(MAKE) --no-print-directory setup CLIENTS=server/page TOOLS=npm:npm
	$(GO) run ./server/page/build
	@$(GO) test -tags $(TAGS) ./server/page/build

## page-dev: serve the page at http://127.0.0.1:3001/_/, bundled when src is saved, in front of make run
SERVER ?= http://127.0.0.1:3000
page-dev:
	$(GO) run ./server/page/build -dev $(SERVER)

# Programs that the tests run, as command:package. The race detector needs a C
# compiler; the walk-throughs need curl and git; the tests of files need real
# editors and mounts; those of power cuts, file systems; those of CORS and of
# pages, a browser; those of streams, a proxy; those of containers, a shell; those of
# clusters, etcd; those of releases, what installs packages. The pictures of the page
# have a font, which is a file.
TOOLS := gcc:gcc gcc:libc6-dev curl:curl git:git node:nodejs npm:npm \
	unshare:util-linux mount:mount ps:procps script:bsdutils sed:sed vim:vim nano:nano \
	mkfs.ext4:e2fsprogs mkfs.xfs:xfsprogs mkfs.btrfs:btrfs-progs \
	chromium-headless-shell:chromium-headless-shell firefox-esr:firefox-esr nginx:nginx-light busybox:busybox-static dpkg:dpkg rpm:rpm systemd-analyze:systemd \
	etcd:etcd-server etcdctl:etcd-client ip:iproute2 /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf:fonts-dejavu-core

setup: packages
	@for d in $(CLIENTS); do (cd $$d && { [ node_modules -nt package-lock.json ] || { npm ci --ignore-scripts --no-audit --no-fund && touch node_modules; }; }) || exit 1; done

# npm packages: clients of json-server, tools that read OpenAPI documents, examples.
CLIENTS := server/testdata/clients-json-server server/testdata/clients/openapi examples/react-admin examples/refine examples/playwright examples/vite examples/vitest examples/react examples/agents server/page

packages:
	@PATH="$$PATH:/usr/sbin:/sbin"; missing=$$(for t in $(TOOLS); do command -v $${t%%:*} >/dev/null || [ -e $${t%%:*} ] || echo $${t##*:}; done); \
	if [ -z "$$missing" ]; then exit 0; fi; \
	echo "the tests need:" $$missing; \
	if ! command -v apt-get >/dev/null; then echo "install them with the system's package manager" >&2; exit 1; fi; \
	sudo=; if [ "$$(id -u)" != 0 ]; then sudo=sudo; fi; \
	$$sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y -qq --no-install-recommends $$missing

clean:
	rm -rf bin build dist
