# Everything a newcomer needs: Python 3.11 or later and make. Each target sets up what it uses.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Tests run on all cores; tests that share a broker stay on one worker.
WORKERS ?= auto
PYTEST_ARGS ?=
TORTURE_ARGS ?=

.DEFAULT_GOAL := help

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --upgrade pip

$(VENV)/.run: pyproject.toml | $(BIN)/python
	@echo 'installing into $(VENV), which takes a minute or two:'
	$(BIN)/python -m pip install --editable '.[kafka,plot]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	@echo 'installing into $(VENV), which takes a few minutes:'
	$(BIN)/python -m pip install --editable '.[dev]'
	@touch $@

$(VENV)/.bench: pyproject.toml $(VENV)/.dev
	$(BIN)/python -m pip install --editable '.[dev,bench]'
	@touch $@

setup: $(VENV)/.dev ## Create the environment and install everything for development

demo: $(VENV)/.run ## Run the embedded demonstration: a stream with a rare slice, bare against focused
	$(BIN)/maxloss demo
	@echo 'the command is $(BIN)/maxloss; source $(BIN)/activate puts it on the PATH of this shell'

test: $(VENV)/.dev ## Run the tests, doctests and the README's examples (under 8 minutes on 2 idle cores)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m 'not slow' $(PYTEST_ARGS)

test-slow: $(VENV)/.dev ## Run what `make test` leaves out: killed processes, browsers, notebooks, Ray
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m slow $(PYTEST_ARGS)

test-all: test test-slow ## Run every test, as CI does

test-lowest: $(VENV)/.dev ## Run the tests of the learners with the oldest dependencies that pyproject.toml allows
	$(BIN)/python -m tools.lowest_versions

test-again: $(VENV)/.dev ## Run the tests that failed last time once more, one by one; more than five are not worth it
	$(BIN)/python -m tools.failed_tests --most 5 -- $(PYTEST_ARGS)

lint: $(VENV)/.dev ## Check style, types, spelling and the import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell
	PYTHONPATH=.:connectors $(BIN)/lint-imports

format: $(VENV)/.dev ## Format the code and fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.bench ## Run the benchmarks against the peers and rebuild docs/benchmarks.md (under 15 minutes on 2 idle cores)
	$(BIN)/python -m benchmarks

bench-quick: $(VENV)/.bench ## A short form of the benchmarks (under 2 minutes once kernels are compiled)
	$(BIN)/python -m benchmarks --quick

kafka: $(VENV)/.dev ## Run a local Kafka broker to try things on, until Ctrl-C (needs Java 17 and Maven)
	$(BIN)/python -m tools.kafka_broker

reproduce: $(VENV)/.dev ## Reproduce the papers' results and rebuild docs/reproductions.md
	$(BIN)/python -m examples.reproduce

torture: $(VENV)/.dev ## Kill, fuzz, starve and soak it, and print a table of what came of it (20 minutes and more; Kafka needs Java 17)
	$(BIN)/python -m tests.torture $(TORTURE_ARGS)

mutants: $(VENV)/.dev ## Change the kernels one line at a time and see whether a test notices (30 minutes and more; ends with a score)
	$(BIN)/python -m tools.mutants

docs: $(VENV)/.dev ## Build the documentation site into build/site and check its spelling and links
	$(BIN)/codespell README.md CHANGELOG.md CONTRIBUTING.md docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "open build/site/index.html"

wheel: $(VENV)/.dev ## Build the wheel and the source distribution into dist/
	$(BIN)/python -m build --outdir dist .

clean: ## Remove the environment and everything that was built
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

.PHONY: help setup demo test test-slow test-all test-lowest test-again lint format bench bench-quick kafka reproduce torture mutants docs wheel clean
