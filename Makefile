# make alone prints what there is. Tools are pinned here, built once into
# .tools, and never installed for the whole machine; redis-server, prometheus,
# luacheck and a C compiler (for the race detector) come from apt when absent.

GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
K6       := go.k6.io/k6@v1.8.1
VALE     := github.com/vale-cli/vale/v3/cmd/vale@v3.21.0
TFLINT   := github.com/terraform-linters/tflint@v0.64.0
CADDY    := github.com/caddyserver/caddy/v2/cmd/caddy@v2.11.9
HELM3    := helm.sh/helm/v3/cmd/helm@v3.22.0
HELM4    := helm.sh/helm/v4/cmd/helm@v4.3.1
KUBE_APISERVER := k8s.io/kubernetes/cmd/kube-apiserver@v1.36.3
WORKERD  := workerd@1.20261117.1
FRAMEWORKS := esbuild@0.28.2,react@19.3.1,react-dom@19.3.1,vue@3.5.45

# Packages in which goroutines meet: their tests run with the race detector.
RACED := ./lua ./internal/embedded ./internal/zones ./internal/guard ./internal/limits/limiter \
	./internal/watch ./internal/sweeper ./internal/schedule ./cmd/queue-server

# The property tests of the stores.
PROPERTY := ^(TestModel|TestFailOver|TestSpends|TestLimitsModel)$$

GO      ?= go
BENCH   ?= .
FUZZFOR ?= 30s

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

##@ Try it

.PHONY: run
run: build ## start a server on the embedded store, with the zone TEST_ZONE to try
	@room=$${QUEUE_ADDR:-:8080} console=$${QUEUE_ADMIN_ADDR:-127.0.0.1:8081} data=$${QUEUE_DATA_DIR:-./data}; \
	sed -e "s|@ROOM@|http://$$([[ $$room != :* ]] || echo 127.0.0.1)$$room|" -e "s|@CONSOLE@|http://$$([[ $$console != :* ]] || echo 127.0.0.1)$$console|" -e "s|@DATA@|$$data|" deploy/dev/welcome.txt
	@exec bin/queue-server serve --config deploy/dev/zones.yaml

.PHONY: site
site: build ## a small shop in the browser, with the waiting room before it, and a crowd
	@scripts/install-debian.sh node curl
	@exec scripts/site.sh

.PHONY: build
build: ## build the one static binary, bin/queue-server
	@CGO_ENABLED=0 $(GO) build -trimpath -ldflags "$$(scripts/version.sh flags)" -o bin/queue-server ./cmd/queue-server

##@ Check it

.PHONY: check
check: format lint lint-lua test e2e ## the one word: format, lint, tests, and the product from outside

# What is only tested is compiled without the profile: with it, all packages and the
# standard library are compiled once more for queue-server alone. What is shipped
# (build, release, image) and what is measured (bench) has it.
lint test e2e faults generate: export GOFLAGS += -pgo=off

# Property tests draw the same values on every run, so that one commit is always green or always red. RAPID_SEED=0 draws
# others.
test: export RAPID_SEED ?= 1

# A package may take 30 minutes: on a slow, loaded machine the race detector takes longer than the ten that go test gives.
TESTFLAGS := -vet=off -shuffle=on -timeout 30m

# One group after the other runs, whatever is red in the one before: the race detector is where goroutines meet, and not in
# the property tests of the stores, which make one call after the other and would take four times as long.
.PHONY: test
test: ## run the tests of the server and its packages, in random order, with a real Redis
	@scripts/install-debian.sh redis-server gcc
	@red=0; all=$$($(GO) list ./... | grep -vxF "$$($(GO) list $(RACED))"); \
	$(GO) test $(TESTFLAGS) $$all || red=1; \
	$(GO) test $(TESTFLAGS) -race -skip '$(PROPERTY)' $(RACED) || red=1; \
	$(GO) test $(TESTFLAGS) -run '$(PROPERTY)' ./lua ./internal/embedded || red=1; \
	exit $$red

.PHONY: e2e
e2e: alerts ## test the product from outside: processes, browsers, gateways, faults, alerts, clients, packages
	@scripts/install-debian.sh redis-server chromium prometheus openssl python3 systemd-analyze dpkg-deb git jq nginx haproxy apache2 node npm tsc php php-fpm javac python3-cryptography python3-jwt etcd buildah podman
	@scripts/go-tool.sh $(CADDY) >/dev/null
	@scripts/go-tool.sh $(K6) >/dev/null
	@scripts/go-tool.sh $(HELM3) >/dev/null
	@scripts/go-tool.sh $(HELM4) >/dev/null
	@scripts/go-tool.sh $(KUBE_APISERVER) >/dev/null
	@scripts/npm-tool.sh $(WORKERD) workerd >/dev/null
	@scripts/npm-tool.sh $(FRAMEWORKS) esbuild >/dev/null
	cd e2e && $(GO) test -p 1 -count=1 -vet=off -timeout 30m ./...

.PHONY: faults
faults: ## the faults alone, with the table of what the crowd saw (VISITORS=100000: the storm, the sale and the cap at full size; ONLY=TestStorm)
	@scripts/install-debian.sh redis-server prometheus nginx
	@mkdir -p bin/e2e && rm -f bin/e2e/faults.md
	cd e2e && VISITORS=$(VISITORS) $(GO) test -count=1 -vet=off -timeout 60m $(addprefix -run ,$(ONLY)) ./fault -args -table "$(CURDIR)/bin/e2e/faults.md"
	@cat bin/e2e/faults.md

