# Berth. A target installs what it needs: after a clone, `make demo` or `make test` can be the first command.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
BIN := .venv/bin
# One of the versions in tests/kubernetes: make e2e KUBERNETES=1.34
export KUBERNETES ?= 1.36
CONTROLPLANE := .build/controlplane-$(KUBERNETES)
ORACLE := .build/parity-oracle-$(KUBERNETES)
# Values are given to make, as in `make chaos SEED=7`. An exported PORT or KUBECONFIG of the shell is meant for others.
$(foreach name,ARGUMENTS AUDIT BASE BROWSER CASES CLUSTER CONTINUE CORE EACH FIX FIXTURES GANG_COMMIT GANGS KEEP \
  KUBECONFIG KUBECONFIG_FILE LEAST MEMBERS MODES N NODES ONLY ONE_EACH PARAMETERS PLUGINS PORT REPEAT REPLACE ROUNDS RULES \
  RUNS SCHEDULER SEED SIZE STACK SUITES TAG TARGETS TESTS WITHIN,$(if $(filter environment,$(origin $(name))),$(eval undefine $(name))))
# Without byte-code every process compiles each module again: a third of the tests' time.
export PYTHONDONTWRITEBYTECODE :=
PYTEST := $(BIN)/pytest -n 2 --dist worksteal
FAST := not build and not external and not long
NEEDS_GO = command -v go >/dev/null || { echo "$(@F) is built with Go 1.26 or later; install it" >&2; exit 1; }
GO_BUILD = $(NEEDS_GO); go build -C $(1) -trimpath -o $(CURDIR)/$@

.PHONY: $(shell grep -oE '^[a-z][a-z0-9-]*:' $(MAKEFILE_LIST) | tr -d :)
help: ## Show the targets for a start
	@sed -nE 's/^([a-z0-9-]+):.*##\* /\1\t/p' $(MAKEFILE_LIST) | expand -t 16; echo "make help-all shows all targets"
help-all: ## Show all targets, with the variables that they take
	@sed -nE 's/^([a-z0-9-]+):.*##\*? /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

setup: .venv/.ready ##* Create .venv with everything that development needs, and the command berth in it
demo: setup ##* Play the main job on a small cluster: no account, no Kubernetes, no Docker
	@$(BIN)/berth demo
unit: setup ##* Run the unit and contract tests
	$(PYTEST) tests/unit tests/contract -m "$(FAST)"
test: setup ##* Run all tests that need neither another program nor many seconds
	$(PYTEST) -m "$(FAST)"
lint: setup .tools/hooks/.ready .tools/sam/.ready .tools/console/.ready .tools/actionlint/actionlint ##* Check style, types, imports, workflows, and the console's page (FIX=1 formats first)
	$(if $(FIX),$(BIN)/ruff format . && $(BIN)/ruff check --fix .)
	FIX=$(FIX) tools/console/check.sh
	.tools/hooks/bin/pre-commit run --all-files --show-diff-on-failure
	$(BIN)/mypy layers/scheduling/berth cli functions tests tools
	$(BIN)/lint-imports --no-cache
	.tools/actionlint/actionlint
docs: setup .tools/docs/.ready .tools/docs/mermaid.min.js ##* Build the site into .build/site; broken links and outdated references fail
	$(BIN)/python -m tools.reference --check
	NO_MKDOCS_2_WARNING=1 .tools/docs/bin/mkdocs build --strict
reference: setup ## Write the generated pages, the configuration's JSON Schema and the README's picture
	$(BIN)/python -m tools.reference --write
pr: ##* Run what continuous integration runs for every change
	.ci/run
nightly: ## Run everything at full size; hours (CONTINUE=1 leaves out what has passed at this commit)
	CONTINUE=$(CONTINUE) tools/steps.sh nightly

test-external: tools ## Run tests on DynamoDB Local, ministack, a policy simulator and Chromium (BROWSER=command GANG_COMMIT=every-write)
	GANG_COMMIT=$(GANG_COMMIT) $(BIN)/pytest tests/contract tests/integration -m external
	@tools/console/chromium.sh
	$(PYTEST) tests/console $(if $(BROWSER),--browser '$(BROWSER)')
	@[[ ! -e .tools/console/.ready ]] || node --test tests/console/page/
