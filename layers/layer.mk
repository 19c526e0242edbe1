# Common part of the layers' builds. The packages are wheels for the platform and Python version of these variables,
# whatever machine builds them. The variables must agree with the template's Architecture and Runtime;
# the defaults do.
BERTH_ARCHITECTURE ?= arm64
BERTH_PYTHON_VERSION ?= 3.13

# The runtime cannot write byte-code under /opt. Without byte-code, every cold start compiles its imports (measured for
# bind: 0.8 s instead of 0.4 s). Only an interpreter of the runtime's version can compile it: by default the one on
# PATH. An empty value skips this step.
BERTH_BYTECODE_PYTHON ?= $(or $(shell python$(BERTH_PYTHON_VERSION) -c 'import sys; print(sys.executable)' 2>/dev/null),\
	$(error python$(BERTH_PYTHON_VERSION) does not run here: the layers would have no byte-code, and each cold start \
	would take twice as long. Install it (uv python install $(BERTH_PYTHON_VERSION)) and put it on PATH, or name one in \
	BERTH_BYTECODE_PYTHON. BERTH_BYTECODE_PYTHON= builds without byte-code))

PYTHON ?= python3

platform_arm64 = manylinux2014_aarch64
platform_x86_64 = manylinux2014_x86_64
PLATFORM = $(or $(platform_$(BERTH_ARCHITECTURE)),\
	$(error BERTH_ARCHITECTURE is "$(BERTH_ARCHITECTURE)": say arm64 or x86_64))

PACKAGES = $(ARTIFACTS_DIR)/python

# The locked requirements omit only packages of the runtime or of another layer, so pip resolves nothing.
define install_requirements
	mkdir -p "$(PACKAGES)"
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-compile --no-deps \
		--require-hashes --only-binary=:all: --implementation cp --python-version $(BERTH_PYTHON_VERSION) \
		--platform $(PLATFORM) --target "$(PACKAGES)" --requirement requirements.txt
	rm -rf "$(PACKAGES)/bin"
endef

# A change of the layer's content publishes a new version. So byte-code contains a hash instead of a time stamp, and
# byte-code of local runs is removed.
define compile_bytecode
	find "$(PACKAGES)" -name __pycache__ -prune -exec rm -rf {} +
	$(if $(BERTH_BYTECODE_PYTHON),\
		$(BERTH_BYTECODE_PYTHON) -c 'import sys; v = "%d.%d" % sys.version_info[:2]; \
			v == "$(BERTH_PYTHON_VERSION)" or sys.exit("BERTH_BYTECODE_PYTHON is Python " + v + ", not $(BERTH_PYTHON_VERSION)")'
		$(BERTH_BYTECODE_PYTHON) -m compileall -q --invalidation-mode unchecked-hash \
			-s "$(PACKAGES)" -p /opt/python "$(PACKAGES)")
endef
