# Two commands do everything on a machine with Python 3.11+ and make: `make demo` and `make test`.
PYTHON ?= python3
# Independent references for the tests. Without what they ask for: some of it has no build beside ours.
REFERENCES := curvlinops-for-pytorch backpack-for-pytorch captum \
  einconv einops jaxtyping linear_operator opt_einsum unfoldNd wadler_lindig
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: setup demo test slow lint types bench clean
.DELETE_ON_ERROR:

setup: $(READY)  ## the environment, pinned by constraints.txt

$(READY): pyproject.toml constraints.txt
	@echo "Setting up $(VENV), once: it takes some minutes"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[all,dev]"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps $(REFERENCES)
	touch $@

demo: $(READY)  ## train on the embedded data, compare the deliveries, write the page
	$(BIN)/dissensus demo

test: $(READY)  ## the whole suite, docstrings and README included
	$(BIN)/python -m pytest -n 2 -m "not slow and not gpu"

slow: $(READY)  ## the tests that take minutes
	$(BIN)/python -m pytest -n 2 -m "slow and not gpu"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(READY)
	$(BIN)/mypy

bench: $(READY)  ## every benchmark, results as JSON under benchmarks/results/
	$(BIN)/python benchmarks/run_all.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
