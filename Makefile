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

# Every dependency at the version that Cargo.lock names.
CARGO := cargo --locked

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z][a-z0-9.-]*:.*## / { printf "  %-22s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: run
run: policy.wasm ## Set up, build, and show what the policy does with real admission reviews
	@$(CARGO) xtask show

.PHONY: test
test: setup fmt lint unit-tests e2e-tests budgets ## Everything that CI checks: format, lints, unit and end-to-end tests, budgets

.PHONY: setup
setup: ## Install what the tests need: Rust's rustfmt and clippy, a few Debian packages
	@hack/setup.sh cargo components packages

.PHONY: policy.wasm
policy.wasm: xtask ## Build the module
	@$(CARGO) xtask build

.PHONY: annotated-policy.wasm
annotated-policy.wasm: policy.wasm ## Build the module and add metadata.yml and README.md to it
	@"$(KWCTL)" annotate --metadata-path metadata.yml --usage-path README.md --output-path $@ policy.wasm

.PHONY: fmt
fmt: setup-components ## Check the format (cargo fmt --all writes it)
	$(CARGO) fmt --all -- --check

# With the profile of the host-side tools, whose build scripts and macros are then compiled once.
.PHONY: lint
lint: setup-components first-build ## Clippy on everything, on the module's target too, and the packaging's consistency
	$(CARGO) clippy --workspace --all-targets --profile xtask -- --deny warnings
	@if [ -d "$$(rustc --print sysroot)/lib/rustlib/$(WASM_TARGET)/lib" ]; then \
		echo "$(CARGO) clippy --package $(POLICY) --target $(WASM_TARGET) -- --deny warnings"; \
		$(CARGO) clippy --package $(POLICY) --target $(WASM_TARGET) -- --deny warnings; \
	fi
	@hack/check-packaging.sh

# Two commands: wasmtime, which the host-side tools need, is compiled for one profile only.
.PHONY: unit-tests
unit-tests: setup-cargo first-build ## The unit tests of the policy and of the host-side tools
	$(CARGO) test --package $(POLICY)
	$(CARGO) test --package xtask --profile xtask

.PHONY: e2e-tests
e2e-tests: setup-packages annotated-policy.wasm ## The built module in a host (KWCTL=kwctl: the real one)
	bats e2e-tests/*.bats

# By exact figures, which are the same on every machine; a few seconds.
.PHONY: budgets
budgets: annotated-policy.wasm ## What the module may cost: size, instructions, memory
	@$(CARGO) xtask bench --check

.PHONY: bench
bench: policy.wasm ## Measure the module: time, instructions, memory, size (a minute)
	@$(CARGO) xtask bench

.PHONY: artifacthub-pkg.yml
artifacthub-pkg.yml: ## Write the Artifact Hub package from metadata.yml and questions-ui.yml (needs kwctl)
	@hack/artifacthub-pkg.sh

.PHONY: clean
clean: ## Remove everything that was built
	cargo clean
	rm -f policy.wasm annotated-policy.wasm

# The host-side tools. `cargo xtask` builds them too, but silently, and the first time takes minutes.
.PHONY: xtask
xtask: setup-cargo first-build
	@$(CARGO) build --package xtask --profile xtask

.PHONY: first-build
first-build:
	@[ -x "$(XTASK)" ] || echo "First build: wasmtime and the other host-side tools are compiled once." \
		"On two cores that takes about five minutes (make test: ten)."

# One part of the set-up each, for the targets that need no more.
.PHONY: setup-cargo setup-components setup-packages
setup-cargo setup-components setup-packages:
	@hack/setup.sh cargo $(filter-out cargo,$(@:setup-%=%))