test-long: setup ## Run tests that take seconds each: histories, properties, real limits, servers, imports
	$(PYTEST) tests/simulation tests/property tests/integration tests/unit -m "long and not external"
spec: ## Check the protocols with TLC (SIZE=large)
	spec/check.sh $(SIZE)
simulation: setup ## Histories in virtual time (N=2000 RULES=2000 GANGS=200 MEMBERS=120 EACH=10)
	$(BIN)/python -m tests.simulation --histories $(or $(N),2000) --rules $(or $(RULES),2000) \
	  --gangs $(or $(GANGS),200) --members $(or $(MEMBERS),120) --each $(or $(EACH),10)
soak: setup ## Memory and pools of berth serve under a steady stream of pods
	$(BIN)/python -m tests.soak.serve_memory
build: tools ## Validate the template, scan its policies, build it for Lambda, and test what is built
	.tools/sam/bin/sam validate --lint --region us-east-1
	$(BIN)/python -m tests.policy_scan
	.tools/sam/bin/sam build --no-cached
	$(BIN)/pytest tests/integration -m build
sam-local: tools ## Run the fixtures through sam local invoke, in Docker (FIXTURES="filter/cache-mode …", or ONE_EACH=1)
	@$(BIN)/python -m tests.sam_local $(FIXTURES) $(if $(ONE_EACH),--one-each)

e2e: tools $(CONTROLPLANE) $(ORACLE) ## Run Berth with a real API server and scheduler (CORE=1 TESTS=files REPEAT=20 TARGETS=1 KUBERNETES=1.37)
	GANG_REPETITIONS=$(or $(REPEAT),1) LATE_VIEW_ROUNDS=$(or $(REPEAT),3) GANG_TARGETS=$(TARGETS) $(BIN)/pytest $(or $(TESTS),tests/e2e --ignore=tests/e2e/karpenter) $(if $(CORE),-m "core and (not stack or core_on_stack)")
e2e-karpenter: setup $(CONTROLPLANE) .build/karpenter/kwok ## Run Berth with a real Karpenter, whose kwok provider adds the nodes
	$(BIN)/pytest tests/e2e/karpenter
parity: setup $(ORACLE) ## Compare with kube-scheduler's own plugins (N=20000 cases a family, LEAST=5000 for each plugin)
	$(BIN)/python -m tests.parity.compare --kubernetes $(KUBERNETES) --cases $(or $(N),20000) --least $(or $(LEAST),5000)
upstream: setup $(CONTROLPLANE) ## Judge Kubernetes' own tables by Berth, and run its integration tests with Berth (SUITES=filters,… without the tables, MODES=without,beside,alone ONLY=test)
	$(if $(SUITES),,$(BIN)/python -m tests.upstream.tables)
	@$(BIN)/python -m tests.upstream $(if $(SUITES),--suites $(SUITES)) $(if $(MODES),--modes $(MODES)) $(if $(ONLY),--only '$(ONLY)')
chaos: tools $(CONTROLPLANE) ## Play faults, and check what holds after each (SEED=0|today ROUNDS=… ONLY=fault,… WITHIN=seconds)
	@$(BIN)/python -m tests.chaos --seed $(or $(SEED),0) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(WITHIN),--seconds $(WITHIN)) $(if $(ONLY),--only $(ONLY))
game-day: tools $(CONTROLPLANE) .tools/kubectl/kubectl ## Break one thing after another on the deployed stack in the emulator: alarms, findings, recovery (ONLY=fault,… ARGUMENTS=--write)
	@$(BIN)/python -m tests.gameday $(if $(ONLY),--only '$(ONLY)') $(ARGUMENTS)
