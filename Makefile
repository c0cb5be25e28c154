# `make test` is what continuous integration runs; it needs Python 3.11 or later and a C++ compiler.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# Every process would compile the source of all that it imports, if Python were told to keep nothing.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python

.PHONY: venv demo test lint ready tests quick browser long table calibration growth sources zoo studies blackbox nested reproduction bits pages docs map covid bench bench-quick clean

venv: $(READY)

# The stamp is written last, so an interrupted installation is done again. uv installs in a tenth of
# the time; where it cannot be had, or does not find what pip finds, pip does it.
$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("refti needs Python 3.11 or later; got %d.%d. Say make PYTHON=python3.11" % sys.version_info[:2])'
	$(PYTHON) -m venv .venv
	$(PIP) --only-binary :all: uv && $(UV) --requirement requirements.txt && $(UV) --no-deps --editable . || \
		{ $(PIP) --requirement requirements.txt && $(PIP) --no-deps --editable .; }
	@touch $@

demo: venv
	$(BIN)/refti run src/refti/paper/radiata/model.py:density src/refti/paper/radiata/model.py:adjusted_density --store runs/demo

test: lint tests

lint: venv
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

# What several processes would else make side by side: Stan's header, begun, and bytecode.
ready: venv
	@$(BIN)/python tests/begin_header.py
	@$(BIN)/python -W ignore tests/import_once.py >/dev/null

tests: venv
	@$(BIN)/python tests/begin_header.py
	$(BIN)/python -m pytest -n 2

# For the edit loop: nothing that samples or compiles C++.
QUICK := tests/test_imports.py tests/test_processes.py tests/test_tuning.py $(addprefix tests/, \
	models search paths draws estimators checks results studies plots)
quick: lint
	$(BIN)/python -m pytest -n 2 -m "not slow and not long" $(QUICK)

# Reports in a headless Chromium, which is installed where it is missing and apt-get is there.
browser: venv
	@command -v chromium >/dev/null || { apt-get update && apt-get install --yes --no-install-recommends chromium fonts-dejavu-core; } || \
		{ echo "Chromium is not here and could not be installed: install it by hand, and say make browser again."; exit 1; }
	REFTI_BROWSER=needed $(BIN)/python -m pytest -n 0 -m browser

# What takes minutes and is left out of test; compiled as users have it (see tests/processes.py).
long: venv
	XLA_FLAGS= NUMBA_OPT=3 $(BIN)/python -m pytest -m long

table: venv
	$(BIN)/python -m benchmarks.core_table

calibration: venv
	$(BIN)/refti calibrate coverage --output runs/calibration

growth: venv
	$(BIN)/python -m benchmarks.growth

sources: venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pystan nutpie
	$(BIN)/python -m benchmarks.sources --peers

zoo: venv
	$(BIN)/python -m benchmarks.zoo

# Models after published ones, and the tables of docs/sources.md; goes on from runs/studies.jsonl.
# COMMAND_LINE=yes: each by the command line as well.
studies: venv
	$(BIN)/python -m benchmarks.case_studies $(if $(COMMAND_LINE),--command-line)

blackbox: venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check dynesty
	$(BIN)/python -m benchmarks.blackbox

# dynesty beside refti on the targets with a box; goes on from runs/nested_sampling.jsonl.
nested: venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check dynesty
	$(BIN)/python -m benchmarks.nested_sampling

reproduction: venv
	$(BIN)/refti reproduce all --output runs/reproduction

# Whether two revisions give the same numbers to the last bit: make bits OLD=revision [NEW=revision].
bits: venv
	$(BIN)/python -m benchmarks.same_bits --old $(OLD) $(if $(NEW),--new $(NEW))

# The page of all numbers that refti works by, and the tables of its choices, after one was changed.
pages: venv
	$(BIN)/python -m benchmarks.tuning_page
	$(BIN)/python -m benchmarks.settings_tables
	$(BIN)/python -m benchmarks.command_page

# The documentation, in build/docs: every code cell is run, and a warning is an error.
docs: venv
	$(BIN)/python -m sphinx -W --keep-going -q -E -j 2 -b html docs build/docs

# Folders, sizes, import levels and the files that evidence() passes through: make map [REVISION=].
map: venv
	@$(BIN)/python -m benchmarks.house_map $(if $(REVISION),--revision $(REVISION))

# After reproduction, whose evidences it confirms by another sampler and bridge sampling.
covid: venv
	$(BIN)/python -m benchmarks.covid_check -o runs/covid_check.jsonl --runs runs/reproduction/covid/runs/right
	$(BIN)/python -m benchmarks.covid_cost -o runs/covid_cost.jsonl --runs runs/reproduction/covid/runs/right

# refti beside other programs, each in an environment of its own, then the page: hours, and goes on from
# the rows that are there. bench-quick has short problems and three seeds: an hour or so.
bench: venv
	$(BIN)/python -m benchmarks.peers.run
	$(BIN)/python -m benchmarks.peers.page --made-by "make bench"

bench-quick: venv
	$(BIN)/python -m benchmarks.peers.run --quick --limit 120
	$(BIN)/python -m benchmarks.peers.page

clean:
	rm -rf .venv build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis
