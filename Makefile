# `make` lists the targets. All of them work on a fresh clone: what they need, they set up.

.DEFAULT_GOAL := help
# Cargo uses every core by itself; targets run one after another, so that what they print stays readable.
.NOTPARALLEL:

POLICY := consistent-pull-policy
WASM_TARGET := wasm32-unknown-unknown
TARGET_DIR := $(abspath $(or $(CARGO_TARGET_DIR),target))
XTASK := $(TARGET_DIR)/xtask/xtask

# The host that annotates the module and runs it in the end-to-end tests: the embedded one, or the
# real one with `make e2e-tests KWCTL=kwctl`.
KWCTL ?= $(XTASK)
export KWCTL

# What hack/setup.sh unpacks for the tests only. ~/.cargo/bin serves a shell that was opened before
# Rust was installed. Both come last: what is on the PATH already wins.
export TOOLS_DIR := $(TARGET_DIR)/tools
export PATH := $(PATH):$(HOME)/.cargo/bin:$(TOOLS_DIR)/bin

# What the end-to-end tests asked and heard, for the playground's tests.
TRANSCRIPTS := $(TARGET_DIR)/transcripts

# Every dependency at the version that Cargo.lock names.
CARGO := cargo --locked

# The host-side tools without what the module's build, `make run` and `make site` don't need, else
# all of them: between two sets of features Cargo compiles most of the dependencies anew. Hence all
# of these together, also for their tests: alone, each would have other features of what they share.
PACKAGES := --package xtask --package cosign --package $(POLICY) --all-features
FEATURES := $(if $(filter run policy.wasm annotated-policy.wasm,$(MAKECMDGOALS)),--package xtask, \
	$(if $(filter site site-build,$(MAKECMDGOALS)),--package xtask --features policy,$(PACKAGES)))

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z][a-z0-9.-]*:.*## / { printf "  %-22s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: run
run: policy.wasm ## Set up, build, and show what the policy does with real admission reviews
	@"$(XTASK)" show

.PHONY: test
test: setup fmt lint unit-tests specification e2e-tests replay budgets site-tests ## Everything that CI checks: format, lints, tests, specification, budgets, the page

.PHONY: setup
setup: ## Install what the tests need: rustfmt and clippy, packages of Debian and npm, cargo-sbom
	@hack/setup.sh cargo components packages site browser sbom

.PHONY: policy.wasm
policy.wasm: xtask ## Build the module
	@"$(XTASK)" build

.PHONY: annotated-policy.wasm
annotated-policy.wasm: policy.wasm ## Build the module and add metadata.yml and README.md to it
	@"$(KWCTL)" annotate --metadata-path metadata.yml --usage-path README.md --output-path $@ policy.wasm

.PHONY: fmt
fmt: setup-components ## Check the format (cargo fmt --all writes it)
	$(CARGO) fmt --all -- --check

# With the profile of the host-side tools, whose build scripts and macros are then compiled once; and
# the tools as `make run` has them, which lack the commands that come as features.
.PHONY: lint
lint: setup-components xtask ## Clippy on everything, on the module's target too, the packaging, the workflows
	$(CARGO) clippy --workspace --all-targets --all-features --profile xtask -- --deny warnings
	$(CARGO) clippy --package xtask --profile xtask -- --deny warnings
	@if [ -d "$$(rustc --print sysroot)/lib/rustlib/$(WASM_TARGET)/lib" ]; then \
		echo "$(CARGO) clippy --package $(POLICY) --target $(WASM_TARGET) -- --deny warnings"; \
		$(CARGO) clippy --package $(POLICY) --target $(WASM_TARGET) -- --deny warnings; \
	fi
	@XTASK="$(XTASK)" hack/check-packaging.sh
	@hack/lint-workflows.sh

# Two commands: wasmtime, which some of the host-side tools need, is compiled for one profile only.
.PHONY: unit-tests
unit-tests: setup-cargo ## The unit tests of the policy and of the host-side tools
	$(CARGO) test --package $(POLICY)
	$(CARGO) test --package xtask --package cosign --profile xtask --all-features

# What the release does is among them, so that its first real run isn't the first.
.PHONY: e2e-tests
e2e-tests: setup-packages setup-sbom annotated-policy.wasm ## The built module in a host (KWCTL=kwctl: the real one)
	@rm -rf "$(TRANSCRIPTS)" && mkdir -p "$(TRANSCRIPTS)"
	TRANSCRIPTS="$(TRANSCRIPTS)" bats e2e-tests

# Thousands of cases; the seed is fixed, so that a commit fails for what it changed.
.PHONY: specification
specification: policy.wasm ## The built module against the specification in spec/, on random and on all small cases
	$(CARGO) test --package $(POLICY)-spec --profile xtask
	@"$(XTASK)" soak --seed 1 --cases 4000 --jobs 2
	@"$(XTASK)" soak --spaces 1 --jobs 2
	@"$(XTASK)" soak --load 60

