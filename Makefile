# The two commands: `make qualify` judges the built-in core and simulator, `make test` tests the suite itself.
# Both start from nothing but git, make, Python 3.11 or newer and a C compiler.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OUT    := out

.PHONY: qualify test lint type spec unit score clean

qualify: $(VENV)/.installed
	$(BIN)/acl-cts run --backend core --backend simulator --out $(OUT)
	@echo "report in $(OUT)/: report.html report.md report.sarif summary.txt results.json junit.xml"

test: lint type spec unit

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

type: $(VENV)/.installed-dev
	$(BIN)/mypy

spec: $(VENV)/.installed
	$(BIN)/acl-cts spec check

unit: $(VENV)/.installed-dev
	$(BIN)/pytest tests -n 2 --dist worksteal

score: $(VENV)/.installed
	$(BIN)/acl-cts score --out $(OUT)/score

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "make: $(PYTHON) is older than 3.11; use make PYTHON=python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) $(OUT) build dist
