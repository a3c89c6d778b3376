# `make` lists the targets. The targets need Rust from rustup, and a C compiler. hack/setup.sh installs everything else,
# or says what to install.

.DEFAULT_GOAL := help

POLICY := consistent-pull-policy
VERSION := $(shell sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)
WASM_TARGET := wasm32-unknown-unknown
TARGET_DIR := $(abspath $(or $(CARGO_TARGET_DIR),target))
XTASK := $(TARGET_DIR)/xtask/xtask

# KWCTL is the program that annotates the module and runs it in the end-to-end tests. It is xtask, or the
# real kwctl with `make e2e-tests KWCTL=kwctl`.
KWCTL ?= $(XTASK)
export KWCTL

# hack/setup.sh installs tools in TOOLS_DIR. A shell that was opened before Rust was installed may not have
# ~/.cargo/bin on its PATH. Both folders come last on the PATH, so that a program in them never hides a program of the
# same name in another folder. Node.js is in a folder of its own, which comes first: it is there if the other one is too
# old.
export TOOLS_DIR := $(TARGET_DIR)/tools
export PATH := $(TOOLS_DIR)/node:$(PATH):$(HOME)/.cargo/bin:$(TOOLS_DIR)/bin

# The program that runs the rows of e2e-tests/rows.
ROWS := $(TARGET_DIR)/xtask/rows

# With --locked, every dependency has the version in Cargo.lock.
CARGO := cargo --locked

# Runs targets beside each other, two more than there are cores, because some wait for a download. It shows the output of
# each when it has ended. make before 4.0, as on macOS, mixes it.
BESIDE = $(MAKE) --no-print-directory --jobs="$$(($$(getconf _NPROCESSORS_ONLN) + 2))" $(filter --%,$(.FEATURES:output-sync=--output-sync))
# Cargo warns of the outer make's jobs, which it can't share.
ifneq ($(MAKELEVEL),0)
unexport MAKEFLAGS MFLAGS
endif

# `make test` and `make check` compile all code of this workspace with Clippy, which is a compiler with more warnings. After
# rustc, `cargo clippy` would compile every package once more. The module is always compiled with rustc.
LINTED := $(if $(filter test check,$(MAKECMDGOALS)),RUSTC_WORKSPACE_WRAPPER=clippy-driver \
	CLIPPY_ARGS=--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__)

# Two sets of packages. Those of HOST run the module. They need wasmtime, which is most of all that is compiled. The
# others test this policy as a crate. Each command names one set: if it named both, some features of dependencies would
# be different, and Cargo would compile wasmtime once more.
HOST := --package xtask --package bench
CRATES := --workspace --exclude xtask --exclude bench --exclude soak

# `--tests` is there because `make test` compiles the same.
BUILD_TOOLS := $(CARGO) build --profile xtask $(CRATES) --bins --examples --tests

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z][a-z0-9.-]*:.*## / { printf "  %-22s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: run
run: setup-cargo ## Build, and show what this policy does with real Pods
	@echo "Compiling the tools and this policy. The first time, this takes about three minutes."
	@$(MAKE) --no-print-directory --jobs=2 annotated-policy.wasm
	@"$(XTASK)" show

# `make check` needs no root, no npm, no browser and no WebAssembly. It tests this policy as a crate: the unit tests,
# all rows of e2e-tests/rows, and the promises on the corpus and on a few random cases.
.PHONY: check
check: fmt unit-tests ## The checks of a minute: format, lints, unit tests, rows, promises

# Cargo compiles while the programs of the tests are downloaded, and stops if that fails or is interrupted. A part of the test
# that needs the tools shows Cargo's errors.
.PHONY: test
test: export EVERY ?= 10
test: ## All checks of a change: also the module, the budgets and the page
	@hack/setup.sh cargo components
	@trap : INT; $(LINTED) $(BUILD_TOOLS) >/dev/null 2>&1 & \
		hack/setup.sh packages helm zizmor browser || { kill $$!; exit 1; }
	@echo "The parts of the test run beside each other, and each shows its output when it has ended."
	@$(BESIDE) "LINTED=$(LINTED)" parts-of-test

.PHONY: parts-of-test
parts-of-test: fmt packaging unit-tests e2e-tests site-tests budgets

.PHONY: setup
setup: ## Install the programs for the tests: rustfmt, clippy, packages of Debian and npm
	@hack/setup.sh cargo components packages helm zizmor site browser

.PHONY: policy.wasm
policy.wasm: setup-cargo ## Build the module
	@hack/build.sh

.PHONY: annotated-policy.wasm
annotated-policy.wasm: policy.wasm xtask ## Build the module and add metadata.yml and README.md to it
	@hack/absolute-links.sh "v$(VERSION)" <README.md >"$(TARGET_DIR)/README.md"
	@"$(KWCTL)" annotate --metadata-path metadata.yml --usage-path "$(TARGET_DIR)/README.md" --output-path $@ policy.wasm

