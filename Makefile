# `make demo` and `make test` need python3 (3.11 or later) and nothing else: the rest is installed into .venv/, at the
# versions of constraints.txt, once for every change of that file or of pyproject.toml.

PYTHON ?= python3
PY := .venv/bin/python
PIP := $(PY) -m pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt

# What Python compiles of the package and of the tests is kept for the next run, and for processes that tests start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test checks quick quick-unit lint types unit fuzz hashes mutants docs page browser format clean

demo: .venv/installed
	$(PY) examples/demo.py
	@echo "The programs are .venv/bin/imbrex and .venv/bin/imbrex-opt."

test: .venv/installed-test
	$(MAKE) --no-print-directory --jobs=2 checks unit

checks: lint types

quick: .venv/installed-test
	$(MAKE) --no-print-directory --jobs=3 lint types quick-unit

quick-unit: .venv/installed-test
	$(PY) -m pytest -q --numprocesses=auto --dist=worksteal --quick

lint: .venv/installed-test
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: .venv/installed-test
	$(PY) -m basedpyright --warnings --project pyproject.toml

unit: .venv/installed-test
	$(PY) -m pytest -q --numprocesses=auto --dist=worksteal

hashes: .venv/installed-test
	$(PY) -m tests.hashes

# Random cases of everything that a user can give: docs/fuzz.md.
fuzz: .venv/installed-test
	$(PY) -m tests.fuzz --seconds $(or $(SECONDS),60)

# Small faults in the source, and whether the tests see them: docs/development.md.
mutants: .venv/installed-test
	$(PY) -m tests.mutants --seconds $(or $(SECONDS),3600)

# The pages and the reference of the Python interface as a site, in site/; a broken link is an error.
docs: .venv/installed-docs
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build

# The script of the page that `imbrex explore` writes, of web/src: docs/development.md.  It needs node and npm.
page: web/node_modules/.package-lock.json
	cd web && npm run --silent check && npm run --silent build

web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	cd web && npm ci --silent --ignore-scripts
	@touch $@

# The page in Chromium, which this does not install: docs/development.md.
browser: .venv/installed-browser web/node_modules/.package-lock.json
	IMBREX_TESTS=all $(PY) -m pytest -q tests/browser

format: .venv/installed-test
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

clean:
	rm -rf .venv site

$(PY):
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(f"python 3.11 or later is needed, $(PYTHON) is {v[0]}.{v[1]}; name another one: make PYTHON=python3.12" if v < (3, 11) else 0)'
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml constraints.txt | $(PY)
	$(PIP) hatchling editables
	$(PIP) --no-build-isolation --editable .
	@touch $@

.venv/installed-test: .venv/installed
	$(PIP) --no-build-isolation --editable '.[test]'
	@touch $@

.venv/installed-docs: .venv/installed
	$(PIP) --no-build-isolation --editable '.[docs]'
	@touch $@

.venv/installed-browser: .venv/installed-test
	$(PIP) --no-build-isolation --editable '.[browser]'
	@touch $@