# The specification has to answer as the module did.
.PHONY: replay
replay: e2e-tests ## The specification, on each request of the end-to-end tests
	@"$(XTASK)" soak --transcripts "$(TRANSCRIPTS)"

# Another seed each time; what it finds is written down, with how to go on.
.PHONY: soak
soak: policy.wasm ## The same with a million random cases and Pods of three containers (twenty minutes)
	@"$(XTASK)" soak --cases 1000000 --jobs 2
	@"$(XTASK)" soak --spaces 3 --jobs 2
	@"$(XTASK)" soak --load 60

# SECONDS=3600 for an hour; against a real policy-server where one is on the PATH.
.PHONY: load
load: annotated-policy.wasm ## Mixed reviews, one after the other: errors, latency, memory
	@hack/load-test.sh "$(or $(SECONDS),60)"

# Each target for a minute (SECONDS=600 for more), from the reviews and from fuzz/seeds.
.PHONY: fuzz
fuzz: ## Bytes that nobody meant, for requests, settings, images, patterns and hosts' errors
	@hack/setup.sh cargo fuzz
	@hack/fuzz.sh "$(or $(SECONDS),60)"

# Hours; what survives is told, and belongs into a test or into .cargo/mutants.toml.
.PHONY: mutants
mutants: ## Change the policy's code in every small way, and see that a test fails (hours)
	@hack/setup.sh cargo mutants
	CASES=$(or $(CASES),6000) cargo mutants \
		--test-package $(POLICY) --test-package $(POLICY)-spec

# The playground, a page that runs the module in the browser: docs/playground.md.
.PHONY: site
site: site-build ## See what the policy does to your Pods: the playground on http://localhost:4173
	@cd site && npm run --silent preview

# The page's copy of the schema is written each time, so that it is that of these settings.
.PHONY: site-build
site-build: setup-site annotated-policy.wasm ## Build the playground into site/dist
	@mkdir -p site/generated
	@"$(XTASK)" schema >site/generated/settings.schema.json
	@cd site && npm run --silent build

.PHONY: site-tests
site-tests: setup-browser e2e-tests site-build ## The playground: types, format, units, and the page in Chromium
	cd site && npm run --silent check
	cd site && npm run --silent unit-tests
	cd site && XTASK="$(XTASK)" TRANSCRIPTS="$(TRANSCRIPTS)" npm run --silent browser-tests

.PHONY: pictures
pictures: setup-browser site-build ## Write docs/pictures anew, from the playground in Chromium
	cd site && PICTURES=1 XTASK="$(XTASK)" npm run --silent browser-tests -- pictures

# By exact figures, which are the same on every machine. The first time, wasmtime is compiled for it.
.PHONY: budgets
budgets: annotated-policy.wasm ## What the module may cost: size, instructions, memory
	@"$(XTASK)" bench --check

.PHONY: bench
bench: policy.wasm ## Measure the module: time, instructions, memory (a minute)
	@"$(XTASK)" bench

.PHONY: artifacthub-pkg.yml
artifacthub-pkg.yml: xtask ## Write the Artifact Hub package from metadata.yml, questions-ui.yml and CHANGELOG.md
	@"$(XTASK)" artifacthub

.PHONY: clean
clean: ## Remove everything that was built
	cargo clean
	rm -f policy.wasm annotated-policy.wasm
	rm -rf site/dist site/generated site/node_modules site/test-results

# The host-side tools. `cargo xtask` builds them too, but silently.
.PHONY: xtask
xtask: setup-cargo
	@[ -x "$(XTASK)" ] || echo "First build: the host-side tools are compiled once, then the module."
	@$(CARGO) build --profile xtask $(FEATURES)

# One part of the set-up each, for the targets that need no more.
.PHONY: setup-cargo setup-components setup-packages setup-sbom setup-site setup-browser
setup-cargo setup-components setup-packages setup-sbom:
	@hack/setup.sh cargo $(filter-out cargo,$(@:setup-%=%))
setup-site setup-browser:
	@hack/setup.sh $(@:setup-%=%)

# A registry on this machine may speak HTTP; credentials are Docker's (docker login).
.PHONY: publish
publish: ## Build the module and push it: make publish REGISTRY=localhost:5000/policies
	@[ -n "$(REGISTRY)" ] || { echo "publish: where to? make publish REGISTRY=localhost:5000/policies" >&2; exit 1; }
	@$(MAKE) --no-print-directory annotated-policy.wasm
	@"$(XTASK)" push annotated-policy.wasm \
		"registry://$(REGISTRY)/$(POLICY):v$$(sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)"

.PHONY: deny
deny: ## Licences, sources and advisories of the dependencies (needs the network)
	@hack/setup.sh cargo deny
	$(CARGO) deny --workspace check