.PHONY: fmt
fmt: setup-components ## Check the format (cargo fmt --all writes it)
	$(CARGO) fmt --all -- --check

.PHONY: lint
lint: setup-components packaging ## Clippy on all code, and on the module's target
	$(CARGO) clippy $(CRATES) --all-targets --profile xtask -- --deny warnings
	$(CARGO) clippy $(HOST) --package soak --all-targets --profile xtask -- --deny warnings
	$(CARGO) clippy --package $(POLICY) --target $(WASM_TARGET) --profile xtask -- --deny warnings

.PHONY: packaging
packaging: setup-packages setup-zizmor ## Check the packaging and the workflows
	@hack/check-packaging.sh
	@hack/lint-workflows.sh

.PHONY: monitoring
monitoring: setup-packages ## Check the alerts and the dashboard with promtool
	@hack/check-monitoring.sh

.PHONY: unit-tests
unit-tests: setup-cargo ## All tests in Rust: this policy, its rows and promises, the survey
	CASES=$(or $(CASES),500) $(LINTED) $(CARGO) test --profile xtask --no-fail-fast $(CRATES)

# The rows run in KWCTL too. bats has the tests that need a shell, and uses GNU parallel to run several files at the
# same time: two more than there are cores, because some tests wait for a server. In the variable PARALLEL, the option
# --will-cite turns off GNU parallel's request to be cited. `make release-tests` runs the slow tests.
.PHONY: e2e-tests
e2e-tests: setup-packages setup-helm annotated-policy.wasm tools ## Test the built module in the embedded host (KWCTL=kwctl: in the real kwctl)
	@"$(ROWS)" --module annotated-policy.wasm --kwctl "$(KWCTL)"
	PARALLEL=--will-cite bats --filter-tags '!slow' \
		--jobs "$$(($$(getconf _NPROCESSORS_ONLN) + 2))" --no-parallelize-within-files e2e-tests

# HELM=helm3 tests with another helm. (Helm 3 words errors of the schema differently.)
.PHONY: chart-tests
chart-tests: setup-packages setup-helm tools ## Test the Helm chart (a minute)
	PARALLEL=--will-cite bats --jobs "$$(($$(getconf _NPROCESSORS_ONLN) + 2))" e2e-tests/chart.bats

# `make e2e-tests` leaves out two steps of a release: the second build of the module, and the list of the
# module's packages, for which cargo-sbom is compiled.
.PHONY: release-tests
release-tests: setup-packages setup-sbom annotated-policy.wasm ## Test every step of a release
	bats e2e-tests/release.bats

