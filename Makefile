# Run `make demo` (answers a file of questions end to end) or `make test`; both run `make setup` first.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.setup-done
TEST_WORKERS ?= auto
SEED ?= 1

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint up down bench soak chaos pins clean

help: ## show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup: $(STAMP) ## create .venv with everything in it, at the pinned versions

$(STAMP): requirements-dev.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "stepmill needs Python 3.11 or newer; set PYTHON=")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements-dev.txt
	$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $(STAMP)

demo: setup ## answer a file of questions through queues, workers and a model over HTTP
	$(BIN)/stepmill demo

test: setup ## run every test, on real Redis, SQLite and PostgreSQL
	$(BIN)/python -m pytest -n $(TEST_WORKERS) --dist worksteal

lint: setup ## run ruff, mypy --strict, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

up: setup ## start the whole stack on this machine
	$(BIN)/stepmill up

down: setup ## stop the stack
	$(BIN)/stepmill down

bench: setup ## measure calls per second, latencies, rows; print a table
	$(BIN)/python -m tests.bench

soak: setup ## run the tests that take minutes: load, a million rows, and `make chaos`; SEED=n as there
	$(BIN)/python -m pytest tests -m "soak or chaos" -s --chaos-seed $(SEED)

chaos: setup ## answer hundreds of questions amid random faults, and a minute under limits; SEED=n repeats a run
	$(BIN)/python -m pytest tests/faults tests/engine/test_limits.py -m chaos -s --chaos-seed $(SEED)

pins: ## write requirements*.txt, with hashes, from the packages in .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-tools
	$(BIN)/python .ci/pins.py

clean: ## remove build output, not the data
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis $(STAMP)
