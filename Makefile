# `make demo` and `make test` set up everything they need on a machine with Python, make and git.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: setup demo test lint bench paper profiles clean

setup: $(READY)

# torch goes first and alone: pip then takes the pinned build, and nothing later pulls a larger one.
$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet torch==2.13.0
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $(READY)

demo: setup
	$(BIN)/python examples/demo.py

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The whole gate; .ci/run calls exactly this.
test: lint
	$(BIN)/pytest -n 2 --cov --cov-report=term

bench: setup
	$(BIN)/python benchmarks/speed/run.py

# The paper's tables and figures, results under benchmarks/paper.
paper: setup
	$(BIN)/tiercut reproduce all

# The shipped profiles; a test holds them equal to a fresh trace.
profiles: setup
	for model in alexnet vgg11 vgg19 resnet101 small; do \
	  $(BIN)/tiercut profile $$model -o src/tiercut/models/profiles/$$model.json || exit 1; done

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage*
