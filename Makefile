# Everything a contributor runs. CI runs the same commands (.ci/run). Works with GNU make 3.81 and later.

PYTHON ?= python3
VENV   ?= .venv
ARGS   ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help setup demo test check format convergence convergence-short bench bench-peers bench-thread docs lock clean distclean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' Makefile
	@echo "  PYTHON=python3.12 chooses the interpreter, ARGS='…' is handed on (make test ARGS='-k charset')."

setup: $(VENV)/.installed ## install the locked packages and atlas-extract itself into .venv

# The two stamps: packages are installed again when the lock changes, the project when pyproject.toml does.
$(VENV)/.locked: requirements.lock | $(BIN)/python
	@echo "Installing the locked packages into $(VENV) (a minute or two, once per change of the lock)"
	@$(PIP) install --quiet --require-hashes -r requirements.lock
	@touch $@

$(VENV)/.installed: $(VENV)/.locked pyproject.toml
	@$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
	  echo "setup: '$(PYTHON)' was not found. Install Python 3.11 or later, or name one: make setup PYTHON=/path/to/python3" >&2; \
	  exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "setup: atlas-extract needs Python 3.11 or later, but '$(PYTHON)' is `$(PYTHON) --version 2>&1`. Name a newer one: make setup PYTHON=python3.12" >&2; \
	  exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "setup: '$(PYTHON)' comes without the venv module. On Debian and Ubuntu: apt-get install python3-venv" >&2; \
	  exit 1; }
	@$(PYTHON) -m venv $(VENV)

demo: setup ## set up, then run the whole pipeline on the sample mailbox
	@$(BIN)/python -m eval.demo $(ARGS)

test: setup ## set up, then run all tests
	$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

check: setup ## format, lint, types, layers and spelling; changes nothing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/codespell
	$(BIN)/python docs/build.py --check

format: setup ## format the code and mend what the linter can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

convergence: setup ## the long convergence run: orders, splits, kills, two processes (an hour or so)
	@$(BIN)/python -m eval.convergence --long $(ARGS)

convergence-short: setup ## the same in about five minutes, as CI runs it
	@$(BIN)/python -m eval.convergence --short $(ARGS)

bench: setup ## the benchmark: 10,000 made-up mails, the product beside its peers (ARGS='--mails 1000')
	@$(BIN)/python -m eval.bench $(ARGS)

bench-peers: setup ## install the peers of the benchmark, each in an environment of its own under state/bench
	@$(BIN)/python -m eval.bench --install-peers

bench-thread: setup ## CPU time of filing one message in the thread index at 10 k and 100 k stored (ARGS='--stored 1000000')
	@$(BIN)/python -m flows.thread_cost $(ARGS)

# Pins stay as they are unless asked: make lock ARGS=--upgrade
lock: $(BIN)/python ## write requirements.lock anew from pyproject.toml
	@$(BIN)/python -c 'import uv' 2>/dev/null || $(PIP) install --quiet uv
	@$(BIN)/python -m uv pip compile pyproject.toml --extra postgres --extra dev \
	  --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
	  --custom-compile-command "make lock" --quiet --output-file requirements.lock $(ARGS)

docs: setup ## write the pages of docs/ that are made from the code (ARGS=--demo: the READMEs' samples too)
	@$(BIN)/python docs/build.py $(ARGS)

clean: ## remove caches and build output; never touches state/
	@rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find models stages storage projections eval flows tests -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean ## the same, and .venv
	@rm -rf $(VENV)
