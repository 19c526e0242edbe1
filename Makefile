# Berth. Every target sets up what it needs: after a clone, `make demo` or `make test` is the first command to run.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Which of the versions under tests/kubernetes is meant: make e2e-core KUBERNETES=1.34
KUBERNETES ?= 1.36
export KUBERNETES
VERSIONS := $(patsubst tests/kubernetes/%.mod,%,$(wildcard tests/kubernetes/*.mod))
# Those whose API has PodGroups.
WITH_PODGROUPS := 1.36 1.37
CONTROLPLANE := .build/controlplane-$(KUBERNETES)
ACTIONLINT := .tools/actionlint/actionlint
HELM := .tools/helm/helm
KUBECTL := .tools/kubectl/kubectl
ORACLE := .build/parity-oracle-$(KUBERNETES)
BENCH_EXTENDER := .build/bench-extender

# What a target takes is given to make, as in `make chaos SEED=7`. A shell may export a PORT, a CLUSTER or a KUBECONFIG for
# something else, and none of them is meant here. TAG stays in the environment: a workflow gives it to the release.
GIVEN := ARGUMENTS AUDIT BASE BINDS BROWSER CASES CLUSTER CONTINUE EACH FIXTURES FORMAT FROM GANGS GANG_COMMIT KEEP \
  KUBECONFIG KUBECONFIG_FILE LEAST MEMBERS MINUTES MOST_FRAME MOST_PAINT N NODES ON ONLY PARAMETERS PLUGINS PODS PORT \
  REPEAT ROUNDS RULES RUNS SCHEDULER SEED SHAPES SMALL STACK TARGETS WITHIN WRITE
$(foreach name,$(GIVEN),$(if $(filter environment,$(origin $(name))),$(eval undefine $(name))))
IMAGE_TAG := $(if $(filter command,$(origin TAG)),$(TAG))

# Where the caller switches byte-code off, every process compiles each module again: a third of the tests' time.
export PYTHONDONTWRITEBYTECODE :=

# Two processes that take tests from each other: no worker is idle while the other has a long file left.
PYTEST := $(BIN)/pytest -n 2 --dist worksteal
FAST := not build and not scan and not external and not long

.PHONY: help
help: ## Show the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

# ---------------------------------------------------------------------------------------------------------------- setup
.PHONY: setup
setup: $(VENV)/.ready ## Create .venv with everything that development needs, and the berth command in it

$(BIN)/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Berth needs Python 3.11 or later; name one with: make PYTHON=python3.13" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes --requirement requirements/uv.txt

$(VENV)/.ready: $(BIN)/uv requirements/dev.txt pyproject.toml
	$(BIN)/uv pip sync --quiet --compile-bytecode --require-hashes --python $(BIN)/python requirements/dev.txt requirements/uv.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

.PHONY: lock
lock: $(BIN)/uv ## Lock all dependencies anew, with hashes
	tools/lock.sh --upgrade

# ------------------------------------------------------------------------------------------------------------ main jobs
.PHONY: demo
demo: setup ## Play the main job on a small cluster: no account, no Kubernetes, no Docker
	@$(BIN)/berth demo

.PHONY: unit
unit: setup ## Run the unit and contract tests: little more than a minute
	$(PYTEST) tests/unit tests/contract -m "$(FAST)"

.PHONY: test
test: setup ## Run all tests without those of test-external, test-long, build, scan, e2e and sam-local
	$(PYTEST) -m "$(FAST)"
	@echo "not run here: make test-external (emulators of AWS; needs Java and Node.js), make test-long (histories and long"
	@echo "properties), make e2e (a real control plane and a deployed stack; needs Go), make sam-local (needs Docker)"

# One process: the emulators work beside it, and are started once.
.PHONY: test-external
test-external: tools ## Run the tests on DynamoDB Local, ministack and a policy simulator (Java 17, Maven, npm; GANG_COMMIT=every-write interrupts each write of a gang of 1,000)
	GANG_COMMIT=$(GANG_COMMIT) $(BIN)/pytest tests/contract tests/integration -m external

.PHONY: test-long
test-long: setup ## Run what takes seconds a test: histories in virtual time, properties with large cases, real limits, servers, imports
	$(PYTEST) tests/simulation tests/property tests/integration tests/unit -m "long and not external"

CONSOLE_JS := cli/berth_cli/console/page tests/console/page
CONSOLE_FORMATTED := 'cli/berth_cli/console/page/**/*.{js,css}' 'tests/console/page/**/*.js' tools/console/eslint.config.mjs
PRETTIER := .tools/console/node_modules/.bin/prettier --config tools/console/prettier.json --log-level warn

.PHONY: console-check
console-check: .tools/console/.ready ## The console's page: form (Prettier), lint (ESLint), types, also of its tests (tsc --checkJs), and the tests of its modules (Node.js 20.19 or later, npm)
	@[[ -e $< ]] || { echo "console-check: SKIPPED, it needs Node.js and npm" >&2; exit 0; }; \
	$(PRETTIER) --check $(CONSOLE_FORMATTED) && \
	.tools/console/node_modules/.bin/eslint --config tools/console/eslint.config.mjs $(CONSOLE_JS) && \
	.tools/console/node_modules/.bin/tsc --project tools/console/tsconfig.json && \
	.tools/console/node_modules/.bin/tsc --project tools/console/tsconfig.tests.json && \
	node --test tests/console/page/

.PHONY: console-format
console-format: .tools/console/.ready ## Bring the console's page into the form that console-check wants (npm)
	$(PRETTIER) --write $(CONSOLE_FORMATTED)

.PHONY: chromium
chromium: ## Install Chromium with apt-get where that is possible; say why where it is not
	@tools/console/chromium.sh

.PHONY: console-test
console-test: setup .tools/console/.ready ## The console's page in Chromium, with axe-core (BROWSER=command; REQUIRE_BROWSER=1 fails without one)
	$(PYTEST) tests/console $(if $(BROWSER),--browser '$(BROWSER)')

.PHONY: console-screenshots
console-screenshots: setup ## Take the pictures of docs/how-to/console.md: light and dark, 1,280 and 390 pixels wide (Chromium)
	@$(BIN)/python -m tests.console.screenshots $(if $(BROWSER),--browser '$(BROWSER)')

.PHONY: bench-console
bench-console: setup ## The console with 5,000 nodes and 150,000 pods in Chromium: first paint and times of frames (NODES=5000 PODS=150000; MOST_PAINT=1000 MOST_FRAME=17 fail beyond so many ms)
	@$(BIN)/python -m tests.console.bench --nodes $(or $(NODES),5000) --pods $(or $(PODS),150000) $(if $(BROWSER),--browser '$(BROWSER)') $(if $(MOST_PAINT),--most-paint $(MOST_PAINT)) $(if $(MOST_FRAME),--most-frame $(MOST_FRAME))

.PHONY: simulation
simulation: setup ## Histories of the node cache in virtual time (N=2000), every bind cut short at every call, rules about pods (RULES=2000), and gangs (GANGS=200, MEMBERS=120 in the gang whose commit is cut short, one in EACH=10 of the cases with watchers)
	$(BIN)/python -m tests.simulation --histories $(or $(N),2000)
	$(BIN)/python -m tests.simulation.cut_short
	$(BIN)/python -m tests.simulation.announcements --histories $(or $(RULES),2000)
	$(BIN)/python -m tests.simulation.gangs --histories $(or $(GANGS),200) --members $(or $(MEMBERS),120) --each $(or $(EACH),10)

.PHONY: soak
soak: tools simulation ## Run the simulation, and concurrent binds against an emulator (BINDS=60000, tried about twice each; ON=dynamodb-local)
	$(BIN)/python -m tests.soak --binds $(or $(BINDS),60000) --on $(or $(ON),ministack)

.PHONY: soak-serve
soak-serve: setup ## Memory of berth serve under 5 counted pods a second (MINUTES=8); fails if it grows by more than 5 % after two minutes
	$(BIN)/python -m tests.soak.serve_memory --minutes $(or $(MINUTES),8)

.PHONY: soak-verbs
soak-verbs: setup ## Memory of the verbs under as many hostile pods as an hour brings (SHAPES=3600); fails above 60 % of MemorySize
	$(BIN)/python -m tests.soak.verb_memory --shapes $(or $(SHAPES),3600)

.PHONY: fuzz-pods
fuzz-pods: setup ## Any pods that an API server takes, of 1.5 MB: at most 1 s cold, 10 times a plain pod warm (PODS=200 SEED=0)
	$(BIN)/python -m tests.property.pod_costs --pods $(or $(PODS),200) --seed $(or $(SEED),0)

.PHONY: spec
spec: ## Check the protocols of node cache, ledger, announcements and gangs with TLC, broken variants included (Java 11 or later, Maven)
	spec/check.sh

.PHONY: spec-large
spec-large: ## Check larger models of the same protocols
	spec/check.sh large

.PHONY: bench
bench: setup ## Measure the hot path, as ratios to a floor of the same run (FORMAT=json for one line a figure)
	@$(BIN)/python -m tests.bench -o $(or $(FORMAT),table)

.PHONY: bench-replay
bench-replay: setup ## A recorded day on 1,000 nodes made again, and compared with another policy; fails beyond 300 s of a processor (N=100000)
	@$(BIN)/python -m tests.bench.replay --decisions $(or $(N),100000) --most 300

.PHONY: bench-guard
bench-guard: setup ## What calls cost, beside what is committed in tests/bench/guard; fails beyond the margins (WRITE=1 commits to today's)
	@$(BIN)/python -m tests.bench.guard $(if $(WRITE),--write)

.PHONY: bench-lambda
bench-lambda: setup ## Cold and warm calls with Lambda's share of a processor; makes control groups, so run it as root (RUNS=4)
	@$(BIN)/python -m tests.bench.lambda_share --runs $(or $(RUNS),4)

# ------------------------------------------------------------------------------------------------------ the real things
# Tools that are run and not imported have environments of their own: their pins and ours exclude each other.
.tools/%/.ready: tools/%/requirements.txt | $(BIN)/uv
	$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python .tools/$*
	$(BIN)/uv pip sync --quiet --compile-bytecode --require-hashes --python .tools/$*/bin/python tools/$*/requirements.txt
	@touch $@

# AWS' own emulator of DynamoDB, from Maven Central, for tests only (its licence). Without Maven its tests skip.
DYNAMODB_LOCAL := $(CURDIR)/tools/dynamodb_local
.tools/dynamodb_local/.ready: tools/dynamodb_local/pom.xml tools/dynamodb_local/SHA256SUMS
	@command -v mvn >/dev/null || { echo "no Maven (mvn): tests on DynamoDB Local are skipped" >&2; exit 0; }; \
	rm -rf $(@D) && mkdir -p $(@D) && \
	mvn --batch-mode --quiet --file $(DYNAMODB_LOCAL) dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(@D)/lib && \
	cd $(@D)/lib && sha256sum --quiet --strict --check $(DYNAMODB_LOCAL)/SHA256SUMS && touch ../.ready

# An independent simulator of IAM policies, run by tests as a process of its own. Without npm its tests skip.
IAM_SIMULATE := tools/iam_simulate
.tools/iam_simulate/.ready: $(IAM_SIMULATE)/package.json $(IAM_SIMULATE)/package-lock.json
	@command -v npm >/dev/null || { echo "no npm: tests of the policies in the simulator are skipped" >&2; exit 0; }; \
	mkdir -p $(@D) && cp $^ $(@D) && cd $(@D) && npm ci --silent --ignore-scripts --no-audit --no-fund && touch .ready

# A module of its own with locked sums. Without Go the tests of the chart skip.
$(HELM): tools/helm/go.mod tools/helm/go.sum
	@command -v go >/dev/null || { echo "no Go: tests of the chart are skipped" >&2; exit 0; }; \
	go build -C tools/helm -trimpath -ldflags "-s -w" -o $(CURDIR)/$@ helm.sh/helm/v3/cmd/helm

# Checks of the console's page: Prettier, ESLint, TypeScript, and axe-core for its accessibility; no user needs them.
.tools/console/.ready: tools/console/package.json tools/console/package-lock.json
	@command -v npm >/dev/null || { echo "no npm: types and accessibility of the console's page are not checked" >&2; exit 0; }; \
	mkdir -p $(@D) && cp $^ $(@D) && cd $(@D) && npm ci --silent --ignore-scripts --no-audit --no-fund && touch .ready

# Upstream's command with a main package of our own: that of k8s.io/kubernetes needs a replacement for each of its parts.
$(KUBECTL): tools/kubectl/go.mod tools/kubectl/go.sum tools/kubectl/main.go
	@command -v go >/dev/null || { echo "kubectl is built with Go 1.26 or later; install it" >&2; exit 1; }
	go build -C tools/kubectl -trimpath -o $(CURDIR)/$@ -ldflags "-s -w \
	  -X k8s.io/component-base/version.gitVersion=$$(sed -n 's|^\tk8s.io/kubectl v0|v1|p' $<)" .

.PHONY: tools
tools: setup $(HELM) .tools/sam/.ready .tools/ministack/.ready .tools/checkov/.ready .tools/supply_chain/.ready .tools/dynamodb_local/.ready .tools/iam_simulate/.ready .tools/console/.ready ## Set up sam, the AWS emulators and what looks for weaknesses under .tools

.PHONY: validate
validate: tools ## sam validate --lint
	.tools/sam/bin/sam validate --lint --region us-east-1

.PHONY: scan
scan: tools ## A policy scanner, tested, on the template as CloudFormation gets it; its exceptions are in tools/checkov/policy.yaml
	$(BIN)/pytest tests/integration/template/test_policy_scan.py -m scan
	$(BIN)/python -m tests.policy_scan

.PHONY: build
build: tools ## sam build, for Lambda (python3.13 on arm64), and the tests of what is built
	.tools/sam/bin/sam build --no-cached
	$(BIN)/pytest tests/integration -m build

# The Go programs are locked once for each version of Kubernetes. The release has to be given, or they say v0.0.0.
.build/controlplane-%: tests/kubernetes/%.mod tests/kubernetes/%.sum $(wildcard tests/controlplane/*.go)
	@command -v go >/dev/null || { echo "the control plane is built with Go 1.26 or later; install it" >&2; exit 1; }
	go build -C tests -modfile=kubernetes/$*.mod -trimpath -o $(CURDIR)/$@ -ldflags "-s -w \
	  -X k8s.io/component-base/version.gitVersion=$$(sed -n 's|^\tk8s.io/kubernetes ||p' $<) \
	  -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$(*:1.%=%)" ./controlplane

# Built and tested when its sources have changed.
.build/parity-oracle-%: tests/kubernetes/%.mod tests/kubernetes/%.sum $(wildcard tests/parity/oracle/*.go)
	@command -v go >/dev/null || { echo "the oracle is built with Go 1.26 or later; install it" >&2; exit 1; }
	go test -C tests -modfile=kubernetes/$*.mod -tags kubernetes$* -trimpath ./parity/oracle
	go build -C tests -modfile=kubernetes/$*.mod -tags kubernetes$* -trimpath -o $(CURDIR)/$@ ./parity/oracle

.PHONY: parity
parity: setup $(ORACLE) ## Berth beside kube-scheduler's own plugins: N=20000 cases a family, LEAST=5000 for each plugin
	$(BIN)/python -m tests.parity.compare --kubernetes $(KUBERNETES) --cases $(or $(N),20000) --least $(or $(LEAST),5000)

.PHONY: e2e
e2e: tools $(KUBECTL) $(CONTROLPLANE) $(ORACLE) ## A real kube-apiserver and kube-scheduler, against berth serve and the deployed stack (REPEAT=20 TARGETS=1: gangs as in e2e-gangs)
	GANG_REPETITIONS=$(or $(REPEAT),1) GANG_TARGETS=$(TARGETS) $(BIN)/pytest tests/e2e

.PHONY: e2e-core
e2e-core: tools $(CONTROLPLANE) $(ORACLE) ## The end-to-end tests that every change runs: each verb once, and one flow on the deployed stack
	$(BIN)/pytest tests/e2e -m "core and (not stack or core_on_stack)"

.PHONY: e2e-gangs
e2e-gangs: tools $(CONTROLPLANE) ## Everything about gangs, two of them on room for one REPEAT=20 times; fails beyond the targets (TARGETS=0 only shows them)
	GANG_REPETITIONS=$(or $(REPEAT),20) GANG_TARGETS=$(or $(TARGETS),1) $(BIN)/pytest $(wildcard tests/e2e/test_*gang*.py)

# An extender in full mode, and a proxy that delays, to compare Berth with.
$(BENCH_EXTENDER): $(wildcard tests/bench/scheduler/extender/*.go) tests/bench/scheduler/extender/go.mod tests/bench/scheduler/extender/go.sum
	@command -v go >/dev/null || { echo "the Go extender is built with Go 1.26 or later; install it" >&2; exit 1; }
	go build -C tests/bench/scheduler/extender -trimpath -o $(CURDIR)/$@ -ldflags "-s -w" .

# The whole table takes hours, says so when it begins, and then stands in the documents.
.PHONY: bench-scheduler
bench-scheduler: setup $(CONTROLPLANE) $(BENCH_EXTENDER) ## Pods a second through a real kube-scheduler (CASES=name,… NODES=500,1000 RUNS=3 PODS=500; SMALL=1 takes minutes; FROM=results.json goes on; WRITE=1)
	@$(BIN)/python -m tests.bench.scheduler --kubernetes $(KUBERNETES) \
	  $(if $(SMALL),--small) $(if $(CASES),--cases '$(CASES)') $(if $(NODES),--nodes '$(NODES)') $(if $(RUNS),--runs $(RUNS)) \
	  $(if $(PODS),--pods $(PODS)) $(if $(FROM),--from $(FROM)) $(if $(WRITE)$(if $(SMALL)$(CASES)$(NODES)$(RUNS)$(PODS),,all),--write)

.PHONY: facts
facts: setup $(CONTROLPLANE) ## What kube-scheduler does with an extender's answers, compared with what was kept (WRITE=yes keeps it; then make reference)
	$(BIN)/python -m tests.scheduler_facts $(if $(WRITE),--write,--compare)

# A version that fails does not keep the others from running. KUBERNETES has e2e and parity as targets of their own.
.PHONY: versions
versions: ## e2e-core, parity and facts with every other version under tests/kubernetes (N=5000 LEAST=1000), gangs with those that have PodGroups, facts with this one
	$(MAKE) --keep-going facts $(addprefix version-,$(filter-out $(KUBERNETES),$(VERSIONS)))

version-%:
	$(MAKE) --keep-going e2e-core $(if $(filter $*,$(WITH_PODGROUPS)),e2e-gangs) parity facts \
	  KUBERNETES=$* N=$(or $(N),5000) LEAST=$(or $(LEAST),1000) REPEAT=$(or $(REPEAT),3)

.PHONY: chaos
chaos: tools $(CONTROLPLANE) ## Faults on a real control plane, and what holds after each (SEED=0|today ROUNDS=… ONLY=fault,… WITHIN=seconds FORMAT=json)
	@$(BIN)/python -m tests.chaos --seed $(or $(SEED),0) -o $(or $(FORMAT),table) $(if $(ROUNDS),--rounds $(ROUNDS)) \
	  $(if $(WITHIN),--seconds $(WITHIN)) $(if $(ONLY),--only $(ONLY))

.PHONY: sam-local
sam-local: tools ## Every fixture through sam local invoke, in Docker (FIXTURES="filter/cache-mode …" for some)
	@$(BIN)/python -m tests.sam_local $(FIXTURES)

.PHONY: sam-local-core
sam-local-core: tools ## One fixture of each function through sam local invoke, in Docker
	@$(BIN)/python -m tests.sam_local --one-each

# The stack on this machine: where it runs and what it writes is in .build/local-stack.
.PHONY: local-stack
local-stack: setup .tools/sam/.ready .tools/ministack/.ready ## The whole stack in an emulated AWS account, until Ctrl-C (CLUSTER=dump | KUBECONFIG_FILE=file, PLUGINS=dir, PORT=4566, PARAMETERS="Name=value …")
	@$(BIN)/python -m tools.local_stack --port $(or $(PORT),4566) $(if $(CLUSTER),--cluster '$(CLUSTER)') \
	  $(if $(KUBECONFIG_FILE),--kubeconfig '$(KUBECONFIG_FILE)') $(if $(PLUGINS),--plugins '$(PLUGINS)') $(foreach each,$(PARAMETERS),--parameter '$(each)')

.PHONY: local-stack-plugins
local-stack-plugins: setup .tools/sam/.ready ## Deploy changed plugins onto the local stack that runs in another terminal (PLUGINS=dir)
	@$(BIN)/python -m tools.local_stack --replace-plugins $(if $(PLUGINS),--plugins '$(PLUGINS)')

.PHONY: local-stack-stop
local-stack-stop: setup ## Stop the local stack of another terminal
	@$(BIN)/python -m tools.local_stack --stop

.PHONY: acceptance
acceptance: $(if $(STACK),tools) ## Deploy, try, measure and delete a stack in your account: STACK=name, PARAMETERS="Name=value …", KUBECONFIG=file, SCHEDULER=command, KEEP=1
	@[[ -n "$(STACK)" ]] || { echo "give STACK=name; docs/how-to/acceptance.md" >&2; exit 2; }
	@$(BIN)/python -m tools.acceptance --stack $(STACK) $(foreach each,$(PARAMETERS),--parameter '$(each)') \
	  $(if $(KUBECONFIG),--kubeconfig '$(KUBECONFIG)') $(if $(SCHEDULER),--scheduler '$(SCHEDULER)') $(if $(KEEP),--keep) $(ARGUMENTS)

# ------------------------------------------------------------------------------------------------------------- delivery
.PHONY: wheel
wheel: setup ## Build the wheel into dist, install it somewhere else, and use every command that needs no account there
	$(BIN)/python -m tests.wheel dist

.PHONY: image
image: setup .tools/ministack/.ready ## The command in a container image, built and run in Docker: no root, read-only (BASE=image with Python, TAG=name)
	$(BIN)/python -m tools.image $(if $(BASE),--base '$(BASE)') $(if $(IMAGE_TAG),--tag '$(IMAGE_TAG)')
	@$(BIN)/python -m tests.image $(IMAGE_TAG)

.PHONY: chart
chart: setup $(HELM) ## Copy the examples into charts/berth, check the chart with helm lint, and pack it into dist
	mkdir -p charts/berth/files/admission dist
	cp examples/rbac.yaml examples/rbac-counted-resources.yaml charts/berth/files/
	cp examples/admission/*.yaml charts/berth/files/admission/
	$(HELM) lint --strict charts/berth --kube-version $(KUBERNETES) --set scheduler.url=https://berth.example.com/scheduler
	$(HELM) package charts/berth --destination dist

.PHONY: sbom
sbom: setup .tools/supply_chain/.ready ## Bills of materials (CycloneDX) of the layers and of the command, in dist
	$(BIN)/python -m tools.supply_chain.sbom dist

.PHONY: audit
audit: setup .tools/supply_chain/.ready ## Known vulnerabilities in what is locked (AUDIT=--offline-ok passes if no index service can be asked)
	$(BIN)/python -m tools.supply_chain.audit $(AUDIT)

.PHONY: release-version
release-version: ## Fail unless TAG is the version of the package with a v before it
	@version=$$(sed -n 's/^__version__ = "\(.*\)"$$/\1/p' layers/scheduling/berth/__init__.py); \
	  [[ "$${TAG:-}" == "v$$version" ]] || { echo "TAG=$${TAG:-}, but the package is $$version: tag v$$version" >&2; exit 1; }

.PHONY: release
release: release-version ## Publish dist as a GitHub release of TAG (needs gh and its GH_TOKEN)
	gh release create "$$TAG" dist/* --verify-tag --title "Berth $$TAG" --notes "See CHANGELOG.md."

# -------------------------------------------------------------------------------------------------------------- quality
# A module of its own with locked sums, as the control plane has: the same version everywhere.
$(ACTIONLINT): tools/actionlint/go.mod tools/actionlint/go.sum
	@command -v go >/dev/null || { echo "actionlint is built with Go 1.26 or later; install it" >&2; exit 1; }
	go build -C tools/actionlint -trimpath -o $(CURDIR)/$@ github.com/rhysd/actionlint/cmd/actionlint

.PHONY: lint
lint: style types actionlint ## Check style, types, the arrows between the packages, and the workflows
	$(BIN)/lint-imports --no-cache

.PHONY: style
style: setup .tools/hooks/.ready .tools/sam/.ready ## Check every file as the hooks of .pre-commit-config.yaml check a commit
	.tools/hooks/bin/pre-commit run --all-files --show-diff-on-failure

.PHONY: types
types: setup ## Check types: mypy strict, the handlers as functions.VERB.app
	$(BIN)/mypy layers/scheduling/berth cli/berth_cli functions tests tools

.PHONY: actionlint
actionlint: $(ACTIONLINT) ## Check .github/workflows
	$(ACTIONLINT)

.PHONY: hooks
hooks: setup .tools/hooks/.ready .tools/sam/.ready ## Have git run the hooks of .pre-commit-config.yaml at each commit
	.tools/hooks/bin/pre-commit install

.PHONY: format
format: setup ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# ---------------------------------------------------------------------------------------------------------------- lanes
.PHONY: pr
pr: ## Run the lane for every change, as continuous integration does: at most 25 minutes
	.ci/run

.PHONY: nightly
nightly: ## Run everything at full size, go on after a failure, and print a table: hours, on a machine of its own (CONTINUE=1 leaves out what has passed at this commit, FROM=e2e what is before e2e)
	$(PYTHON) -m tools.lanes nightly $(if $(FROM),--from $(FROM)) $(if $(CONTINUE),--continue)

# ------------------------------------------------------------------------------------------------------------ documents
.PHONY: reference
reference: setup ## Write the generated pages of docs/reference and the configuration's JSON Schema
	$(BIN)/berth config schema > docs/configuration.schema.json
	$(BIN)/python -m tools.reference --write

.PHONY: deployer-policy
deployer-policy: tools ## Derive docs/deployer-policy.json from CloudFormation's schemas of the types in the template
	$(BIN)/python -m tools.deployer_policy --write

# Diagrams are drawn by Mermaid, from a copy of our own: readers load nothing from elsewhere. Without npm they stay text.
MERMAID := 11.16.0
.tools/docs/mermaid.min.js: tools/docs/mermaid.sha256 | .tools/docs/.ready
	@command -v npm >/dev/null || { echo "no npm: the site shows diagrams as text" >&2; exit 0; }; \
	cd .tools/docs && npm pack --silent mermaid@$(MERMAID) >/dev/null && \
	tar -xzf mermaid-$(MERMAID).tgz --strip-components=2 package/dist/mermaid.min.js && rm mermaid-$(MERMAID).tgz && \
	sha256sum --quiet --check $(CURDIR)/$< && touch mermaid.min.js

.PHONY: demo-svg
demo-svg: setup ## Draw docs/images/demo.svg from a run of berth demo
	$(BIN)/python -m tools.docs.demo_picture docs/images/demo.svg

.PHONY: docs
docs: setup .tools/docs/.ready .tools/docs/mermaid.min.js ## Build the documents' site into .build/site; broken links, outdated references and an outdated picture fail
	$(BIN)/python -m tools.reference --check
	$(BIN)/python -m tools.docs.demo_picture --check docs/images/demo.svg
	NO_MKDOCS_2_WARNING=1 .tools/docs/bin/mkdocs build --strict
