# Each verb does the set-up that it needs first.
SHELL := bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off
# One line a package, so that a first run is seen to move.
PROGRESS := sed -u -n -E 's/^Collecting ([^= ]+).*/  \1/p; s/^(Installing collected|Building wheels).*/  \1 .../p'

# Broken inputs that `make fuzz` feeds to each reader of bytes.
N ?= 100000

.PHONY: setup demo test test-unit test-long check fuzz faults faults-table bench dist lock clean

setup: $(READY)

$(READY): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "sparkmirror needs Python 3.11 or later: set PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Installing into $(VENV) (Spark alone is about 450 MB; a few minutes the first time) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@set -o pipefail; $(PIP) --require-hashes -r requirements/dev.txt | $(PROGRESS)
	@set -o pipefail; $(PIP) --no-deps --no-build-isolation --no-index -e . | $(PROGRESS)
	@echo "Compiling kernels ..."
	@$(BIN)/python -m sparkmirror.copy.lane.warm
	@touch $(READY)

demo: setup
	@$(BIN)/sparkmirror demo

test: setup
	@$(BIN)/python -m sparkmirror.embedded all
	@$(BIN)/pytest

# What takes long on purpose: 200,000 transactions, 50 kills of the whole mirror. KILLS, SEED, TRANSACTIONS as you like.
test-long: setup
	@$(BIN)/python -m sparkmirror.embedded all
	@$(BIN)/pytest -s tests/long
	@$(BIN)/pytest -m long tests/broker tests/faults

test-unit: setup
	@$(BIN)/pytest tests/unit

check: setup
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python requirements/audit.py
	@$(BIN)/python -m tests.fuzz --count 5000 --seed 0

# Another seed each time; a finding prints the command that shows it again.
fuzz: setup
	@$(BIN)/python -m tests.fuzz --count $(N)

# Faults in random order, taken up where the last run of the seed ended: SEED, MINUTES, COUNT, KINDS, INDEX as you like.
faults: setup
	@$(BIN)/python -m sparkmirror.embedded
	@$(BIN)/python -m tests.chaos $(foreach option,SEED MINUTES COUNT KINDS INDEX,$(if $($(option)),--$(shell echo $(option) | tr A-Z a-z) $($(option))))

# docs/faults.md from all results so far.
faults-table: setup
	@$(BIN)/python -m tests.chaos --table

bench: setup
	@$(BIN)/python -m sparkmirror.embedded
	@$(BIN)/python -m bench

dist: setup
	@$(BIN)/python -m build --no-isolation --outdir dist .

# New pins after a change of pyproject.toml.
lock: setup
	@$(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --python-version 3.11 \
	  --extra dev pyproject.toml -o requirements/dev.txt
	@$(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --python-version 3.11 \
	  pyproject.toml -o requirements/run.txt

clean:
	rm -rf $(VENV) dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .numba_cache