bench: setup $(CONTROLPLANE) .build/bench-peer-$(KUBERNETES) ## Measure calls beside their floor, and pods a second through a scheduler (CASES=name,… NODES=500,1000 RUNS=3 N=500 PERCENTAGE=100)
	@$(BIN)/python -m tests.bench
	@$(BIN)/python -m tests.bench.scheduler $(if $(CASES),--cases '$(CASES)') $(if $(NODES),--nodes '$(NODES)') $(if $(RUNS),--runs $(RUNS)) $(if $(N),--pods $(N)) $(if $(PERCENTAGE),--percentage $(PERCENTAGE))
local-stack: setup .tools/sam/.ready .tools/ministack/.ready ##* Serve the whole stack in an emulated account until Ctrl-C (CLUSTER=dump | KUBECONFIG_FILE=file, PLUGINS=dir, PORT=4566, PARAMETERS="Name=value …"; from another terminal REPLACE=1 PLUGINS=dir)
	@$(BIN)/python -m tools.local_stack $(if $(PORT),--port $(PORT)) $(if $(CLUSTER),--cluster '$(CLUSTER)') \
	  $(if $(KUBECONFIG_FILE),--kubeconfig '$(KUBECONFIG_FILE)') $(if $(PLUGINS),--plugins '$(PLUGINS)') \
	  $(foreach each,$(PARAMETERS),--parameter '$(each)') $(if $(REPLACE),--replace-plugins)
acceptance: $(if $(STACK),tools) ## Try a stack in your account and delete it (STACK=name PARAMETERS="Name=value …" KUBECONFIG=file SCHEDULER=command KEEP=1 ARGUMENTS=…)
	@[[ -n "$(STACK)" ]] || { echo "give STACK=name; docs/how-to/acceptance.md" >&2; exit 2; }
	@$(BIN)/python -m tools.acceptance --stack $(STACK) $(foreach each,$(PARAMETERS),--parameter '$(each)') \
	  $(if $(KUBECONFIG),--kubeconfig '$(KUBECONFIG)') $(if $(SCHEDULER),--scheduler '$(SCHEDULER)') $(if $(KEEP),--keep) $(ARGUMENTS)

dist: setup .tools/supply_chain/.ready .tools/helm/helm ## Audit what is locked, and build wheel, bills of materials and chart into dist (AUDIT=--offline-ok)
	$(BIN)/python -m tools.supply_chain.audit $(AUDIT)
	$(BIN)/python -m tests.wheel dist
	$(BIN)/python -m tools.supply_chain.sbom dist
	cp examples/rbac.yaml examples/rbac-counted-resources.yaml charts/berth/files/
	cp examples/admission/*.yaml charts/berth/files/admission/
	.tools/helm/helm lint --strict charts/berth --kube-version $(KUBERNETES) --set-file scheduler.configuration=examples/scheduler/configuration.yaml
	.tools/helm/helm package charts/berth --destination dist
image: setup .tools/ministack/.ready ## Build the command's container image, and run it read-only and without root (BASE=image with Python, TAG=name)
	$(BIN)/python -m tools.image $(if $(BASE),--base '$(BASE)') $(if $(TAG),--tag '$(TAG)')
	@$(BIN)/python -m tests.image $(TAG)

tools: setup .tools/sam/.ready .tools/ministack/.ready .tools/checkov/.ready .tools/supply_chain/.ready .tools/dynamodb_local/.ready .tools/iam_simulate/.ready .tools/console/.ready .tools/helm/helm ## Install what tests and builds run under .tools
$(BIN)/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Berth needs Python 3.11 or later; name one with: make PYTHON=python3.13" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --require-hashes --requirement requirements/uv.txt
.venv/.ready: $(BIN)/uv requirements/dev.txt pyproject.toml
	$(BIN)/uv pip sync --quiet --compile-bytecode --require-hashes --python $(BIN)/python requirements/dev.txt requirements/uv.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@
# Commands that are not imported have environments of their own: their pins and ours exclude each other.
.tools/%/.ready: tools/%/requirements.txt | $(BIN)/uv
	$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python .tools/$*
	$(BIN)/uv pip sync --quiet --compile-bytecode --require-hashes --python .tools/$*/bin/python tools/$*/requirements.txt
	@touch $@
