# What every layer's build has in common. The packages are those of the Lambda runtime, whatever machine builds them:
# wheels only, for the platform and the Python version that these variables name. They must agree with the template's
# parameters Architecture and PythonRuntime; their defaults do.
BERTH_ARCHITECTURE ?= arm64
BERTH_PYTHON_VERSION ?= 3.13

# The runtime cannot write byte-code under /opt: without it, every cold start compiles what it imports (measured: bind's
# imports take 0.8 s instead of 0.4 s). Only an interpreter of the runtime's own version can make it: by default it is
# made where there is one on PATH; an empty value leaves it out.
BERTH_BYTECODE_PYTHON ?= $(shell python$(BERTH_PYTHON_VERSION) -c 'import sys; print(sys.executable)' 2>/dev/null)

PYTHON ?= python3

platform_arm64 = manylinux2014_aarch64
platform_x86_64 = manylinux2014_x86_64
PLATFORM = $(or $(platform_$(BERTH_ARCHITECTURE)),\
	$(error BERTH_ARCHITECTURE is "$(BERTH_ARCHITECTURE)": say arm64 or x86_64))

PACKAGES = $(ARTIFACTS_DIR)/python

# The requirements are locked in full, but for what the runtime or another layer already has: hence no resolving here.
define install_requirements
	mkdir -p "$(PACKAGES)"
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-compile --no-deps \
		--require-hashes --only-binary=:all: --implementation cp --python-version $(BERTH_PYTHON_VERSION) \
		--platform $(PLATFORM) --target "$(PACKAGES)" --requirement requirements.txt
	rm -rf "$(PACKAGES)/bin"
endef

# A layer's content decides whether a new version is published. So byte-code carries a hash instead of a time stamp,
# and what a developer's own runs left behind is not copied.
define settle_bytecode
	find "$(PACKAGES)" -name __pycache__ -prune -exec rm -rf {} +
	$(if $(BERTH_BYTECODE_PYTHON),\
		$(BERTH_BYTECODE_PYTHON) -m compileall -q --invalidation-mode unchecked-hash \
			-s "$(PACKAGES)" -p /opt/python "$(PACKAGES)",\
		@echo "a layer without byte-code: there is no python$(BERTH_PYTHON_VERSION) here to make it")
endef
