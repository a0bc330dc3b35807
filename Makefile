# Two commands do everything on a fresh machine with Python 3.11+, make and a C compiler:
#   make demo   set up, publish a generated census, verify it, reconstruct a table
#   make test   set up, lint, type-check and run every test
# make fuzz tries every edit of certificates, and random recipes and files, for FUZZ_SECONDS (ten minutes).
# make faults kills, tears, stops and starves every command at every call that writes (some twenty minutes).
# make browser builds the scripts of served pages from their TypeScript (needs Node).
# make bench runs every comparison with other tools in one go (some ten minutes).
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PRODUCT := $(VENV)/.product
TOOLS  := $(VENV)/.tools
KERNELS := $(shell find src -name '*.c' -o -name '*.h')
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

.PHONY: demo test fuzz faults lint setup bench browser clean

setup: $(TOOLS)

# The product alone: what a user has after `pip install pramana`.
$(PRODUCT): pyproject.toml setup.py $(KERNELS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Pramana needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	@touch $@

# And what its developers use: linters, types, test runners, Spark and databases.
$(TOOLS): $(PRODUCT)
	$(PIP) -e '.[dev]'
	@touch $@

demo: $(PRODUCT)
	$(BIN)/pramana demo --out demo-output

lint: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -n auto --dist loadgroup

# Hostile certificates, recipes and files for so many seconds; what fails tells its seed.
FUZZ_SECONDS ?= 600
fuzz: $(TOOLS)
	FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/python -m tests.security.fuzz

# Every fault at every point; the result is stored in docs/experiments/faults.md.
faults: $(TOOLS)
	mkdir -p build
	$(BIN)/python -m tests.faults --json build/faults.json
	$(BIN)/python -m tests.faults.table build/faults.json

# The built scripts are committed, and the tests compare them with what their source builds to.
browser:
	npm ci --no-audit --no-fund
	npm run --silent build

# Peers from PyPI get environments of their own under .venv-bench; tables go to benchmarks/results.
bench: $(TOOLS)
	$(BIN)/python -m benchmarks prepare
	$(BIN)/python -m benchmarks run

clean:
	rm -rf $(VENV) .venv-bench build dist demo-output node_modules src/*.egg-info
	find src -name '*.so' -delete
