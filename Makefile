# Two commands on a fresh machine (Python 3.11+ and make): `make plan` and `make test`.
PYTHON ?=
BIN := .venv/bin
export PYTHON
# Compiled modules are kept: every test that starts the program would compile it anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help plan serve test check verbs judges bench fit constraints wheel clean setup setup-dev

help:
	@echo "make plan         set up .venv and plan problems/01-chat-70b.yaml"
	@echo "make serve        set up .venv with the extra and serve the page at http://127.0.0.1:8080/"
	@echo "make test         set up .venv and run every check and test"
	@echo "make verbs        ask every verb of every sample problem, as programs, without a limit"
	@echo "make judges       the heavier independent checks: relations, random optima, mutations"
	@echo "make check        the static part: ruff, mypy, import contract"
	@echo "make bench        speed"
	@echo "make fit          fit the calibration to measurements and write docs/accuracy.md"
	@echo "make wheel        build dist/*.whl and try it in an environment of its own"
	@echo "make constraints  choose the versions of constraints.txt anew"
	@echo "make clean        remove .venv and every cache"

setup:
	@.ci/setup

setup-dev:
	@.ci/setup dev

plan: setup
	@$(BIN)/planner plan problems/01-chat-70b.yaml

# The extra is in no way part of the others: it is added to whatever the environment has.
serve: setup
	@$(BIN)/python -c 'import alembic, nicegui, sqlalchemy' 2>/dev/null || \
	  PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[serve]'
	@$(BIN)/planner serve

check: setup-dev
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache --no-logo

# pytest comes last: its closing line is the last thing to read.
test: check
	@$(BIN)/pytest -n 2 --dist loadgroup

# LIMIT: seconds for every search; without it each goes on until it is proved.
LIMIT ?=
verbs: setup-dev
	@PLANNER_VERBS_LIMIT_S=$(LIMIT) $(BIN)/pytest -n 2 --timeout 3600 -m verbs tests/verbs

# Random instances other than those of the suite, MORE times as many; JUDGES: which of them.
MORE ?= 10
JUDGES ?= judge or more
judges: setup-dev
	@PLANNER_MORE=$(MORE) $(BIN)/pytest -n 2 -m "$(JUDGES)"

bench: setup-dev
	@$(BIN)/pytest tests/bench --benchmark-enable --benchmark-only --benchmark-columns=min,mean,stddev,rounds --benchmark-sort=name

# No --emit-index-url: the file must hold no addresses.
# Tables of measurements are not part of the repository: MEASUREMENTS names the folder that holds them.
MEASUREMENTS ?= ../shared/measurements
# The like for times of single operators.
OPERATORS ?= ../shared/facts/operators
fit: setup
	@$(BIN)/planner calibrate --reference --measurements $(MEASUREMENTS) --operators $(OPERATORS) \
	  --out catalog/calibration/reference.yaml --docs docs/accuracy.md

constraints: setup-dev
	@$(BIN)/uv pip compile --quiet --universal --upgrade --python-version 3.11 --group dev pyproject.toml \
	  --custom-compile-command "make constraints" --output-file constraints.txt

wheel: setup
	@.ci/wheel

clean:
	rm -rf .venv .mypy_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks .pytest_cache dist build *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