.PHONY: alerts
alerts: ## check the rules of deploy/prometheus, and that each alert fires when it must, and not else
	@scripts/install-debian.sh promtool
	cd deploy/prometheus && promtool check config prometheus.yml && promtool check rules redis.rules.yml && promtool test rules alert.test.yml redis.test.yml

.PHONY: terraform
terraform: ## lint deploy/terraform
	cd deploy/terraform && "$$(../../scripts/go-tool.sh $(TFLINT))" --recursive --config="$$PWD/.tflint.hcl"
	@if command -v terraform >/dev/null; then terraform fmt -check -recursive -diff deploy/terraform; fi

.PHONY: format
format: ## fail if a file is not formatted
	"$$(scripts/go-tool.sh $(GOLANGCI))" fmt --diff

.PHONY: lint
lint: lint-docs ## run the linters of .golangci.yml; govet is all of go vet; and those of the pages
	"$$(scripts/go-tool.sh $(GOLANGCI))" run
	cd e2e && "$$(../scripts/go-tool.sh $(GOLANGCI))" run

.PHONY: lint-docs
lint-docs: ## check words and spelling of all pages by the rules of .vale
	@scripts/install-debian.sh gcc
	find . \( -name '.?*' -o -path ./bin -o -path ./dist \) -prune -o -name '*.md' -print | xargs "$$(scripts/go-tool.sh $(VALE))" --no-global

.PHONY: lint-lua
lint-lua: ## run luacheck on the scripts, as Redis gets them
	@scripts/install-debian.sh luacheck
	scripts/lint-lua.sh

.PHONY: fuzz
fuzz: ## run every fuzz target for 30 s (FUZZFOR=5m for longer)
	scripts/fuzz.sh $(FUZZFOR)

.PHONY: pictures
pictures: ## take the pictures of console and waiting page anew, into docs/img (look at them)
	@scripts/install-debian.sh chromium fonts
	cd e2e && $(GO) test -count=1 -tags pictures -run TestPictures ./browser

##@ Measure it

.PHONY: bench
bench: build ## measure beside a bare echo handler, and ten million on one Redis; prints a table (QUICK=1 for a short look; ONLY=line, million)
	@scripts/install-debian.sh redis-server
	@$(GO) build -o bin/queue-bench ./cmd/queue-bench
	@exec bin/queue-bench $(if $(QUICK),--quick) $(addprefix --only=,$(ONLY))

.PHONY: bench-gateways
bench-gateways: ## pages a second through nginx, Caddy and the server itself, with and without the gate, side by side
	@cd e2e && $(GO) test ./gateway -run '^$$' -bench Gateways -benchtime 20s -timeout 30m

.PHONY: microbench
microbench: ## run the Go benchmarks, for benchstat to compare (QUICK=1 for a short look, BENCH=Allow for some)
	@scripts/bench.sh '$(BENCH)'

.PHONY: pgo
pgo: build ## take anew the profile that the compiler optimises with
	@scripts/install-debian.sh redis-server
	@scripts/pgo.sh

.PHONY: loadtest
loadtest: ## six crowds on both stores, judged (ONLY=burst STORE=redis SIZE=2; ONLY=event; STORY=file judges what k6 wrote elsewhere)
	@scripts/install-debian.sh redis-server
	@cd e2e && LOADTEST_ONLY="$(or $(ONLY),burst,surge,leavers,tunnel,impatient,fault)" LOADTEST_STORE="$(STORE)" LOADTEST_SIZE="$(SIZE)" \
		LOADTEST_STORY="$(abspath $(STORY))" \
		$(GO) test -count=1 -v -timeout 60m -run '$(if $(STORY),TestStory,TestCrowds)' ./loadtest

##@ Ship it

.PHONY: release
release: ## build dist: binaries, Debian, npm and Maven packages, chart, image, bills of materials, checksums; the same bytes each time
	@scripts/install-debian.sh jq git npm javac buildah
	@scripts/release.sh dist

.PHONY: release-twice
release-twice: ## build the release of this commit in two folders, and compare the bytes (minutes)
	@scripts/install-debian.sh jq git npm javac buildah
	@scripts/release-twice.sh dist

.PHONY: package-test
package-test: ## install, start, stop, upgrade, remove and purge the package in a clean Debian (as root)
	@scripts/install-debian.sh debootstrap lintian dpkg-deb jq curl ss git npm javac buildah
	@scripts/release.sh bin/package
	@scripts/package-test.sh bin/package

.PHONY: image
image: ## build the container image for amd64 and arm64, bin/queue-server.oci.tar
	@scripts/install-debian.sh buildah git
	@scripts/image.sh bin/queue-server.oci.tar

##@ Upkeep

.PHONY: generate
generate: ## write what is made from tables: parts of API descriptions and pages (tests see what is stale)
	$(GO) test -count=1 -vet=off -run Generated ./internal/openapi -args -write
	$(GO) test -count=1 -vet=off -run Generated ./cmd/queue-server -args -write

.PHONY: fmt
fmt: ## format all files
	"$$(scripts/go-tool.sh $(GOLANGCI))" fmt

.PHONY: tools
tools: ## build the pinned tools now, rather than on first use
	@scripts/go-tool.sh $(GOLANGCI)
	@scripts/go-tool.sh $(K6)
	@scripts/go-tool.sh $(CADDY)

.PHONY: clean
clean: ## remove what was built; data and tools stay
	rm -rf bin dist coverage.*
	$(GO) clean -testcache

.PHONY: help
help: ## print this
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