# e2e-tests/cluster/setup_suite.bash says what the tests need. POLICY_SERVER=URL runs them without Kubewarden's
# controller, which only operations.bats needs. There, PROMISES=1 adds the corpus at the API server, because its webhooks
# select other objects than the examples, BURSTS="12 30" adds bursts of Jobs, which take half an hour, and
# AGENT_STACK_K8S a burst of jobs of agent-stack-k8s.
# FILES=e2e-tests/cluster/workloads.bats runs one file.
CLUSTER_TESTS = $(filter-out $(if $(POLICY_SERVER),%/operations.bats) \
	$(if $(and $(POLICY_SERVER),$(PROMISES)),,%/promises.bats) \
	$(if $(and $(POLICY_SERVER),$(BURSTS)),,%/bursts.bats) \
	$(if $(and $(POLICY_SERVER),$(AGENT_STACK_K8S)),,%/agent-stack-k8s-controller.bats),$(wildcard e2e-tests/cluster/*.bats))

.PHONY: cluster-tests
cluster-tests: setup-packages setup-helm annotated-policy.wasm chart ## Test in the cluster of kubectl's context, with REGISTRY=host:port
	bats $(or $(FILES),$(CLUSTER_TESTS))

# The random cases have another seed in each run. The output says how to continue the run. On two idle cores, the small Pods
# take half an hour, and the random cases an hour. EVERY=7 tries every seventh small Pod. They run on the crate, which is
# optimised here, because there are eighteen million Pods with settings. wasmtime is optimised for the random cases.
.PHONY: soak
soak: policy.wasm ## The promises on a million random cases in the module, and on all small Pods (an hour and a half)
	$(CARGO) run --quiet --profile xtask --package soak --config profile.xtask.package.wasmtime.opt-level=1 \
		-- --cases $(or $(CASES),1000000) --jobs 2
	$(CARGO) run --quiet --profile xtask --package $(POLICY)-promises --example small-pods \
		$(foreach package,$(POLICY) $(POLICY)-promises,--config profile.xtask.package.$(package).opt-level=2)

# cargo-mutants changes the code in many small ways. A change that no test notices needs a new test, or an
# entry in .cargo/mutants.toml. SHARD=0/8 tries one eighth of the changes, and MUTATED=survey changes the survey. Without
# `--baseline skip`, cargo-mutants would first run the tests on the unchanged code, but only those of one package. An
# incremental build takes a tenth of the time.
MUTATED := src
OPTIONS_OF_src := --file "src/**/*.rs" --file "container/**/*.rs" \
	--test-package $(POLICY) --test-package $(POLICY)-rows --test-package $(POLICY)-promises \
	-- --lib --test policy --test rows --test promises
OPTIONS_OF_survey := --file "survey/src/**/*.rs" --test-package $(POLICY)-survey

.PHONY: mutants
mutants: setup-cargo ## Check that a test notices each small change of this policy's code (hours)
	@hack/setup.sh mutants
	CASES=$(or $(CASES),6000) CARGO_PROFILE_XTASK_INCREMENTAL=true cargo mutants --workspace \
		$(if $(SHARD),--shard $(SHARD)) --baseline skip --timeout 300 $(OPTIONS_OF_$(MUTATED))

.PHONY: deep-tests
deep-tests: lint monitoring budgets soak release-tests mutants ## The checks that CI runs each week

# The playground is a page that runs the module in the browser: docs/try.md.
.PHONY: site
site: site-build ## Serve the playground on http://localhost:4173
	@cd site && npm run --silent preview

# The page runs the survey's core beside this policy's module.
.PHONY: site-build
site-build: setup-site annotated-policy.wasm survey-module ## Build the playground into site/dist
	@cd site && npm run --silent build

.PHONY: survey-module
survey-module: setup-cargo
	@mkdir -p site/generated
	@$(CARGO) build --quiet --release --target $(WASM_TARGET) --package survey-page
	@cp "$(TARGET_DIR)/$(WASM_TARGET)/release/survey_page.wasm" site/generated/survey.wasm

.PHONY: chart
chart: setup-cargo ## Pack the Helm chart: consistent-pull-policy-<version>.tgz
	@echo "Packing the chart. The first time, its schema is compiled, which takes a minute."
	@mkdir -p "$(TARGET_DIR)"
	@$(CARGO) run --quiet --profile xtask --package chart-schema >"$(TARGET_DIR)/values.schema.json"
	@hack/chart.sh "$(TARGET_DIR)/values.schema.json" .

.PHONY: site-tests
site-tests: setup-browser site-build ## Test the playground: types, format, units, and the page in Chromium
	cd site && npm run --silent check
	cd site && npm run --silent unit-tests
	cd site && npm run --silent browser-tests

.PHONY: pictures
pictures: setup-browser site-build ## Write docs/pictures again, from the playground in Chromium
	cd site && PICTURES=1 npm run --silent browser-tests -- pictures

# The figures are the same on every machine. bench/README.md says how times are measured.
.PHONY: budgets
budgets: annotated-policy.wasm ## Measure the size, the instructions and the memory of the module, and check the limits (EVERY=10: a tenth of the hostile requests)
	@$(LINTED) $(CARGO) run --quiet --profile xtask --package bench

.PHONY: artifacthub-pkg.yml
artifacthub-pkg.yml: setup-packages ## Write the Artifact Hub package from metadata.yml, questions-ui.yml and CHANGELOG.md
	@hack/artifacthub-pkg.sh

.PHONY: notices
notices: setup-cargo setup-site ## Write NOTICES.txt, the licences of the packages in the module, the page and the survey
	@hack/release/notices.sh

.PHONY: clean
clean: ## Remove all output of builds
	cargo clean
	rm -f policy.wasm annotated-policy.wasm $(POLICY)-*.tgz
	rm -rf site/dist site/generated site/node_modules site/test-results

# xtask compiles the client of registries when it needs it for the first time. If it has changed, `make tools` and
# `make publish` compile it again.
.PHONY: xtask
xtask: setup-cargo
	@$(LINTED) $(CARGO) build --profile xtask --package xtask

# The programs of the end-to-end tests, beside xtask.
.PHONY: tools
tools: setup-cargo
	@$(LINTED) $(BUILD_TOOLS)

# The parts of the set-up. A target that needs only some of the parts depends on these parts.
.PHONY: setup-cargo setup-components setup-packages setup-sbom setup-helm setup-zizmor setup-site setup-browser
setup-cargo setup-components setup-packages setup-sbom:
	@hack/setup.sh cargo $(filter-out cargo,$(@:setup-%=%))
setup-helm setup-zizmor setup-site setup-browser:
	@hack/setup.sh $(@:setup-%=%)

# A registry on this machine may use HTTP. The credentials are those of `docker login`.
.PHONY: publish
publish: ## Build the module and push it: make publish REGISTRY=localhost:5000/policies
	@[ -n "$(REGISTRY)" ] || { echo "publish: name a registry: make publish REGISTRY=localhost:5000/policies" >&2; exit 1; }
	@$(MAKE) --no-print-directory annotated-policy.wasm
	@$(CARGO) build --quiet --profile xtask --package registry-client
	@"$(XTASK)" push annotated-policy.wasm \
		"registry://$(REGISTRY)/$(POLICY):v$(VERSION)"

.PHONY: deny
deny: ## Licences, sources and advisories of the dependencies (needs the network)
	@hack/setup.sh cargo deny
	$(CARGO) deny --workspace check