# Without npm, Maven or Go, the tests that need these tools are skipped.
.tools/%/.ready: tools/%/package.json tools/%/package-lock.json
	@command -v npm >/dev/null || { echo "no npm: tests with $* are skipped" >&2; exit 0; }; \
	mkdir -p $(@D) && cp $^ $(@D) && cd $(@D) && npm ci --silent --ignore-scripts --no-audit --no-fund && touch .ready
.tools/dynamodb_local/.ready: tools/dynamodb_local/pom.xml tools/dynamodb_local/SHA256SUMS
	@command -v mvn >/dev/null || { echo "no Maven (mvn): tests on DynamoDB Local are skipped" >&2; exit 0; }; \
	rm -rf $(@D) && mkdir -p $(@D) && \
	mvn --batch-mode --quiet --file $(CURDIR)/$< dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(@D)/lib && \
	cd $(@D)/lib && sha256sum --quiet --strict --check $(CURDIR)/tools/dynamodb_local/SHA256SUMS && touch ../.ready
# Diagrams are drawn by a copy of Mermaid: readers load nothing from elsewhere. Without npm they stay text.
.tools/docs/mermaid.min.js: tools/docs/mermaid.sha256 | .tools/docs/.ready
	@command -v npm >/dev/null || { echo "no npm: the site shows diagrams as text" >&2; exit 0; }; cd .tools/docs && \
	npm pack --silent mermaid@11.16.0 >/dev/null && tar -xzf mermaid-*.tgz --strip-components=2 package/dist/mermaid.min.js && \
	rm mermaid-*.tgz && sha256sum --quiet --check $(CURDIR)/$< && touch mermaid.min.js
.tools/helm/helm: tools/helm/go.mod tools/helm/go.sum
	@command -v go >/dev/null || { echo "no Go: tests of the chart are skipped" >&2; exit 0; }; \
	$(call GO_BUILD,tools/helm) -ldflags "-s -w" helm.sh/helm/v3/cmd/helm
.tools/actionlint/actionlint: tools/actionlint/go.mod tools/actionlint/go.sum
	$(call GO_BUILD,tools/actionlint) github.com/rhysd/actionlint/cmd/actionlint
# Without its version, a program says v0.0.0.
.tools/kubectl/kubectl: tools/kubectl/go.mod tools/kubectl/go.sum tools/kubectl/main.go
	$(call GO_BUILD,tools/kubectl) -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$$(sed -n 's|^\tk8s.io/kubectl v0|v1|p' $<)" .
.build/karpenter/kwok: tools/karpenter/go.mod tools/karpenter/go.sum
	$(call GO_BUILD,tools/karpenter) -ldflags "-s -w" sigs.k8s.io/karpenter/kwok
	cp -f $$(go list -C tools/karpenter -m -f '{{.Dir}}' sigs.k8s.io/karpenter)/kwok/{charts,apis}/crds/*.yaml $(@D)
.build/controlplane-%: tests/kubernetes/%.mod tests/kubernetes/%.sum $(wildcard tests/controlplane/*.go)
	$(call GO_BUILD,tests) -modfile=kubernetes/$*.mod -ldflags "-s -w \
	  -X k8s.io/component-base/version.gitVersion=$$(sed -n 's|^\tk8s.io/kubernetes ||p' $<) \
	  -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$(*:1.%=%)" ./controlplane
.build/bench-peer-%: tests/kubernetes/%.mod tests/kubernetes/%.sum tests/bench/peer/main.go
	$(call GO_BUILD,tests) -modfile=kubernetes/$*.mod ./bench/peer
.build/parity-oracle-%: tests/kubernetes/%.mod tests/kubernetes/%.sum $(wildcard tests/parity/oracle/*.go)
	@$(NEEDS_GO)
	go test -C tests -modfile=kubernetes/$*.mod -tags kubernetes$* -trimpath ./parity/oracle
	$(call GO_BUILD,tests) -modfile=kubernetes/$*.mod -tags kubernetes$* ./parity/oracle
