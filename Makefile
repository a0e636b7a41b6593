# `make demo` and `make test` set up everything they need on a machine with Python, make and git.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: setup demo test lint browser bench soak paper profiles clean

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

# A browser for the tests of the report's page: where there is none and apt cannot be used without
# asking anybody, those tests are skipped and say so.
browser:
	@if ! command -v chromium >/dev/null || ! command -v chromedriver >/dev/null; then \
	  if [ "$$(id -u)" = 0 ]; then as=; else as="sudo -n"; fi; \
	  { $$as apt-get update -qq && $$as env DEBIAN_FRONTEND=noninteractive \
	    apt-get install -y -qq --no-install-recommends chromium chromium-driver; } \
	    >/dev/null 2>&1 </dev/null || echo "no Chromium: the report's page is not tested in one"; \
	fi

# The whole gate; .ci/run calls exactly this.
test: lint browser
	$(BIN)/pytest -n 2 --cov --cov-report=term

bench: setup
	$(BIN)/python benchmarks/speed/run.py

# Training while devices and the server are killed and cut off: 200 faults, some ten minutes.
soak: setup
	$(BIN)/python -m tests.net.campaign --faults 200 --seed 0 -o benchmarks/net/faults.md

# The paper's tables and figures, results under benchmarks/paper.
paper: setup
	$(BIN)/tiercut reproduce all

# The shipped profiles; a test holds them equal to a fresh trace.
profiles: setup
	for model in alexnet vgg11 vgg19 resnet101 small; do \
	  $(BIN)/tiercut profile $$model -o src/tiercut/models/profiles/$$model.json || exit 1; done

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage*
